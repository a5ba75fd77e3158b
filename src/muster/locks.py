"""Locks that the kernel lets go of when whoever has them ends, however it ends."""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from muster.model.errors import InvalidInput, Refused

MOMENT_S = 1.0
"""How long a lock may be held by somebody who only looked at it, or was killed just now."""

RETRY_S = 0.01


def has_locked(descriptor: int, patience_s: float = 0.0, *, shared: bool = False) -> bool:
    """Lock what is open here until it is closed; False when somebody else has it, also after waiting."""
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
    """Be the only process that has this folder, as long as this lasts. The folder is the lock: it needs no room."""
    lock = _opened(folder)
    try:
        if not has_locked(lock, MOMENT_S):
            raise Refused(f"{folder}: {otherwise}")
        yield
    finally:
        os.close(lock)


def is_taken(folder: Path) -> bool:
    """True when some process has this folder for itself."""
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
