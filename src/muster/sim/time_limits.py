"""How long the jobs of a replay may run: long enough for whatever they did in the source.

Live, a job is told to leave its grace before its limit, so that it is gone on time. A trace says what a job did under
the rules of another cluster, which mostly tell it at the limit. So its limit here has the grace on top, and whatever
the replay itself adds to a run: a slower GPU type, saves, a restart. A job that still meets its limit was slowed down.
"""

from collections.abc import Iterable

from muster.estimates.training import PARTS, Habits
from muster.model.ids import GpuType
from muster.model.limits import MAX_DURATION_MS
from muster.model.trace import TraceJob


class TimeLimits:
    """The limits of the jobs of one replay."""

    def __init__(
        self,
        kinds: Iterable[GpuType],
        habits: Habits,
        *,
        grace_ms: int,
        saves: bool = True,
        slowest: int = PARTS,
    ) -> None:
        self._kinds = tuple(dict.fromkeys(kinds))
        """GPU types that the cluster has."""
        self._habits = habits
        self._grace_ms = grace_ms
        self._saves = saves and habits.save_cost_ms > 0 and habits.save_every_ms > 0
        self._slowest = max(slowest, 1)
        """What a straggler may leave of a job's speed, in millionths."""

    def limit_ms(self, job: TraceJob) -> int:
        """What the scheduler is told. Jobs without a limit get whole years, so that it says nothing about them."""
        longest_ms = self._longest_ms(job)
        needed_ms = longest_ms + self._extra_ms(longest_ms)
        if job.max_duration_ms is not None:
            return max(job.max_duration_ms - longest_ms, 0) + needed_ms + self._grace_ms
        needed_ms = -(-needed_ms * PARTS // self._slowest) + self._grace_ms
        return -(-needed_ms // MAX_DURATION_MS) * MAX_DURATION_MS

    def _longest_ms(self, job: TraceJob) -> int:
        """How long it trains on the slowest GPU type that it may get."""
        if not job.run_ms_by_type:
            return job.run_ms
        paces = dict(speeds_by_type(job))
        accepted = (kind for kind in self._kinds if not job.gpu_types or kind in job.gpu_types)
        slowest = min((paces.get(kind, PARTS) for kind in accepted), default=PARTS)
        return -(-job.run_ms * PARTS // slowest)

    def _extra_ms(self, trained_ms: int) -> int:
        habits = self._habits
        saves = trained_ms // habits.save_every_ms if self._saves else 0
        return habits.start_ms + habits.restart_cost_ms + saves * habits.save_cost_ms


def speeds_by_type(job: TraceJob) -> tuple[tuple[GpuType, int], ...]:
    """Parts of work in a millisecond on each GPU type for which a run time was measured."""
    return tuple([(kind, max(job.run_ms * PARTS // run_ms, 1)) for kind, run_ms in job.run_ms_by_type if run_ms])
