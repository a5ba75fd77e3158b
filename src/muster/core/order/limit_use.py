"""How much of each limit running jobs will still use at a later time, by when each of them is gone at the latest.

It is kept as jobs come and go, so that a plan costs no more on a cluster with many running jobs.
"""

from bisect import bisect_left, bisect_right, insort
from itertools import accumulate

from muster.core.order.quota import LimitShare
from muster.model.ids import GpuType, JobId, TeamPath


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


class LimitUse:
    """The use of all limits."""

    def __init__(self) -> None:
        self._curves: dict[tuple[TeamPath, GpuType], _Curve] = {}

    def add(self, end_ms: int, job_id: JobId, shares: tuple[LimitShare, ...]) -> None:
        """A job uses these shares of limits until it is gone at `end_ms`."""
        for key, milli in shares:
            curve = self._curves.get(key)
            if curve is None:
                curve = self._curves[key] = _Curve()
            curve.add(end_ms, job_id, milli)

    def remove(self, end_ms: int, job_id: JobId, shares: tuple[LimitShare, ...]) -> None:
        """The job, with the same end and shares, no longer counts."""
        for key, milli in shares:
            self._curves[key].remove(end_ms, job_id, milli)

    def still_used(self, team: TeamPath, gpu_type: GpuType, at_ms: int) -> int:
        """What jobs use of a limit that are gone only after this time."""
        curve = self._curves.get((team, gpu_type))
        return 0 if curve is None else curve.still_used(at_ms)
