"""The coming events of the jobs in the simulated world, in the order of time.

A job has one coming event at a time. Planning another one, or changing the job's stamp, makes the earlier one void.
Void entries stay in the heap until they reach its top.
"""

import heapq
from collections.abc import Callable

from muster.estimates.training import Habits, Training

Happen = Callable[[Training], None]


class Agenda:
    """The next event of each job."""

    def __init__(self) -> None:
        self._heap: list[tuple[int, int, int, Training, Happen]] = []
        self._planned = 0

    @property
    def next_ms(self) -> int | None:
        """When the next event happens; None if there is none."""
        heap = self._heap
        while heap and heap[0][2] != heap[0][3].stamp:
            heapq.heappop(heap)
        return heap[0][0] if heap else None

    def plan(self, training: Training, at_ms: int, happen: Happen) -> None:
        """Plan an event of a job. It replaces the event that was planned before."""
        self._planned += 1
        training.stamp += 1
        heapq.heappush(self._heap, (at_ms, self._planned, training.stamp, training, happen))

    def pop(self, to_ms: int) -> tuple[int, Training, Happen] | None:
        """The next event up to this time. Events of one moment come in the order in which they were planned."""
        heap = self._heap
        while heap and heap[0][0] <= to_ms:
            at_ms, _, stamp, training, happen = heapq.heappop(heap)
            if stamp == training.stamp:
                return at_ms, training, happen
        return None


class SaveClock:
    """The regular saves of jobs that must be reported."""

    def __init__(self, habits: Habits) -> None:
        self._cycle_ms = habits.save_every_ms + habits.save_cost_ms
        self._heap: list[tuple[int, int, int, Training]] = []
        self._planned = 0

    def plan(self, training: Training, at_ms: int) -> None:
        """A job saves at this time, and regularly after it until another event is planned for the job."""
        self._planned += 1
        heapq.heappush(self._heap, (at_ms, self._planned, training.stamp, training))

    def due(self, to_ms: int) -> list[tuple[int, Training]]:
        """The saves up to this time, in the order of time. Only the newest save of each job is returned."""
        heap, cycle_ms = self._heap, self._cycle_ms
        if not heap or heap[0][0] > to_ms:
            return []
        newest: list[tuple[int, int, Training]] = []
        while heap and heap[0][0] <= to_ms:
            at_ms, number, stamp, training = heapq.heappop(heap)
            if stamp != training.stamp or at_ms >= training.end_ms:
                continue
            last_ms = at_ms + (min(to_ms, training.end_ms - 1) - at_ms) // cycle_ms * cycle_ms
            newest.append((last_ms, number, training))
            if last_ms + cycle_ms < training.end_ms:
                self.plan(training, last_ms + cycle_ms)
        newest.sort(key=lambda save: save[:2])
        return [(at_ms, training) for at_ms, _, training in newest]
