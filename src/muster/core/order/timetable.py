"""When running jobs began, when each is gone at the latest, and how much of each limit is still used then.

It is kept as jobs come and go, so that a plan costs no more on a cluster with many running jobs.
"""

from bisect import bisect_left, bisect_right, insort
from itertools import accumulate

from muster.core.order.quota import LimitShare
from muster.model.ids import GpuType, JobId, TeamPath
from muster.model.job import RunningJob


class _Curve:
    """What the jobs under one limit give back, and when."""

    __slots__ = ("_given_back", "_times", "_uses")

    def __init__(self) -> None:
        self._uses: list[tuple[int, JobId, int]] = []
        """When each job is gone, its id, and how much it uses, soonest first."""
        self._times: list[int] = []
        self._given_back: list[int] | None = None
        """Running sums of `_uses`, made when they are next needed."""

    def add(self, end_ms: int, job_id: JobId, milli: int) -> None:
        insort(self._uses, (end_ms, job_id, milli))
        insort(self._times, end_ms)
        self._given_back = None

    def remove(self, end_ms: int, job_id: JobId, milli: int) -> None:
        del self._uses[bisect_left(self._uses, (end_ms, job_id, milli))]
        del self._times[bisect_left(self._times, end_ms)]
        self._given_back = None

    def still_used(self, at_ms: int) -> int:
        sums = self._given_back
        if sums is None:
            sums = self._given_back = list(accumulate([milli for _, _, milli in self._uses], initial=0))
        return sums[-1] - sums[bisect_right(self._times, at_ms)]


class Timetable:
    """The times of all running jobs."""

    def __init__(self) -> None:
        self.begins: list[tuple[int, JobId]] = []
        """When each job began, longest ago first."""
        self.ends: list[tuple[int, JobId]] = []
        """When each job is gone at the latest, by its limit or its grace period, soonest first."""
        self.end_ms: dict[JobId, int] = {}
        """The same by job."""
        self.shares: dict[JobId, tuple[LimitShare, ...]] = {}
        """What each job uses up of the limits above its team."""
        self._curves: dict[tuple[TeamPath, GpuType], _Curve] = {}

    def add(self, job: RunningJob, end_ms: int, shares: tuple[LimitShare, ...]) -> None:
        """A job runs, uses these shares of limits, and is gone at `end_ms` at the latest."""
        self.end_ms[job.id], self.shares[job.id] = end_ms, shares
        insort(self.ends, (end_ms, job.id))
        insort(self.begins, (job.started_ms, job.id))
        for key, milli in shares:
            curve = self._curves.get(key)
            if curve is None:
                curve = self._curves[key] = _Curve()
            curve.add(end_ms, job.id, milli)

    def remove(self, job: RunningJob) -> None:
        """A job no longer runs as it was added."""
        end_ms = self.end_ms.pop(job.id)
        del self.ends[bisect_left(self.ends, (end_ms, job.id))]
        del self.begins[bisect_left(self.begins, (job.started_ms, job.id))]
        for key, milli in self.shares.pop(job.id):
            self._curves[key].remove(end_ms, job.id, milli)

    def still_used_milli(self, team: TeamPath, gpu_type: GpuType, at_ms: int) -> int:
        """What jobs use of a limit that are gone only after this time."""
        curve = self._curves.get((team, gpu_type))
        return 0 if curve is None else curve.still_used(at_ms)

    def began_between(self, after_ms: int, by_ms: int) -> list[JobId]:
        """The jobs that began after one time and not after another."""
        first = bisect_right(self.begins, after_ms, key=_begin_ms)
        return [job_id for _, job_id in self.begins[first : bisect_right(self.begins, by_ms, key=_begin_ms)]]


def _begin_ms(entry: tuple[int, JobId]) -> int:
    return entry[0]
