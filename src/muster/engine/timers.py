"""Which job asked to be woken at which time.

The timers of the lifecycle are not stored: after a restart they follow from the jobs' records. Those of the starvation
watch are stored with the state.
"""

import heapq
from collections.abc import Callable

from muster.model.ids import JobId


class Timers:
    """Moments at which jobs asked to be woken. A moment that is no longer wanted does no harm."""

    def __init__(self) -> None:
        self._heap: list[tuple[int, JobId]] = []

    @classmethod
    def of(cls, record: tuple[tuple[int, JobId], ...]) -> "Timers":
        """The moments that were recorded."""
        made = cls()
        made._heap = list(record)
        return made

    def record(self) -> tuple[tuple[int, JobId], ...]:
        """All moments, including those that are no longer wanted."""
        return tuple(self._heap)

    def set(self, job: JobId, at_ms: int) -> None:
        """Remember to wake a job."""
        heapq.heappush(self._heap, (at_ms, job))

    @property
    def next_ms(self) -> int | None:
        """The earliest moment that a job asked for."""
        return self._heap[0][0] if self._heap else None

    def forget(self, is_unwanted: Callable[[JobId, int], bool]) -> None:
        """Drop unwanted moments from the front, so that the caller does not wake for them."""
        while self._heap and is_unwanted(self._heap[0][1], self._heap[0][0]):
            heapq.heappop(self._heap)

    def pop_due(self, now_ms: int) -> JobId | None:
        """Remove the earliest moment if it has come and return its job; None when no job is due."""
        if not self._heap or self._heap[0][0] > now_ms:
            return None
        return heapq.heappop(self._heap)[1]
