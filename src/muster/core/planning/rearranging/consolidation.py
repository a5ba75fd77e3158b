"""Moving jobs that can resume, when nothing but fragmentation keeps a promised gang from starting.

A move is made only if every moved job has a new place at once, and if the GPU time the gang gains exceeds what the
moves cost by a configured factor.
"""

from muster.core.cluster.capacity import Capacity
from muster.core.cluster.footprint import gpu_milli_of
from muster.core.cluster.gang import running_gang
from muster.core.order.queueing import JobClass
from muster.core.order.quota import account_of
from muster.core.planning.displacing.candidates import Candidates
from muster.core.planning.displacing.preemption import Preemption
from muster.core.planning.displacing.proposals import NewPlace, Proposal, carry_out, gone_ms, pays
from muster.core.planning.displacing.victim_search import VictimSearch
from muster.core.planning.displacing.victims import Roster, Victim, victim_of
from muster.core.planning.draft import PlanDraft, PlannedPromise
from muster.core.planning.placing.placement import place
from muster.model.ids import natural
from muster.model.job import RunningJob
from muster.model.plan import Basis, Why


def consolidate(draft: PlanDraft, preemption: Preemption) -> None:
    """Move jobs for the most urgent gang whose promise rests on limits and for which moves pay. One gang per cycle."""
    if not draft.policy.consolidation:
        return
    for promise in sorted(draft.promises.values(), key=lambda promise: (promise.tier, natural(promise.terms.job))):
        group = draft.snapshot.queue.class_of.get(promise.terms.job)
        if group is None or not group.may_preempt or promise.terms.basis is not Basis.LIMITS:
            continue
        if not _enough(draft.free, group, promise):
            continue
        if _move_for(draft, preemption, promise, group):
            return


def _enough(capacity: Capacity, group: JobClass, promise: PlannedPromise) -> bool:
    """True when a capacity has as many GPUs of the right kind as the gang needs, wherever they are."""
    for ask in promise.choice.asks:
        wanted_milli = sum(
            part.workers * other.gpu_milli
            for part, other in zip(group.gang.parts, promise.choice.asks, strict=True)
            if other.gpu_type == ask.gpu_type
        )
        if ask.gpu_type is not None and capacity.free_milli_for(ask) < wanted_milli:
            return False
    return True


def _move_for(draft: PlanDraft, preemption: Preemption, promise: PlannedPromise, group: JobClass) -> bool:
    """Look for moves that pay, and put them into the plan if there are any."""
    draft.put_aside(promise)
    proposal = None
    if _enough(draft.horizons.closed, group, promise) and preemption.quota_allows(group, promise.choice):
        proposal = _cheapest_move(draft, preemption, promise, group)
    if proposal is None:
        draft.restore(promise)
        return False
    carry_out(draft, proposal)
    return True


def _cheapest_move(
    draft: PlanDraft, preemption: Preemption, promise: PlannedPromise, group: JobClass
) -> Proposal | None:
    capacity = draft.horizons.until(draft.now_ms + group.limit_ms)
    job, gpu_milli = draft.snapshot.queue.jobs[promise.terms.job], gpu_milli_of(promise.choice.demand)
    movable = Movable(draft, preemption.claims.roster, group.tier)
    candidates = Candidates(draft, capacity, movable, {}, rights=movable.rights)
    proposal = VictimSearch(draft, capacity, candidates, job, group.gang, promise.choice).cheapest()
    if proposal is None:
        return None
    # What no job uses now is all that it needs besides the places of the victims: it waits for no other departure.
    start_ms = gone_ms(draft, proposal.victims)
    gained_ms = promise.terms.start_ms - start_ms
    if not pays(gained_ms, gpu_milli, proposal.cost, draft.policy.consolidation_gain_milli):
        return None
    dearest_first = sorted(proposal.victims, key=lambda victim: (-victim.cost, victim.job.id))
    return _with_new_places(draft, proposal._replace(victims=tuple(dearest_first), start_ms=start_ms))


class Movable:
    """Jobs of the tier and below that could go on elsewhere from what they have saved."""

    def __init__(self, draft: PlanDraft, roster: Roster, tier: int) -> None:
        self._draft = draft
        self._roster = roster
        self._tier = tier
        self._over_limit = draft.ledger.over_limit()
        self.rights = (Why.CONSOLIDATION, tier, self._over_limit)
        """What stands for them in every plan (`Candidates`)."""

    def takes(self, job: RunningJob) -> bool:
        """True when a job may be moved."""
        return (
            job.spec.can_resume
            and job.checkpointed_ms is not None
            and self._draft.setting.tier_rank[job.spec.tier] >= self._tier
            and self._draft.setting.is_preemptible(job.spec)
            and self._roster.may_ask(job)
            and not (self._over_limit and self._draft.ledger.is_over_limit(account_of(job)))
        )

    def cost(self, job: RunningJob) -> int | None:
        """What it costs if a job moves; None when it may not be moved."""
        return self._roster.cost(job) if self.takes(job) else None

    def victim(self, job: RunningJob, cost: int) -> Victim:
        """A job that may be moved as a victim."""
        return victim_of(self._draft, job, Why.CONSOLIDATION)._replace(cost=cost)


def _with_new_places(draft: PlanDraft, proposal: Proposal) -> Proposal | None:
    """The proposal with seats for every moved job beside the gang. None when one of them finds no seats."""
    scratch = draft.horizons.closed
    mark = scratch.mark()
    for victim in proposal.victims:
        scratch.give(victim.footprint)
    scratch.take(proposal.seating.footprint)
    moves: list[NewPlace] = []
    for victim in proposal.victims:
        gang = running_gang(victim.job, draft.setting)
        for choice in gang.choices:
            widest = draft.widest(gang, victim.job)
            seating = place(scratch, gang, choice, widest)
            if seating is not None:
                scratch.take(seating.footprint)
                moves.append(NewPlace(victim.job, choice, seating))
                break
    scratch.rollback(mark)
    return proposal._replace(moves=tuple(moves)) if len(moves) == len(proposal.victims) else None
