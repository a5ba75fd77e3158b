"""Locks that the kernel releases when the process that holds them ends, however it ends."""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from muster.model.errors import InvalidInput, Refused

MOMENT_S = 1.0
"""How long a process may hold a lock that it only checked, or after it was killed."""

RETRY_S = 0.01


def has_locked(descriptor: int, patience_s: float = 0.0, *, shared: bool = False) -> bool:
    """Lock an open file until it is closed. False when another process still holds the lock after `patience_s`."""
    give_up_s = time.monotonic() + patience_s
    kind = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
    while True:
        try:
            fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= give_up_s:
                return False
            time.sleep(RETRY_S)
        else:
            return True


@contextmanager
def alone_in(folder: Path, otherwise: str) -> Iterator[None]:
    """Hold this folder for this process alone. The folder itself is the lock, so it needs no disk space."""
    lock = _opened(folder)
    try:
        if not has_locked(lock, MOMENT_S):
            raise Refused(f"{folder}: {otherwise}")
        yield
    finally:
        os.close(lock)


def is_taken(folder: Path) -> bool:
    """True when a process holds this folder for itself."""
    lock = _opened(folder)
    try:
        return not has_locked(lock)
    finally:
        os.close(lock)


def _opened(folder: Path) -> int:
    try:
        return os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise InvalidInput(f"{folder} cannot be Muster's home: {error.strerror}; --home names another folder") from None
