"""Running jobs by what decides whether they may be stopped, and at what price.

The price of stopping a job is the GPU time since its last checkpoint plus a restart. It grows with time, but the order
of jobs with equally many GPUs does not change. So the median of all prices is found without looking at every job.
"""

from bisect import bisect_left, insort
from typing import NamedTuple

from muster.core.cluster.footprint import gpu_milli_of
from muster.core.cluster.gang import Demand
from muster.model.ids import JobId, TeamPath, TierName
from muster.model.job import RunningJob
from muster.model.resources import GPU_MILLI

Borrowing = tuple[TeamPath, Demand]
"""A group of jobs: their team and, as a demand of one thousandth each, the GPU types they use. These alone decide,
together with the guarantees, whether a job counts as borrowing."""


class Protection(NamedTuple):
    """All that decides by which rights a job may be stopped, besides how long it has run."""

    tier: TierName
    is_preemptible: bool
    group: Borrowing


class _Known(NamedTuple):
    protection: Protection
    gpu_milli: int
    saved_ms: int
    reports: bool
    """Whether it has reported a checkpoint."""


class Preemptibles:
    """All running jobs that were not told to leave."""

    def __init__(self) -> None:
        self._known: dict[JobId, _Known] = {}
        self.groups: dict[Borrowing, dict[JobId, None]] = {}
        """Jobs that neither their file nor their tier protects."""
        self.firm_groups: dict[Borrowing, dict[JobId, None]] = {}
        """The others."""
        self._saved: dict[int, list[int]] = {}
        """Of jobs that are not protected and have reported checkpoints: when they last saved themselves, by GPUs."""

    def know(self, job: RunningJob, demand: Demand, *, is_preemptible: bool) -> None:
        """A job runs, or has other properties than before. A job that was told to leave is none of these any more."""
        self.remove(job.id)
        if job.leaving_by_ms is not None:
            return
        group = (job.spec.team, tuple((gpu_type, 1) for gpu_type, milli in demand if milli))
        protection = Protection(job.spec.tier, is_preemptible, group)
        known = self._known[job.id] = _Known(
            protection, gpu_milli_of(demand), saved_at_ms(job), job.checkpointed_ms is not None
        )
        (self.groups if is_preemptible else self.firm_groups).setdefault(group, {})[job.id] = None
        if is_preemptible and known.reports:
            insort(self._saved.setdefault(known.gpu_milli, []), known.saved_ms)

    def remove(self, job_id: JobId) -> None:
        """A job no longer runs. No effect for a job that is none of these."""
        known = self._known.pop(job_id, None)
        if known is None:
            return
        _, is_preemptible, group = known.protection
        groups = self.groups if is_preemptible else self.firm_groups
        del groups[group][job_id]
        if not groups[group]:
            del groups[group]
        if is_preemptible and known.reports:
            saved = self._saved[known.gpu_milli]
            del saved[bisect_left(saved, known.saved_ms)]

    def protection(self, job_id: JobId) -> Protection:
        """What protects a job that was not told to leave."""
        return self._known[job_id].protection

    def price(self, job_id: JobId, restart_ms: int, now_ms: int, ceiling: int | None) -> int:
        """What stopping a job costs: no more than the ceiling if it never reported a checkpoint."""
        _, gpu_milli, saved_ms, reports = self._known[job_id]
        price = price_gpu_ms(saved_ms, gpu_milli, restart_ms, now_ms)
        return price if reports or ceiling is None or price < ceiling else ceiling

    def median_price(self, restart_ms: int, now_ms: int) -> int | None:
        """The median price of jobs that have reported checkpoints; None when there is none."""
        count = sum(map(len, self._saved.values()))
        if not count:
            return None
        low = self._price_number((count - 1) // 2, restart_ms, now_ms)
        return low if count % 2 else (low + self._price_number(count // 2, restart_ms, now_ms)) // 2

    def _price_number(self, number: int, restart_ms: int, now_ms: int) -> int:
        """The price that so many jobs are below."""
        oldest = [(saved[0], gpu_milli) for gpu_milli, saved in self._saved.items() if saved]
        low, high = 0, max(price_gpu_ms(saved_ms, gpu_milli, restart_ms, now_ms) for saved_ms, gpu_milli in oldest)
        while low < high:
            middle = (low + high) // 2
            if self._count_up_to(middle, restart_ms, now_ms) > number:
                high = middle
            else:
                low = middle + 1
        return low

    def _count_up_to(self, price: int, restart_ms: int, now_ms: int) -> int:
        """How many prices are not above this one."""
        count = 0
        for gpu_milli, saved in self._saved.items():
            left = price - restart_ms * gpu_milli // GPU_MILLI
            if not gpu_milli:
                count += len(saved)
            elif left >= 0:
                longest_ms = ((left + 1) * GPU_MILLI - 1) // gpu_milli
                count += len(saved) - bisect_left(saved, now_ms - longest_ms)
        return count


def saved_at_ms(job: RunningJob) -> int:
    """When a job last saved itself, or when it started."""
    return max(job.started_ms, job.checkpointed_ms or job.started_ms)


def lost_gpu_ms(saved_ms: int, gpu_milli: int, now_ms: int) -> int:
    """GPU time since a job last saved itself."""
    return max(0, now_ms - saved_ms) * gpu_milli // GPU_MILLI


def price_gpu_ms(saved_ms: int, gpu_milli: int, restart_ms: int, now_ms: int) -> int:
    """What stopping a job costs: the work it loses and a restart."""
    return lost_gpu_ms(saved_ms, gpu_milli, now_ms) + restart_ms * gpu_milli // GPU_MILLI
