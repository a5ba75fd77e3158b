"""Moving jobs that can resume, when nothing but fragmentation keeps a promised gang from starting.

A move is made only if every moved job has a new place at once, and if the GPU time the gang gains exceeds what the
moves cost by a configured factor.
"""

from muster.core.cluster.capacity import Capacity
from muster.core.footprint import gpu_milli_of
from muster.core.gang import Choice, running_gang
from muster.core.planning.desk import Desk, Promise
from muster.core.planning.placing import Seating, place
from muster.core.planning.preemption import Preemption
from muster.core.planning.search import Candidates, Sacrifice, Search
from muster.core.planning.victims import Victim, may_take_from, told_to_leave
from muster.core.queueing import JobClass
from muster.model.ids import natural
from muster.model.plan import Basis, Eviction, Why
from muster.model.resources import GPU_MILLI

Moves = list[tuple[Victim, Choice, Seating]]
"""Who moves, and where to."""


def consolidate(desk: Desk, preemption: Preemption) -> None:
    """Try to move jobs for the most urgent gang that was promised a start by limits only. One move a cycle."""
    if not desk.policy.consolidation:
        return
    for promise in sorted(desk.promises.values(), key=lambda promise: (promise.tier, natural(promise.hold.job))):
        group = desk.snapshot.queue.class_of.get(promise.hold.job)
        if group is None or not group.may_preempt or promise.hold.basis is not Basis.LIMITS:
            continue
        if not _enough(desk.free, group, promise):
            continue
        if _move_for(desk, preemption, promise, group):
            return


def _enough(capacity: Capacity, group: JobClass, promise: Promise) -> bool:
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


def _move_for(desk: Desk, preemption: Preemption, promise: Promise, group: JobClass) -> bool:
    """Look for moves that pay; carry them out if there are any."""
    job_id = promise.hold.job
    desk.retract(job_id)
    found = None
    if _enough(desk.horizons.closed, group, promise) and preemption.quota_allows(group, promise.choice):
        found = _cheapest_move(desk, preemption, promise, group)
    if found is None:
        desk.restore(promise)
        return False
    sacrifice, moves = found
    gone_ms = _gone_ms(desk, sacrifice)
    for victim, _, _ in moves:
        desk.evict(Eviction(job=victim.job.id, for_job=job_id, why=Why.CONSOLIDATION, lost_gpu_ms=victim.lost_gpu_ms))
        preemption.claims.roster.leave(victim.job.id)
    desk.promise(
        job_id, group.team, group.tier, group.limit_ms, promise.choice, sacrifice.seating, gone_ms, Basis.DEPARTURES
    )
    for victim, choice, seating in moves:
        spec = victim.job.spec
        tier, limit_ms = desk.setting.tier_rank[spec.tier], desk.setting.limit_ms(spec)
        desk.promise(victim.job.id, spec.team, tier, limit_ms, choice, seating, gone_ms, Basis.DEPARTURES)
    return True


def _widest(desk: Desk, promise: Promise) -> int:
    """How far the promised gang may spread now."""
    job = desk.snapshot.queue.jobs[promise.hold.job]
    return desk.widest(desk.snapshot.queue.class_of[job.id].gang, job.spec, job.submitted_ms)


def _cheapest_move(
    desk: Desk, preemption: Preemption, promise: Promise, group: JobClass
) -> tuple[Sacrifice, Moves] | None:
    rank = desk.setting.tier_rank
    movable = [
        victim._replace(why=Why.CONSOLIDATION)
        for victim in preemption.claims.roster.jobs.values()
        if victim.job.spec.can_resume
        and victim.job.checkpointed_ms is not None
        and rank[victim.job.spec.tier] >= group.tier
        and victim.job.id not in desk.resizes
        and not desk.ledger.is_over_limit(victim.job.spec.team)
    ]
    if not movable:
        return None
    capacity = desk.horizons.until(desk.now_ms + group.limit_ms)
    sacrifice = Search(
        capacity=capacity,
        candidates=Candidates(capacity, movable),
        gang=group.gang,
        choice=promise.choice,
        widest=_widest(desk, promise),
        team=group.team,
        entitled=(),
        ledger=desk.ledger,
        allowance=lambda team: may_take_from(desk, team),
        tellings=lambda: told_to_leave(desk),
    ).cheapest()
    if sacrifice is None or not sacrifice.victims or not _pays(desk, promise, sacrifice):
        return None
    moves = _new_places(desk, sacrifice)
    return (sacrifice, moves) if moves is not None else None


def _pays(desk: Desk, promise: Promise, sacrifice: Sacrifice) -> bool:
    """True when what the gang gains is worth what the moves cost; a move never makes it start later."""
    gpu_milli = gpu_milli_of(promise.choice.demand)
    gained_ms = promise.hold.start_ms - _gone_ms(desk, sacrifice)
    gained_gpu_ms = max(gained_ms, 0) * gpu_milli // GPU_MILLI
    return gained_gpu_ms * GPU_MILLI > sacrifice.cost * desk.policy.consolidation_gain_milli


def _gone_ms(desk: Desk, sacrifice: Sacrifice) -> int:
    """When everybody who moves has left."""
    return desk.now_ms + max(desk.setting.grace_ms(victim.job.spec) for victim in sacrifice.victims)


def _new_places(desk: Desk, sacrifice: Sacrifice) -> Moves | None:
    """Seats for every moved job beside the gang, largest first; None when one of them would be left without."""
    scratch = desk.horizons.closed
    mark = scratch.mark()
    for victim in sacrifice.victims:
        scratch.give(victim.footprint)
    scratch.take(sacrifice.seating.footprint)
    moves: Moves = []
    for victim in sorted(sacrifice.victims, key=lambda victim: (-victim.cost, victim.job.id)):
        gang = running_gang(victim.job, desk.setting)
        for choice in gang.choices:
            widest = desk.widest(gang, victim.job.spec, victim.job.submitted_ms)
            seating = place(scratch, gang, choice, widest)
            if seating is not None:
                scratch.take(seating.footprint)
                moves.append((victim, choice, seating))
                break
    scratch.rollback(mark)
    return moves if len(moves) == len(sacrifice.victims) else None
