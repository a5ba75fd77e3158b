"""How fast running jobs are on their GPU types, and on which types they would be faster."""

from typing import NamedTuple

from muster.core.cluster.capacity import Capacity
from muster.core.cluster.gang import Choice, Gang, running_gang
from muster.core.cluster.setting import Setting
from muster.model.ids import JobId
from muster.model.job import RunningJob
from muster.model.resources import GPU_MILLI


class Pace(NamedTuple):
    """How fast a running gang is where it is, and which choices would be faster."""

    gang: Gang
    speed_milli: int
    faster: tuple[Choice, ...]
    """The faster choices that come before its present one in `Gang.choices`, in that order."""

    def may_find_room(self, capacity: Capacity) -> bool:
        """True when some faster choice has as many free slots as the gang has workers, wherever they are."""
        return any(has_slots(capacity, self.gang, choice) for choice in self.faster)


class Paces:
    """How fast running jobs are, for all jobs whose speed is known."""

    def __init__(self) -> None:
        self.slow: dict[JobId, Pace] = {}
        """Jobs that can resume and would run faster elsewhere."""
        self._of_usual_milli: dict[JobId, int] = {}
        """The speed of each job in thousandths of its usual speed, where the two differ."""
        self.content_with_less: dict[JobId, None] = {}
        """Jobs that could also run on slower GPUs than they have."""

    def follow(self, job: RunningJob, setting: Setting) -> None:
        """Note that a job now runs where its record says."""
        self.forget(job.id)
        if not setting.knows_speeds(job.spec):
            return
        gang = running_gang(job, setting)
        here = gang.choices_on(job.workers, setting.tree)
        if not here:
            return
        speed_milli, usual_milli = here[0].speed_milli, usual_speed_milli(gang, setting)
        if speed_milli != usual_milli:
            self._of_usual_milli[job.id] = speed_milli * GPU_MILLI // usual_milli
        if any(choice.speed_milli < speed_milli for choice in gang.choices):
            self.content_with_less[job.id] = None
        before = gang.choices[: gang.choices.index(here[0])]
        faster = tuple(choice for choice in before if choice.speed_milli > speed_milli)
        if faster and setting.policy.consolidation and job.spec.can_resume and job.leaving_by_ms is None:
            self.slow[job.id] = Pace(gang, speed_milli, faster)

    def forget(self, job_id: JobId) -> None:
        """Forget a job that no longer runs there."""
        self.slow.pop(job_id, None)
        self.content_with_less.pop(job_id, None)
        self._of_usual_milli.pop(job_id, None)

    def at_usual_speed_ms(self, job_id: JobId, ran_ms: int) -> int:
        """How long a job would have needed at its usual speed for the work it did in `ran_ms`."""
        return ran_ms * self._of_usual_milli.get(job_id, GPU_MILLI) // GPU_MILLI


def usual_speed_milli(gang: Gang, setting: Setting) -> int:
    """How fast a gang is on average over all GPUs that it accepts. The gang must have at least one choice.

    This is the speed it would have on a share of the cluster with its part of the GPUs of every type.
    """
    weighed = [(choice.speed_milli, _gpus_for(choice, setting)) for choice in gang.choices]
    gpus = sum(count for _, count in weighed)
    return max(sum(speed_milli * count for speed_milli, count in weighed) // gpus, 1) if gpus else GPU_MILLI


def _gpus_for(choice: Choice, setting: Setting) -> int:
    """How many GPUs have the types and pools of one choice."""
    kinds = [(pool, ask.gpu_type) for ask in choice.asks if ask.gpu_type is not None for pool in ask.pools]
    return sum(setting.gpus.get(kind, 0) for kind in kinds)


def has_slots(capacity: Capacity, gang: Gang, choice: Choice) -> bool:
    """True when every role of a gang finds as many free slots as it has workers, wherever they are."""
    asks = zip(gang.parts, choice.asks, strict=True)
    return all(capacity.total_slots(ask) >= part.workers for part, ask in asks)
