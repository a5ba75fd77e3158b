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

SHARED_FOR = ".shared-for"
"""Beside what a folder holds: what the processes that hold it together are for."""

PURPOSE_BYTES = 4096


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


@contextmanager
def together_in(folder: Path, purpose: str, otherwise: str) -> Iterator[None]:
    """Hold this folder together with other processes of the same purpose, and with no others."""
    lock = _opened(folder)
    try:
        if not has_locked(lock, MOMENT_S, shared=True):
            raise Refused(f"{folder}: {otherwise}")
        with _agreed(folder / SHARED_FOR, purpose, f"{folder}: {otherwise}"):
            yield
    finally:
        os.close(lock)


@contextmanager
def _agreed(mark: Path, purpose: str, otherwise: str) -> Iterator[None]:
    """The first process writes the purpose down, and the others compare theirs with it."""
    file = os.open(mark, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        if has_locked(file):
            try:
                os.ftruncate(file, 0)
                os.pwrite(file, purpose.encode(), 0)
            except OSError:  # the disk is full: without the purpose, nobody else can share
                yield
                return
        # Compared by the first one too: another may have come between its two locks.
        if not has_locked(file, MOMENT_S, shared=True) or os.pread(file, PURPOSE_BYTES, 0) != purpose.encode():
            raise Refused(otherwise)
        yield
    finally:
        os.close(file)


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
