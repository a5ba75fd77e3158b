"""Where workers meet what Muster lays out for them: notices, requests to save, host files, scripts, exit records.

It lies outside of the home, which holds the token and the database: what a job is told to write to says nothing of
where those are. The name follows from the home alone and not from the environment, so that a successor finds what was
left. In a folder that everybody may write to, somebody else may have taken the name: then it is refused.
"""

import os
import stat
from contextlib import suppress
from pathlib import Path

from muster.locks import MOMENT_S, has_locked
from muster.model.errors import Refused

PARENT = Path("/tmp")
_MODE = 0o700

EXIT_RECORD = "exit-"
"""An empty file of this name with the exit code behind it is left by the first process of a worker when its program has
ended: it is there or not, and never half there."""

_CODES = range(256)


def runtime_folder(home: Path) -> Path:
    """The folder of a home: the same for as long as the machine is up, also if the home is moved."""
    found = home.stat()
    return PARENT / f"muster-{os.geteuid()}-{found.st_dev:x}-{found.st_ino:x}"


def claim(folder: Path) -> None:
    """Make the folder, or take it if it is ours; for nobody else to look into. Links are not followed."""
    with suppress(FileExistsError):
        folder.mkdir(mode=_MODE)
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid():
        raise Refused(
            f"{folder} was made by user {found.st_uid} and not by Muster: remove it, or have an administrator do so, "
            "because whoever owns it could read and change what jobs of this server are told"
        )
    if stat.S_IMODE(found.st_mode) != _MODE:
        folder.chmod(_MODE)


def keep_from_cleaners(folder: Path) -> bool:
    """Have programs that clean up old files leave it alone for as long as this process lives: they honour a lock.

    False when somebody else has locked it, and not only for a moment: nobody is waited for without end.
    """
    return has_locked(os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC), MOMENT_S, shared=True)


def remove(folder: Path) -> None:
    """Remove a folder with everything in it, as far as that is possible; of a link only the link."""
    with suppress(OSError):
        if folder.is_symlink():
            folder.unlink()
            return
        for name in os.listdir(folder):
            os.unlink(folder / name)
        folder.rmdir()
        return
    if folder.is_dir():
        from shutil import rmtree  # noqa: PLC0415 (only for what a job itself has put there)

        rmtree(folder, ignore_errors=True)


def remove_all(folder: Path) -> None:
    """Remove what was laid out for any worker of a node: for when none is left."""
    with suppress(OSError):
        for name in os.listdir(folder):
            remove(folder / name)


def give_back(folder: Path) -> None:
    """Remove the place of a node, and that of its home if no other node has one."""
    for each in (folder, folder.parent):
        with suppress(OSError):
            each.rmdir()


def exit_record(folder: Path) -> int | None:
    """How the program of a worker ended, by its own account; None while it runs, or when it was not let finish."""
    try:
        names = os.listdir(folder)
    except OSError:
        return None
    codes = [name.removeprefix(EXIT_RECORD) for name in names if name.startswith(EXIT_RECORD)]
    if len(codes) != 1 or not codes[0].isdecimal() or int(codes[0]) not in _CODES:
        return None
    return int(codes[0])
