"""A mark that every process of a worker inherits, whatever else it leaves behind.

It is a limit that limits nothing: how long a process may compute at real-time priority without a pause, set to some ten
thousand years and a number that follows from the worker's token. Limits are inherited over every fork and exec; a new
session, an empty environment, closed files and another control group change nothing about them. A process loses the
mark only by changing this very limit: anybody may lower it, and nobody but root may raise it.
"""

import contextlib
import os
import resource
from collections.abc import Iterator

_RTTIME = 15  # RLIMIT_RTTIME; Python has no name for it

_LEAST = 1 << 61
"""Microseconds; numbers of workers lie between this and twice as much."""

_LINE = b"Max realtime timeout"


def mark_of(token: str) -> int:
    """The number that stands for a worker."""
    return _LEAST | int(token, 16) % _LEAST


@contextlib.contextmanager
def inherited(mark: int) -> Iterator[None]:
    """Have processes that are started meanwhile bear this mark. Nothing happens where limits were set by others."""
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
    """Let a process that bears a mark keep it when it lifts its limits, and those that it starts from now on."""
    with contextlib.suppress(OSError, ValueError):
        if resource.prlimit(pid, _RTTIME)[0] == mark:
            resource.prlimit(pid, _RTTIME, (mark, mark))


def marks_on(pid: int) -> tuple[int, ...]:
    """The numbers that a process bears: its soft and its hard limit, where they are marks."""
    return tuple(int(word) for word in _limits_on(pid) if word.isdigit() and int(word) >= _LEAST)


def is_changed(pid: int) -> bool:
    """True when the limit of a process is another than everybody has, and so than this process has: it was set."""
    return _limits_on(pid) not in ([], _limits_on(os.getpid()))


def _limits_on(pid: int) -> list[bytes]:
    try:
        with open(f"/proc/{pid}/limits", "rb") as file:
            lines = file.read().splitlines()
    except OSError:
        return []
    return next((each.removeprefix(_LINE).split()[:2] for each in lines if each.startswith(_LINE)), [])
