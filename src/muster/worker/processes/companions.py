"""Processes that a supervisor runs for itself: its children, and no workers."""

from collections.abc import Callable


class Companions:
    """Knows these processes while they live, so that they are not taken for strangers."""

    def __init__(self) -> None:
        self._ended: dict[int, Callable[[int], None]] = {}

    def __contains__(self, pid: object) -> bool:
        """True for a process that has not been reaped."""
        return pid in self._ended

    def add(self, pid: int, ended: Callable[[int], None]) -> None:
        """A process was started. `ended` is called with its wait status."""
        self._ended[pid] = ended

    def reaped(self, pid: int, status: int) -> None:
        """A child of the supervisor has ended. Nothing happens if it is none of these."""
        ended = self._ended.pop(pid, None)
        if ended is not None:
            ended(status)
