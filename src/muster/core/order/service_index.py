"""Running jobs that can resume, by when they enter each band of GPU time.

While a job runs, its GPU time grows at a known rate. So the times at which it enters the bands are known when it
starts, and kept sorted: which jobs are in a band now, and which enters it next, is looked up and never counted through.
"""

from bisect import bisect_left, bisect_right, insort

from muster.core.cluster.node_use import Footprint
from muster.core.cluster.setting import Setting
from muster.core.order.run_times import began_ms
from muster.core.order.service import NEWCOMERS, aged_ms, enters_ms
from muster.core.order.turn_candidates import Steps, TurnCandidate, TurnCandidates
from muster.model.ids import JobId, TierName
from muster.model.job import RunningJob
from muster.model.limits import BANDS, SETTLING_MS

_Times = list[tuple[int, JobId]]


class ServiceIndex:
    """The jobs of all tiers. Nothing is kept that the policy never asks for."""

    def __init__(self, setting: Setting) -> None:
        self.by_run_time: _Times = []
        """When each job would have begun had it never been stopped, longest ago first. Empty if no job ever moves."""
        self.candidates = TurnCandidates()
        self._setting = setting
        self._is_asked = setting.policy.moves_jobs
        self._takes_turns = setting.policy.takes_turns
        self._enter: dict[tuple[TierName, int], _Times] = {}
        self._began: dict[JobId, int] = {}
        self._entries: dict[JobId, list[tuple[int, int]]] = {}

    def add(self, job: RunningJob, end_ms: int, footprint: Footprint) -> None:
        """A job runs that is gone at `end_ms` at the latest. No effect for a job that cannot resume."""
        if not self._is_asked or not job.spec.can_resume:
            return
        since_ms = self._began[job.id] = began_ms(job)
        insort(self.by_run_time, (since_ms, job.id))
        if self._takes_turns:
            entries = self._entries[job.id] = _entries(job, end_ms)
            for at_ms, band in entries:
                insort(self._enter.setdefault((job.spec.tier, band), []), (at_ms, job.id))
            if job.leaving_by_ms is None and self._setting.is_preemptible(job.spec):
                self._offer(job, entries, footprint)

    def _offer(self, job: RunningJob, entries: Steps, footprint: Footprint) -> None:
        """The job may be told to leave once it has settled and has run for as long as any job may."""
        policy = self._setting.policy
        from_ms = max(job.started_ms + SETTLING_MS, self._began[job.id] + policy.min_runtime_ms)
        passed = bisect_right(entries, from_ms, key=lambda entry: entry[0])
        steps = [(from_ms, entries[passed - 1][1]), *entries[passed:]]
        gpu_milli = sum([milli for use in footprint for _, milli in use.devices])
        candidate: TurnCandidate = (aged_ms(job, policy), job.started_ms, job.id, footprint, gpu_milli)
        self.candidates.add(job.spec.tier, candidate, steps)

    def remove(self, job: RunningJob) -> None:
        """The job no longer runs as it was added. No effect if it was not."""
        since_ms = self._began.pop(job.id, None)
        if since_ms is None:
            return
        _take_out(self.by_run_time, (since_ms, job.id))
        if self._takes_turns:
            for at_ms, band in self._entries.pop(job.id):
                _take_out(self._enter[(job.spec.tier, band)], (at_ms, job.id))
            self.candidates.remove(job.id)

    def next_entry_ms(self, tier: TierName, band: int, now_ms: int) -> int | None:
        """When the next job enters a band; None if none will."""
        times = self._enter.get((tier, band), [])
        following = bisect_right(times, now_ms, key=lambda entry: entry[0])
        return times[following][0] if following < len(times) else None


def _entries(job: RunningJob, end_ms: int) -> list[tuple[int, int]]:
    """When a job enters each of the bands that it enters before its end."""
    found = [(job.started_ms, NEWCOMERS)]
    for band in range(NEWCOMERS + 1, BANDS):
        at_ms = enters_ms(job, band)
        if at_ms is None or at_ms > end_ms:
            break
        found.append((at_ms, band))
    return found


def _take_out(times: _Times, entry: tuple[int, JobId]) -> None:
    del times[bisect_left(times, entry)]
