"""How fast running jobs are, by what is known of GPU types, and how they could be faster."""

from typing import NamedTuple

from muster.core.cluster.capacity import Capacity
from muster.core.gang import Choice, Gang, running_gang
from muster.core.setting import Setting
from muster.model.job import RunningJob


class Pace(NamedTuple):
    """How fast a running gang is where it is, and how it could be served better."""

    gang: Gang
    speed_milli: int
    faster: tuple[Choice, ...]
    """The ways to serve it that are faster and that it would have taken first, fastest first."""

    def may_find_room(self, capacity: Capacity) -> bool:
        """True when there are as many free places on some faster type as the gang has workers, wherever they are."""
        return any(has_slots(capacity, self.gang, choice) for choice in self.faster)


def pace_of(job: RunningJob, setting: Setting) -> Pace | None:
    """The pace of a job that could move to faster GPUs.

    None for all others, at once where nobody knows how fast GPU types are.
    """
    is_movable = setting.policy.consolidation and job.spec.can_resume and job.leaving_by_ms is None
    if not is_movable or not setting.knows_speeds(job.spec):
        return None
    gang = running_gang(job, setting)
    here = gang.choices_on(job.workers, setting.tree)
    if not here:
        return None
    speed_milli = here[0].speed_milli
    before = gang.choices[: gang.choices.index(here[0])]
    faster = tuple(choice for choice in before if choice.speed_milli > speed_milli)
    return Pace(gang, speed_milli, faster) if faster else None


def has_slots(capacity: Capacity, gang: Gang, choice: Choice) -> bool:
    """True when every role of a gang finds as many places as it has workers, wherever they are."""
    asks = zip(gang.parts, choice.asks, strict=True)
    return all(capacity.total_slots(ask) >= part.workers for part, ask in asks)
