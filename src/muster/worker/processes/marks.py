"""A mark that every process of a worker inherits, whatever else it leaves behind.

It is a resource limit without effect: how long a process may compute at real-time priority without a pause. It is set
to more than seventy thousand years plus a number that is derived from the worker's token. Limits are inherited over
every fork and exec. A new session, an empty environment, closed files or another control group do not change them. A
process loses the mark only by changing this very limit. Every process may lower it, and only root may raise it.
"""

import contextlib
import os
import resource
from collections.abc import Iterator

_RTTIME = 15  # RLIMIT_RTTIME; Python has no name for it

_LEAST = 1 << 61
"""In microseconds. The numbers of workers lie between this and twice as much."""

_LINE = b"Max realtime timeout"


def mark_of(token: str) -> int:
    """The number that stands for a worker."""
    return _LEAST | int(token, 16) % _LEAST


@contextlib.contextmanager
def inherited(mark: int) -> Iterator[None]:
    """Give this mark to processes that are started meanwhile. Does nothing where this limit was already set."""
    before = resource.getrlimit(_RTTIME)
    if before != (resource.RLIM_INFINITY, resource.RLIM_INFINITY):
        yield
        return
    resource.setrlimit(_RTTIME, (mark, resource.RLIM_INFINITY))
    try:
        yield
    finally:
        resource.setrlimit(_RTTIME, before)


def fasten(pid: int, mark: int) -> None:
    """Let a marked process, and the processes it starts from now on, keep the mark when they lift their limits."""
    with contextlib.suppress(OSError, ValueError):
        if resource.prlimit(pid, _RTTIME)[0] == mark:
            resource.prlimit(pid, _RTTIME, (mark, mark))


def marks_on(pid: int) -> tuple[int, ...]:
    """The marks of a process: its soft and its hard limit, where they are marks."""
    return tuple(int(word) for word in _limits_on(pid) if word.isdigit() and int(word) >= _LEAST)


def is_changed(pid: int) -> bool:
    """True when the limit of a process was set: it differs from the usual one, which this process has."""
    return _limits_on(pid) not in ([], _limits_on(os.getpid()))


def _limits_on(pid: int) -> list[bytes]:
    try:
        with open(f"/proc/{pid}/limits", "rb") as file:
            lines = file.read().splitlines()
    except OSError:
        return []
    return next((each.removeprefix(_LINE).split()[:2] for each in lines if each.startswith(_LINE)), [])
