"""A second look at all victims of a cycle: jobs that need not leave after all may stay.

The victims of a later preemptor may have made those of an earlier one superfluous. A gang that accepts several GPU
types may need fewer victims with another choice than with the one that was found first.
"""

from typing import NamedTuple

from muster.core.cluster.capacity import Capacity, Footprint
from muster.core.cluster.footprint import footprint_of
from muster.core.cluster.gang import Choice, running_gang
from muster.core.order.quota import account_of
from muster.core.planning.draft import PlanDraft, PlannedPromise
from muster.core.planning.placement import Seating, fits
from muster.core.planning.preemption import Preemption
from muster.core.planning.proposals import Proposal, carry_out
from muster.core.planning.resizing import given_up, keep_after_all
from muster.core.planning.room_search import RoomSearch
from muster.model.ids import JobId
from muster.model.job import Placement
from muster.model.limits import PRUNING_TRIES
from muster.model.plan import Basis, Why


class _Asked(NamedTuple):
    """A job that is told to leave, or to give up some workers, for another job."""

    lost_gpu_ms: int
    job: JobId
    for_job: JobId
    workers: Placement = ()
    """The workers that are given up. Empty when the whole job leaves."""


def prune_victims(draft: PlanDraft, preemption: Preemption) -> None:
    """Let victims stay that are not needed, those that lose most first, until all are needed or enough was tried."""
    tries = PRUNING_TRIES
    spared = _may_be_superfluous(draft)
    while spared:
        spared = False
        for asked in _all_asked(draft):
            if not tries:
                return
            tries -= 1
            spared = _try_to_prune(draft, preemption, asked) or spared


def _may_be_superfluous(draft: PlanDraft) -> bool:
    """False for the result of one search with a single choice: the search has already pruned what it could."""
    preemptors = {asked.for_job: None for asked in _all_asked(draft)}
    choices = [draft.snapshot.queue.class_of[job_id].gang.choices for job_id in preemptors if job_id in draft.promises]
    return len(preemptors) > 1 or any(len(ways) > 1 for ways in choices)


def _all_asked(draft: PlanDraft) -> list[_Asked]:
    """All jobs that leave or shrink for another job in this plan, those that lose most first."""
    found = [
        _Asked(eviction.lost_gpu_ms, job_id, eviction.for_job)
        for job_id, eviction in draft.evictions.items()
        if eviction.why in (Why.TIER, Why.RECLAIM, Why.TURN)
    ]
    for job_id, resize in draft.resizes.items():
        if resize.for_job is not None:
            gone = given_up(draft.snapshot.running[job_id], resize.workers)
            size = _group_size(draft, job_id)
            found += [_Asked(0, job_id, resize.for_job, gone[at : at + size]) for at in range(0, len(gone), size)]
    return sorted(found, key=lambda asked: (-asked.lost_gpu_ms, asked.job))


def _group_size(draft: PlanDraft, job_id: JobId) -> int:
    """How many workers an elastic job gives up together."""
    job = draft.snapshot.running[job_id]
    role = job.spec.elastic_role
    return next(part.group for part in running_gang(job, draft.setting).parts if role and part.role == role.name)


def _try_to_prune(draft: PlanDraft, preemption: Preemption, asked: _Asked) -> bool:
    """Seat the preemptor without that victim, alone or with others that count on its GPUs; or change nothing."""
    promise = draft.promises.get(asked.for_job)
    if promise is None or not _is_preemptors(draft, promise) or not _is_still_asked(draft, asked):
        return False
    if _makes_room_in_a_guarantee(draft, asked):
        return False
    stays = _would_stay(draft, asked)
    nodes = {use.node: None for use in stays}
    beside = [
        other
        for other in draft.promises.values()
        if other is not promise
        and other.terms.made_ms == draft.now_ms
        and any(use.node in nodes for use in other.footprint)
    ]
    others = [other for other in beside if _is_preemptors(draft, other)]
    # A running job that moves keeps its new place: its promise cannot be made again, as it does not wait.
    resting = [other for other in beside if other.terms.basis is Basis.LIMITS]
    return _seat_anew(draft, preemption, asked, stays, [promise], resting) or (
        bool(others) and _seat_anew(draft, preemption, asked, stays, [promise, *others], resting)
    )


def _is_still_asked(draft: PlanDraft, asked: _Asked) -> bool:
    """False once the same job was allowed to stay in another way."""
    return asked.job in (draft.resizes if asked.workers else draft.evictions)


def _makes_room_in_a_guarantee(draft: PlanDraft, asked: _Asked) -> bool:
    """True when a team may stop another victim only because this one, of the same branch of the tree, leaves."""
    snapshot, promises = draft.snapshot, draft.promises
    reclaimed = [each for each in draft.evictions.values() if each.why is Why.RECLAIM and each.job != asked.job]
    if not reclaimed:
        return False
    staying = snapshot.ledger.fork()
    for job_id in (*snapshot.departing, *draft.leaving):
        if job_id != asked.job:
            staying.charge(account_of(snapshot.running[job_id]), snapshot.demands[job_id], sign=-1)
    chain = staying.chain(account_of(snapshot.running[asked.job]))
    for promise, victim in [(promises[each.for_job], snapshot.running[each.job]) for each in reclaimed]:
        at = staying.branches(promise.account, account_of(victim))
        if at is not None and at[0] in chain and not staying.within_guarantee(at[0], promise.choice.demand):
            return True
    return False


def _is_preemptors(draft: PlanDraft, promise: PlannedPromise) -> bool:
    """True for a promise made to a preemptor: while no job has left for it, it may still sit somewhere else."""
    return promise.terms.basis is Basis.DEPARTURES and promise.terms.job in draft.snapshot.queue.class_of


def _would_stay(draft: PlanDraft, asked: _Asked) -> Footprint:
    """What a victim would go on using if it stayed."""
    if not asked.workers:
        return draft.snapshot.footprints[asked.job]
    return footprint_of(draft.snapshot.running[asked.job].spec, asked.workers, draft.setting.tree)


def _seat_anew(
    draft: PlanDraft,
    preemption: Preemption,
    asked: _Asked,
    stays: Footprint,
    moving: list[PlannedPromise],
    resting: list[PlannedPromise],
) -> bool:
    """Promise the moving gangs other seats, one after another, and let the victim stay; or change nothing.

    `resting` are this cycle's other promises on the victim's nodes. They were made with the victim gone and have to
    be made again.
    """
    if not _could_sit(draft, preemption, stays, moving, resting):
        return False
    order = list(draft.promises)
    for other in (*moving, *resting):
        draft.retract(other.terms.job)
    seated: list[PlannedPromise] = []
    for other in moving:
        found = _seat_beside(draft, preemption, asked, stays, other)
        if found is None:
            break
        seated.append(other)
        carry_out(draft, found, other.terms.moved_because)
    if len(seated) < len(moving):
        for other in seated:
            draft.retract(other.terms.job)
        for other in (*moving, *resting):
            draft.restore(other)
        draft.promises = {job_id: draft.promises[job_id] for job_id in order}
        return False
    if asked.workers:
        keep_after_all(draft, asked.job, asked.workers)
    else:
        draft.pardon(asked.job)
    preemption.departures.forget()
    for other in moving:
        # With the victim staying there may be no job to wait for any more.
        anew = draft.retract(other.terms.job)
        job, seating = draft.snapshot.queue.jobs[other.terms.job], Seating(anew.terms.workers, anew.footprint)
        start_ms = draft.gone_ms(seating.footprint)
        draft.promise(job, anew.choice, seating, start_ms, Basis.DEPARTURES, other.terms.moved_because)
    preemption.unpromised += [other.terms.job for other in resting]
    return True


def _could_sit(
    draft: PlanDraft,
    preemption: Preemption,
    stays: Footprint,
    moving: list[PlannedPromise],
    resting: list[PlannedPromise],
) -> bool:
    """False when one of the gangs has no room even alone. Most tries end here, before any promise is touched."""
    scratch = preemption.departures.capacity()
    mark = scratch.mark()
    for other in (*moving, *resting):
        scratch.give(other.footprint)
    scratch.take(stays)
    could = all(
        any(
            fits(scratch, gang, choice, gang.widest)
            for choice in gang.choices
            if not _is_slower(preemption, choice, other)
        )
        for other, gang in ((other, draft.snapshot.queue.class_of[other.terms.job].gang) for other in moving)
    )
    scratch.rollback(mark)
    return could


def _seat_beside(
    draft: PlanDraft, preemption: Preemption, asked: _Asked, stays: Footprint, promise: PlannedPromise
) -> Proposal | None:
    """Seats for a gang whose promise was taken back, while a job stays that was to leave."""
    scratch = preemption.departures.capacity()
    if _in_the_way(draft, scratch, stays):
        return None
    mark = scratch.mark()
    scratch.take(stays)
    found = _seat_somehow(draft, preemption, asked, scratch, promise)
    scratch.rollback(mark)
    return found


def _in_the_way(draft: PlanDraft, scratch: Capacity, stays: Footprint) -> bool:
    """True when another job was promised what would not come free."""
    return any(
        any(promise.terms.basis is Basis.DEPARTURES for _, (promise, _) in draft.promised_on(use.node))
        and not scratch.holds((use,))
        for use in stays
    )


def _seat_somehow(
    draft: PlanDraft, preemption: Preemption, asked: _Asked, scratch: Capacity, promise: PlannedPromise
) -> Proposal | None:
    """Seats with the choice that was promised, or with another."""
    job_id = promise.terms.job
    group, job = draft.snapshot.queue.class_of[job_id], draft.snapshot.queue.jobs[job_id]
    owed = bool(draft.projected.guaranteed_above(group.team))
    reclaims = any(
        entry.for_job == job_id and (owed or entry.why is Why.RECLAIM) and entry.job != asked.job
        for entry in draft.evictions.values()
    )
    for choice in dict.fromkeys((promise.choice, *group.gang.choices)):
        if reclaims and choice.demand != promise.choice.demand:
            # Its team took back GPUs of one type. It may not be guaranteed as many of another.
            continue
        if _is_slower(preemption, choice, promise):
            continue
        if preemption.quota_allows(group, choice):
            proposal = RoomSearch(draft, scratch, job, group.gang, choice).without_victims()
            if proposal is not None:
                return proposal
    return None


def _is_slower(preemption: Preemption, choice: Choice, promise: PlannedPromise) -> bool:
    """True for a choice that is slower than the one the gang was promised in a GPU swap."""
    return promise.terms.job in preemption.changing and choice.speed_milli < promise.choice.speed_milli
