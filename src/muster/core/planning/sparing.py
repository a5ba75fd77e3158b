"""A second look at all victims of a cycle: who need not leave after all may stay.

A later preemptor's victims may have made an earlier one's superfluous, and a gang that accepts several GPU types may
need fewer victims in another way than the one that was found first.
"""

from typing import NamedTuple

from muster.core.cluster.capacity import Capacity, Footprint
from muster.core.footprint import footprint_of
from muster.core.gang import Choice, running_gang
from muster.core.planning.desk import Desk, Promise
from muster.core.planning.placing import Seating, fits, place
from muster.core.planning.preemption import Preemption
from muster.core.planning.resizing import given_up, keep_after_all
from muster.model.ids import JobId
from muster.model.job import Placement
from muster.model.limits import SPARING_TRIES
from muster.model.plan import Basis, Why


class _Asked(NamedTuple):
    """Somebody who is told to leave, or to give up some workers, for a job."""

    lost_gpu_ms: int
    job: JobId
    for_job: JobId
    workers: Placement = ()
    """The workers that are given up; empty when the whole job leaves."""


def spare_again(desk: Desk, preemption: Preemption) -> None:
    """Let everybody stay who is asked in vain, the dearest first, until nobody is or enough was tried."""
    tries = SPARING_TRIES
    spared = _may_be_superfluous(desk)
    while spared:
        spared = False
        for asked in _all_asked(desk):
            if not tries:
                return
            tries -= 1
            spared = _try_to_spare(desk, preemption, asked) or spared


def _may_be_superfluous(desk: Desk) -> bool:
    """False for what a single search has found: it spared all whom it could, in the one way that there is."""
    preemptors = {asked.for_job: None for asked in _all_asked(desk)}
    choices = [desk.snapshot.queue.class_of[job_id].gang.choices for job_id in preemptors if job_id in desk.promises]
    return len(preemptors) > 1 or any(len(ways) > 1 for ways in choices)


def _all_asked(desk: Desk) -> list[_Asked]:
    """Everybody who leaves or shrinks for another job in this plan, who loses most first."""
    found = [
        _Asked(eviction.lost_gpu_ms, job_id, eviction.for_job)
        for job_id, eviction in desk.evictions.items()
        if eviction.why in (Why.TIER, Why.RECLAIM, Why.TURN)
    ]
    for job_id, resize in desk.resizes.items():
        if resize.for_job is not None:
            gone = given_up(desk.snapshot.running[job_id], resize.workers)
            size = _group_size(desk, job_id)
            found += [_Asked(0, job_id, resize.for_job, gone[at : at + size]) for at in range(0, len(gone), size)]
    return sorted(found, key=lambda asked: (-asked.lost_gpu_ms, asked.job))


def _group_size(desk: Desk, job_id: JobId) -> int:
    """How many workers an elastic job gives up together."""
    job = desk.snapshot.running[job_id]
    role = job.spec.elastic_role
    return next(part.group for part in running_gang(job, desk.setting).parts if role and part.role == role.name)


def _try_to_spare(desk: Desk, preemption: Preemption, asked: _Asked) -> bool:
    """Seat the preemptor without that victim, alone or with the others who count on its GPUs; or change nothing."""
    promise = desk.promises.get(asked.for_job)
    if promise is None or not _is_preemptors(desk, promise) or not _is_still_asked(desk, asked):
        return False
    stays = _would_stay(desk, asked)
    nodes = {use.node: None for use in stays}
    beside = [
        other
        for other in desk.promises.values()
        if other is not promise
        and other.hold.made_ms == desk.now_ms
        and any(use.node in nodes for use in other.footprint)
    ]
    others = [other for other in beside if _is_preemptors(desk, other)]
    resting = [other for other in beside if not _is_preemptors(desk, other)]
    return _seat_anew(desk, preemption, asked, stays, [promise], resting) or (
        bool(others) and _seat_anew(desk, preemption, asked, stays, [promise, *others], resting)
    )


def _is_still_asked(desk: Desk, asked: _Asked) -> bool:
    """False once the same job was spared in another way."""
    return asked.job in (desk.resizes if asked.workers else desk.evictions)


def _is_preemptors(desk: Desk, promise: Promise) -> bool:
    """True for a promise made to a preemptor: while nobody has left for it, it may still sit somewhere else."""
    return promise.hold.basis is Basis.DEPARTURES and promise.hold.job in desk.snapshot.queue.class_of


def _would_stay(desk: Desk, asked: _Asked) -> Footprint:
    """What a victim would go on using if it were spared."""
    if not asked.workers:
        return desk.snapshot.footprints[asked.job]
    return footprint_of(desk.snapshot.running[asked.job].spec, asked.workers, desk.setting.tree)


def _seat_anew(
    desk: Desk,
    preemption: Preemption,
    asked: _Asked,
    stays: Footprint,
    moving: list[Promise],
    resting: list[Promise],
) -> bool:
    """Promise the moving gangs other seats, one after another, and let the victim stay; or change nothing.

    `resting` are promises that rest on limits and were made with the victim gone: they have to be made again.
    """
    if not _could_sit(desk, preemption, stays, moving, resting):
        return False
    order = list(desk.promises)
    for other in (*moving, *resting):
        desk.retract(other.hold.job)
    seated: list[Promise] = []
    for other in moving:
        found = _seat_beside(desk, preemption, asked, stays, other)
        if found is None:
            break
        seated.append(other)
        _promise_again(desk, other, *found)
    if len(seated) < len(moving):
        for other in seated:
            desk.retract(other.hold.job)
        for other in (*moving, *resting):
            desk.restore(other)
        desk.promises = {job_id: desk.promises[job_id] for job_id in order}
        return False
    if asked.workers:
        keep_after_all(desk, asked.job, asked.workers)
    else:
        desk.pardon(asked.job)
    preemption.forget_leavers()
    for other in moving:
        # With the victim staying there may be nobody to wait for any more.
        anew = desk.retract(other.hold.job)
        _promise_again(desk, other, anew.choice, Seating(anew.hold.workers, anew.footprint))
    preemption.unpromised += [other.hold.job for other in resting]
    return True


def _could_sit(
    desk: Desk, preemption: Preemption, stays: Footprint, moving: list[Promise], resting: list[Promise]
) -> bool:
    """False when one of the gangs has no room even by itself: most tries end here, before any promise is touched."""
    scratch = preemption.departed()
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
        for other, gang in ((other, desk.snapshot.queue.class_of[other.hold.job].gang) for other in moving)
    )
    scratch.rollback(mark)
    return could


def _promise_again(desk: Desk, promise: Promise, choice: Choice, seating: Seating) -> None:
    desk.promise(
        promise.hold.job,
        promise.team,
        promise.tier,
        promise.end_ms - promise.hold.start_ms,
        choice,
        seating,
        desk.gone_ms(seating.footprint),
        Basis.DEPARTURES,
        promise.hold.moved_because,
    )


def _seat_beside(
    desk: Desk, preemption: Preemption, asked: _Asked, stays: Footprint, promise: Promise
) -> tuple[Choice, Seating] | None:
    """Seats for a gang whose promise was taken back while somebody stays who was to leave."""
    scratch = preemption.departed()
    if _in_the_way(desk, scratch, stays):
        return None
    mark = scratch.mark()
    scratch.take(stays)
    found = _seat_somehow(desk, preemption, asked, scratch, promise)
    scratch.rollback(mark)
    return found


def _in_the_way(desk: Desk, scratch: Capacity, stays: Footprint) -> bool:
    """True when somebody else was promised what would not come free."""
    return any(
        any(promise.hold.basis is Basis.DEPARTURES for _, (promise, _) in desk.promised_on(use.node))
        and not scratch.holds((use,))
        for use in stays
    )


def _seat_somehow(
    desk: Desk, preemption: Preemption, asked: _Asked, scratch: Capacity, promise: Promise
) -> tuple[Choice, Seating] | None:
    """Seats in the way that was promised, or in another."""
    job_id = promise.hold.job
    group, job = desk.snapshot.queue.class_of[job_id], desk.snapshot.queue.jobs[job_id]
    widest = desk.widest(group.gang, job.spec, job.submitted_ms)
    owed = bool(desk.projected.guaranteed_above(group.team))
    reclaims = any(
        entry.for_job == job_id and (owed or entry.why is Why.RECLAIM) and entry.job != asked.job
        for entry in desk.evictions.values()
    )
    for choice in dict.fromkeys((promise.choice, *group.gang.choices)):
        if reclaims and choice.demand != promise.choice.demand:
            # Its team took back GPUs of a type: it may not be owed as many of another.
            continue
        if _is_slower(preemption, choice, promise):
            continue
        if fits(scratch, group.gang, choice, widest) and preemption.quota_allows(group, choice):
            seating = place(scratch, group.gang, choice, widest)
            if seating is not None:
                return choice, seating
    return None


def _is_slower(preemption: Preemption, choice: Choice, promise: Promise) -> bool:
    """True for a way to serve a gang that it changes places to avoid."""
    return promise.hold.job in preemption.changing and choice.speed_milli < promise.choice.speed_milli
