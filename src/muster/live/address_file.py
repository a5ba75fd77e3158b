"""Writes a file that says where the server is, while it runs. A full disk only delays that."""

import json
import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Event, Thread

from muster.model.limits import WRITE_RETRY_MS
from muster.private_files import write_private
from muster.processes import entry

_log = logging.getLogger("muster.live")


def whereabouts(url: str) -> str:
    """The address and the process of this server, for programs that look for it."""
    own = entry(os.getpid())
    return json.dumps({"url": url, "pid": os.getpid(), "start_ticks": 0 if own is None else own.start_ticks})


@contextmanager
def announced(path: Path, text: str) -> Iterator[None]:
    """Keep the text in the file until the context ends."""
    is_over = Event()
    if not _is_written(path, text):
        _log.warning("where the server is could not be written down; it is tried again until there is room")
        Thread(target=_write_later, args=(path, text, is_over), name="announcement", daemon=True).start()
    try:
        yield
    finally:
        is_over.set()
        with suppress(FileNotFoundError):
            # Another control plane of this home may have written its own whereabouts since.
            if path.read_text("utf-8", "replace") == text:
                path.replace(_last(path))


def _write_later(path: Path, text: str, is_over: Event) -> None:
    while not is_over.wait(WRITE_RETRY_MS / 1000):
        if _is_written(path, text):
            return


def _is_written(path: Path, text: str) -> bool:
    try:
        write_private(path, text)
    except OSError:
        return _is_written_over(path, text)
    return True


def _last(path: Path) -> Path:
    """Where the file of the last server is kept: on a full disk, its space is all there is for the next."""
    return path.with_name(f".{path.name}.last")


def _is_written_over(path: Path, text: str) -> bool:
    """Write the text over the file of the last server, which has ended or was killed. That needs no free space."""
    for there in (_last(path), path):
        with suppress(OSError):
            descriptor = os.open(there, os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
            with os.fdopen(descriptor, "wb", buffering=0) as file:
                file.write(text.encode())
                file.truncate()
            there.replace(path)
            return True
    return False
