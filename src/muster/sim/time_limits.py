"""How long the jobs of a replay may run: long enough for everything that they did in the source.

On a live cluster a job is told to leave one grace period before its limit, so that it is gone on time. A trace says
what a job did under the rules of another cluster, which mostly tells the job at the limit. So the limit here adds the
grace period, and everything that the replay adds to a run: a slower GPU type, saves, a restart. A job that still
reaches its limit was slowed down.
"""

from collections.abc import Iterable

from muster.estimates.training import PARTS, Habits
from muster.model.ids import GpuType
from muster.model.limits import MAX_DURATION_MS
from muster.model.trace import TraceJob
from muster.sim.speeds import speeds_by_type


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
        """The part of a job's speed that a straggler leaves, in millionths."""

    def limit_ms(self, job: TraceJob) -> int:
        """The limit that the scheduler is told. Jobs without one get whole years, which reveal nothing about them."""
        longest_ms = self._longest_ms(job)
        needed_ms = longest_ms + self._extra_ms(longest_ms)
        if job.max_duration_ms is not None:
            return max(job.max_duration_ms - longest_ms, 0) + needed_ms + self._grace_ms
        needed_ms = -(-needed_ms * PARTS // self._slowest) + self._grace_ms
        return -(-needed_ms // MAX_DURATION_MS) * MAX_DURATION_MS

    def _longest_ms(self, job: TraceJob) -> int:
        """How long the job trains on the slowest GPU type that it may get."""
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
