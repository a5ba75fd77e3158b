"""What a plan could do for a gang that lacks GPUs: who leaves, shrinks or moves, and from when the gang has its place.

Every mechanism that displaces running work looks for a proposal, and one function carries it out.
"""

from collections.abc import Sequence
from typing import NamedTuple

from muster.core.cluster.gang import Choice
from muster.core.cluster.node_use import Footprint
from muster.core.planning.displacing.shrinking import shrink
from muster.core.planning.displacing.victims import Victim
from muster.core.planning.draft import PlanDraft
from muster.core.planning.placing.placement import Seating
from muster.model.job import RunningJob, WaitingJob
from muster.model.plan import Basis
from muster.model.resources import GPU_MILLI


class NewPlace(NamedTuple):
    """The new place of a job that leaves its present one."""

    job: RunningJob
    choice: Choice
    seating: Seating


class Proposal(NamedTuple):
    """A place for a gang, and which jobs have to leave it."""

    job: WaitingJob | RunningJob
    """The job that gets the place. It waits, or it moves for its own good and is its own victim."""
    choice: Choice
    seating: Seating
    victims: tuple[Victim, ...]
    start_ms: int
    """When all victims have left."""
    moves: tuple[NewPlace, ...] = ()
    """Where victims go that have a new place at once."""

    @property
    def cost(self) -> int:
        """GPU-milliseconds that would be lost or spent again."""
        return sum([victim.cost for victim in self.victims])


def gone_ms(draft: PlanDraft, victims: Sequence[Victim], footprint: Footprint = ()) -> int:
    """When the victims have left, and with them all jobs that leave the nodes of the footprint anyway."""
    times = [draft.now_ms + draft.setting.grace_ms(victim.job.spec) for victim in victims]
    return max([draft.gone_ms(footprint), *times])


def carry_out(draft: PlanDraft, proposal: Proposal, moved_because: str = "") -> None:
    """Tell the victims to leave or shrink, and promise the places that this makes for when they are gone."""
    job, start_ms = proposal.job, proposal.start_ms
    for victim in proposal.victims:
        if not victim.workers:
            draft.evict(victim.job, job.id, victim.why)
    shrink(draft, [victim for victim in proposal.victims if victim.workers], job.id)
    draft.promise(job, proposal.choice, proposal.seating, start_ms, Basis.DEPARTURES, moved_because)
    for move in proposal.moves:
        draft.promise(move.job, move.choice, move.seating, start_ms, Basis.DEPARTURES)


def pays(gained_ms: int, gpu_milli: int, cost: int, factor_milli: int = GPU_MILLI) -> bool:
    """True when a gang of this size gains more GPU time than the cost times a factor."""
    return gained_ms * gpu_milli // GPU_MILLI * GPU_MILLI > cost * factor_milli
