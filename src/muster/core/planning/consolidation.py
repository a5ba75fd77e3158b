"""Moving jobs that can resume, when nothing but fragmentation keeps a promised gang from starting.

A move is made only if every moved job has a new place at once, and if the GPU time the gang gains exceeds what the
moves cost by a configured factor.
"""

from muster.core.cluster.capacity import Capacity
from muster.core.cluster.footprint import gpu_milli_of
from muster.core.cluster.gang import Choice, running_gang
from muster.core.order.queueing import JobClass
from muster.core.order.quota import account_of
from muster.core.planning.candidates import Candidates
from muster.core.planning.draft import PlanDraft, PlannedPromise
from muster.core.planning.placement import Seating, place
from muster.core.planning.preemption import Preemption
from muster.core.planning.victim_search import Sacrifice, VictimSearch
from muster.core.planning.victims import Roster, Victim, may_take_from, told_to_leave
from muster.model.ids import natural
from muster.model.job import RunningJob
from muster.model.plan import Basis, Eviction, Why
from muster.model.resources import GPU_MILLI

Moves = list[tuple[Victim, Choice, Seating]]
"""Which jobs move, and where to."""


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
    job_id = promise.terms.job
    draft.retract(job_id)
    found = None
    if _enough(draft.horizons.closed, group, promise) and preemption.quota_allows(group, promise.choice):
        found = _cheapest_move(draft, preemption, promise, group)
    if found is None:
        draft.restore(promise)
        return False
    sacrifice, moves = found
    gone_ms = _gone_ms(draft, sacrifice)
    for victim, _, _ in moves:
        draft.evict(Eviction(job=victim.job.id, for_job=job_id, why=Why.CONSOLIDATION, lost_gpu_ms=victim.lost_gpu_ms))
        preemption.claims.roster.leave(victim.job.id)
    draft.promise(
        job_id, group.account, group.tier, group.limit_ms, promise.choice, sacrifice.seating, gone_ms, Basis.DEPARTURES
    )
    for victim, choice, seating in moves:
        spec = victim.job.spec
        tier, limit_ms = draft.setting.tier_rank[spec.tier], draft.setting.limit_ms(spec)
        draft.promise(victim.job.id, account_of(victim.job), tier, limit_ms, choice, seating, gone_ms, Basis.DEPARTURES)
    return True


def _widest(draft: PlanDraft, promise: PlannedPromise) -> int:
    """How far the promised gang may spread now."""
    job = draft.snapshot.queue.jobs[promise.terms.job]
    return draft.widest(draft.snapshot.queue.class_of[job.id].gang, job.spec, job.submitted_ms)


def _cheapest_move(
    draft: PlanDraft, preemption: Preemption, promise: PlannedPromise, group: JobClass
) -> tuple[Sacrifice, Moves] | None:
    capacity = draft.horizons.until(draft.now_ms + group.limit_ms)
    sacrifice = VictimSearch(
        capacity=capacity,
        candidates=Candidates(draft, capacity, _Movable(draft, preemption.claims.roster, group.tier), {}),
        gang=group.gang,
        choice=promise.choice,
        widest=_widest(draft, promise),
        team=group.team,
        entitled=(),
        ledger=draft.ledger,
        allowance=lambda team: may_take_from(draft, team),
        tellings=lambda: told_to_leave(draft),
    ).cheapest()
    if sacrifice is None or not sacrifice.victims or not _pays(draft, promise, sacrifice):
        return None
    moves = _new_places(draft, sacrifice)
    return (sacrifice, moves) if moves is not None else None


class _Movable:
    """Jobs of the tier and below that could go on elsewhere from what they have saved."""

    def __init__(self, draft: PlanDraft, roster: Roster, tier: int) -> None:
        self._draft = draft
        self._roster = roster
        self._tier = tier

    def takes(self, job: RunningJob) -> bool:
        """True when a job may be moved."""
        return (
            job.spec.can_resume
            and job.checkpointed_ms is not None
            and self._draft.setting.tier_rank[job.spec.tier] >= self._tier
            and self._draft.setting.is_preemptible(job.spec)
            and self._roster.may_ask(job)
            and not self._draft.ledger.is_over_limit(account_of(job))
        )

    def victim(self, job: RunningJob) -> Victim | None:
        """A job as a victim; None when it may not be moved."""
        return self._roster.victim(job)._replace(why=Why.CONSOLIDATION) if self.takes(job) else None


def _pays(draft: PlanDraft, promise: PlannedPromise, sacrifice: Sacrifice) -> bool:
    """True when what the gang gains is worth what the moves cost; a move never makes it start later."""
    gpu_milli = gpu_milli_of(promise.choice.demand)
    gained_ms = promise.terms.start_ms - _gone_ms(draft, sacrifice)
    gained_gpu_ms = max(gained_ms, 0) * gpu_milli // GPU_MILLI
    return gained_gpu_ms * GPU_MILLI > sacrifice.cost * draft.policy.consolidation_gain_milli


def _gone_ms(draft: PlanDraft, sacrifice: Sacrifice) -> int:
    """When all jobs that move have left."""
    return draft.now_ms + max(draft.setting.grace_ms(victim.job.spec) for victim in sacrifice.victims)


def _new_places(draft: PlanDraft, sacrifice: Sacrifice) -> Moves | None:
    """Seats for every moved job beside the gang, the most expensive job first. None when one of them finds no seats."""
    scratch = draft.horizons.closed
    mark = scratch.mark()
    for victim in sacrifice.victims:
        scratch.give(victim.footprint)
    scratch.take(sacrifice.seating.footprint)
    moves: Moves = []
    for victim in sorted(sacrifice.victims, key=lambda victim: (-victim.cost, victim.job.id)):
        gang = running_gang(victim.job, draft.setting)
        for choice in gang.choices:
            widest = draft.widest(gang, victim.job.spec, victim.job.submitted_ms)
            seating = place(scratch, gang, choice, widest)
            if seating is not None:
                scratch.take(seating.footprint)
                moves.append((victim, choice, seating))
                break
    scratch.rollback(mark)
    return moves if len(moves) == len(sacrifice.victims) else None
