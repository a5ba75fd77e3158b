"""Who wants to be woken when. Forgotten at a restart and made again from the jobs' records, so nothing is stored."""

import heapq
from collections.abc import Callable

from muster.model.ids import JobId


class Timers:
    """Moments at which jobs asked to be woken. A moment that is no longer wanted is harmless."""

    def __init__(self) -> None:
        self._heap: list[tuple[int, JobId]] = []

    @classmethod
    def of(cls, record: tuple[tuple[int, JobId], ...]) -> "Timers":
        """The moments that were recorded."""
        made = cls()
        made._heap = list(record)
        return made

    def record(self) -> tuple[tuple[int, JobId], ...]:
        """All moments, those that nobody wants any more too."""
        return tuple(self._heap)

    def set(self, job: JobId, at_ms: int) -> None:
        """Remember to wake a job."""
        heapq.heappush(self._heap, (at_ms, job))

    @property
    def next_ms(self) -> int | None:
        """The earliest moment anybody asked for."""
        return self._heap[0][0] if self._heap else None

    def forget(self, is_unwanted: Callable[[JobId, int], bool]) -> None:
        """Drop moments that nobody waits for any more from the front, so that nobody is woken for them."""
        while self._heap and is_unwanted(self._heap[0][1], self._heap[0][0]):
            heapq.heappop(self._heap)

    def pop_due(self, now_ms: int) -> JobId | None:
        """The next job whose moment has come, and forget that moment; None when there is none."""
        if not self._heap or self._heap[0][0] > now_ms:
            return None
        return heapq.heappop(self._heap)[1]
