"""Starts that wait until an older attempt of their job is gone."""

import time
from collections.abc import Iterator
from dataclasses import dataclass

from muster.model.ids import JobId
from muster.model.instructions import StartWorkers
from muster.model.job import Worker
from muster.model.records import evolve
from muster.worker.launch.launch_spec import Meeting


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldStart:
    """A start that waits."""

    start: StartWorkers
    worker: Worker
    meeting: Meeting
    since_ms: float
    """By a monotonic clock."""

    def begun(self, now_ms: float) -> StartWorkers:
        """The start as it is now: the time it waited is subtracted from its maximum duration."""
        limit_ms = self.start.max_duration_ms
        if limit_ms is None:
            return self.start
        return evolve(self.start, max_duration_ms=max(limit_ms - int(now_ms - self.since_ms), 0))


class HeldStarts:
    """The waiting starts of one node."""

    def __init__(self) -> None:
        self._held: dict[JobId, dict[int, HeldStart]] = {}

    def hold(self, start: StartWorkers, worker: Worker, meeting: Meeting) -> None:
        """Keep a start. If it is sent again, its waiting time counts from now."""
        held = HeldStart(start=start, worker=worker, meeting=meeting, since_ms=time.monotonic() * 1000)
        self._held.setdefault(start.job, {})[worker.rank] = held

    def has(self, job: JobId, rank: int) -> bool:
        """True while a worker waits to be started."""
        return rank in self._held.get(job, {})

    def drop(self, job: JobId, rank: int | None = None) -> None:
        """Do not start this worker; without a rank, no worker of the job."""
        if rank is None:
            self._held.pop(job, None)
        else:
            self._held.get(job, {}).pop(rank, None)

    def drop_all(self) -> None:
        """Drop every waiting start."""
        self._held.clear()

    def take(self, job: JobId) -> Iterator[tuple[StartWorkers, Worker, Meeting]]:
        """Remove and return the waiting starts of a job, to be started now."""
        now_ms = time.monotonic() * 1000
        for held in self._held.pop(job, {}).values():
            yield held.begun(now_ms), held.worker, held.meeting
