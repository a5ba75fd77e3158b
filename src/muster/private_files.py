"""Files and folders that only their owner may read, whatever was there before and whatever the umask is."""

import os
from contextlib import suppress
from pathlib import Path

from muster.model.errors import InvalidInput, Refused

_FILE_MODE = 0o600
_FOLDER_MODE = 0o700


def write_private(path: Path, text: str) -> None:
    """Write or replace a file atomically. A symbolic link at this path is replaced and not followed."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    draft.unlink(missing_ok=True)
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, _FILE_MODE)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
        draft.replace(path)
    except OSError:
        with suppress(OSError):
            draft.unlink()
        raise


def open_private(path: str | Path, flags: int) -> int:
    """Open a file for writing, and create it if needed. From then on only its owner may read it."""
    descriptor = os.open(path, flags | os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, _FILE_MODE)
    try:
        os.fchmod(descriptor, _FILE_MODE)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def claim_folder(path: Path) -> None:
    """Make a folder, or take an existing one, and close it to other users. Another user's folder is refused."""
    try:
        path.mkdir(mode=_FOLDER_MODE, parents=True, exist_ok=True)
        found = path.stat()
        if found.st_uid != os.geteuid():
            raise Refused(
                f"{path} belongs to user {found.st_uid} and you are {os.geteuid()}: whoever owns it could read every "
                "token and secret in it; name another folder with --home, or become its owner with chown"
            )
        if found.st_mode & 0o7777 != _FOLDER_MODE:
            path.chmod(_FOLDER_MODE)
    except OSError as error:
        raise InvalidInput(f"{path} cannot be Muster's home: {error.strerror}; --home names another folder") from None
