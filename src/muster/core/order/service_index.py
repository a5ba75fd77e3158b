"""Running jobs that can resume, by when they enter each band of GPU time.

While a job runs, its GPU time grows at a known rate. So the times at which it enters the bands are known when it
starts, and kept sorted: which jobs are in a band now, and which enters it next, is looked up and never counted through.
"""

from bisect import bisect_left, bisect_right, insort

from muster.core.order.run_times import began_ms
from muster.core.order.service import NEWCOMERS, enters_ms
from muster.model.ids import JobId, TierName
from muster.model.job import RunningJob
from muster.model.limits import BANDS

_Times = list[tuple[int, JobId]]


class ServiceIndex:
    """The jobs of all tiers."""

    def __init__(self) -> None:
        self.by_run_time: _Times = []
        """When each job would have begun had it never been stopped, longest ago first."""
        self._enter: dict[tuple[TierName, int], _Times] = {}

    def add(self, job: RunningJob, end_ms: int) -> None:
        """A job runs that is gone at `end_ms` at the latest. No effect for a job that cannot resume."""
        if job.spec.can_resume:
            insort(self.by_run_time, (began_ms(job), job.id))
            for band, at_ms in _entries(job, end_ms):
                insort(self._enter.setdefault((job.spec.tier, band), []), (at_ms, job.id))

    def remove(self, job: RunningJob, end_ms: int) -> None:
        """The job, with the same times, no longer runs."""
        if job.spec.can_resume:
            _take_out(self.by_run_time, (began_ms(job), job.id))
            for band, at_ms in _entries(job, end_ms):
                _take_out(self._enter[(job.spec.tier, band)], (at_ms, job.id))

    def top_band(self, tier: TierName, now_ms: int) -> int | None:
        """The worst band that has a job; None when no job of the tier runs that can resume."""
        for band in range(BANDS - 1, NEWCOMERS - 1, -1):
            times = self._enter.get((tier, band))
            if times and times[0][0] <= now_ms:
                return band
        return None

    def in_band(self, tier: TierName, band: int, now_ms: int) -> list[JobId]:
        """The jobs that are in a band now, in the order in which they entered it."""
        there = self._entered(tier, band, now_ms)
        further = {job_id: None for _, job_id in self._entered(tier, band + 1, now_ms)} if there else {}
        return [job_id for _, job_id in there if job_id not in further]

    def next_entry_ms(self, tier: TierName, band: int, now_ms: int) -> int | None:
        """When the next job enters a band; None if none will."""
        times = self._enter.get((tier, band), [])
        following = bisect_right(times, now_ms, key=lambda entry: entry[0])
        return times[following][0] if following < len(times) else None

    def _entered(self, tier: TierName, band: int, now_ms: int) -> _Times:
        times = self._enter.get((tier, band), [])
        return times[: bisect_right(times, now_ms, key=lambda entry: entry[0])]


def _entries(job: RunningJob, end_ms: int) -> list[tuple[int, int]]:
    """The bands that a job enters before its end, each with the time."""
    found = [(NEWCOMERS, job.started_ms)]
    for band in range(NEWCOMERS + 1, BANDS):
        at_ms = enters_ms(job, band)
        if at_ms is None or at_ms > end_ms:
            break
        found.append((band, at_ms))
    return found


def _take_out(times: _Times, entry: tuple[int, JobId]) -> None:
    del times[bisect_left(times, entry)]
