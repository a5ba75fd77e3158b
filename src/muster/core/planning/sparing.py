"""A second look at all victims of a cycle: who was made superfluous by a later preemptor's victims may stay."""

from muster.core.cluster.capacity import Capacity, Footprint
from muster.core.footprint import footprint_of
from muster.core.gang import Choice
from muster.core.planning.desk import Desk, Promise
from muster.core.planning.placing import Seating, fits, place
from muster.core.planning.preemption import Preemption
from muster.core.planning.resizing import given_up
from muster.model.ids import JobId
from muster.model.limits import SPARING_TRIES
from muster.model.plan import Basis, Why


def spare_again(desk: Desk, preemption: Preemption) -> None:
    """Let victims stay whom a later preemptor's victims made superfluous, the dearest first."""
    told = [
        (eviction.lost_gpu_ms, job_id, eviction.for_job)
        for job_id, eviction in desk.evictions.items()
        if eviction.why in (Why.TIER, Why.RECLAIM, Why.TURN)
    ]
    told += [(0, job_id, resize.for_job) for job_id, resize in desk.resizes.items() if resize.for_job is not None]
    if len({for_job: None for _, _, for_job in told}) > 1:
        told.sort(key=lambda entry: (-entry[0], entry[1]))
        for _, job_id, for_job in told[:SPARING_TRIES]:
            promise = desk.promises.get(for_job)
            if promise is not None:
                _try_to_spare(desk, preemption, job_id, promise)


def _try_to_spare(desk: Desk, preemption: Preemption, victim: JobId, promise: Promise) -> None:
    """Seat a preemptor, and whoever else counts on a victim's GPUs, without that victim; or change nothing."""
    stays = _would_stay(desk, victim)
    nodes = {use.node: None for use in stays}
    beside = [
        other
        for other in desk.promises.values()
        if other is promise or (other.hold.made_ms == desk.now_ms and any(use.node in nodes for use in other.footprint))
    ]
    preemptors = [other for other in beside if _is_preemptors(desk, other)]
    scratch = preemption.departed()
    mark = scratch.mark()
    for other in beside:
        scratch.give(other.footprint)
    scratch.take(stays)
    seatings = _seat_all(desk, preemption, scratch, preemptors)
    scratch.rollback(mark)
    if len(seatings) < len(preemptors):
        return
    for other in beside:
        desk.retract(other.hold.job)
    desk.pardon(victim)
    preemption.forget_leavers()
    for other, (choice, seating) in zip(preemptors, seatings, strict=True):
        limit_ms = other.end_ms - other.hold.start_ms
        gone_ms = desk.gone_ms(seating.footprint)
        desk.promise(other.hold.job, other.team, other.tier, limit_ms, choice, seating, gone_ms, Basis.DEPARTURES)
    preemption.unpromised += [other.hold.job for other in beside if not _is_preemptors(desk, other)]


def _is_preemptors(desk: Desk, promise: Promise) -> bool:
    """True for a promise made to a preemptor: while nobody has left for it, it may still sit somewhere else."""
    return promise.hold.basis is Basis.DEPARTURES and promise.hold.job in desk.snapshot.queue.class_of


def _seat_all(
    desk: Desk, preemption: Preemption, scratch: Capacity, promises: list[Promise]
) -> list[tuple[Choice, Seating]]:
    """New seats for promised gangs one after another, as far as they can be found."""
    seated: list[tuple[Choice, Seating]] = []
    for promise in promises:
        found = _seat_somehow(desk, preemption, scratch, promise)
        if found is None:
            break
        scratch.take(found[1].footprint)
        seated.append(found)
    return seated


def _seat_somehow(
    desk: Desk, preemption: Preemption, scratch: Capacity, promise: Promise
) -> tuple[Choice, Seating] | None:
    group = desk.snapshot.queue.class_of[promise.hold.job]
    job = desk.snapshot.queue.jobs[promise.hold.job]
    widest = desk.widest(group.gang, job.spec, job.submitted_ms)
    for choice in dict.fromkeys((promise.choice, *group.gang.choices)):
        if fits(scratch, group.gang, choice, widest) and preemption.quota_allows(group, choice):
            seating = place(scratch, group.gang, choice, widest)
            if seating is not None:
                return choice, seating
    return None


def _would_stay(desk: Desk, victim: JobId) -> Footprint:
    """What a victim would go on using if it were spared."""
    resize = desk.resizes.get(victim)
    if resize is None:
        return desk.snapshot.footprints[victim]
    job = desk.snapshot.running[victim]
    return footprint_of(job.spec, given_up(job, resize.workers), desk.setting.tree)
