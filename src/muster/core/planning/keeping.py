"""What was promised before: kept, started when its time or its luck has come, or given up with a reason."""

from collections.abc import Sequence
from typing import NamedTuple

from muster.core.cluster.capacity import Footprint
from muster.core.gang import Choice, Gang, running_gang
from muster.core.planning.desk import Desk
from muster.core.planning.placing import Seating, fits, place
from muster.core.planning.promises import is_free_for, still_holds
from muster.core.planning.victims import victim_of
from muster.core.quota import Ledger
from muster.model.ids import JobId, NodeName, natural
from muster.model.job import RunningJob, WaitingJob
from muster.model.limits import OVERDUE_MARGIN_MS
from muster.model.plan import Eviction, Hold, Why
from muster.model.records import changed


class Kept(NamedTuple):
    """A promise of an earlier cycle with what it was made for."""

    hold: Hold
    job: WaitingJob | RunningJob
    gang: Gang
    choice: Choice
    footprint: Footprint


def promises_by_tier(desk: Desk) -> dict[int, list[Hold]]:
    """What was promised before to jobs that still wait for it, oldest promise first."""
    found: dict[int, list[Hold]] = {}
    for hold in sorted(desk.snapshot.holds.values(), key=_oldest_first):
        job = _holder(desk, hold.job)
        if job is not None:
            found.setdefault(desk.setting.tier_rank[job.spec.tier], []).append(hold)
    return found


def _oldest_first(hold: Hold) -> tuple[int, int, str]:
    return hold.made_ms, hold.start_ms, natural(hold.job)


def keep_guaranteed(desk: Desk, promised: dict[int, list[Hold]]) -> tuple[dict[int, list[Kept]], dict[JobId, str]]:
    """Let the promises stand that are inside a guarantee, before any tier is decided, and take them off the lists.

    A job of a higher tier may move a promise. It may not when the promise is what a team is guaranteed: otherwise
    whoever sends one urgent job after another would keep the team from ever getting back what it is owed.
    """
    kept: dict[int, list[Kept]] = {}
    broken: dict[JobId, str] = {}
    queue, tiers = desk.snapshot.queue, range(len(desk.setting.tiers))
    most_urgent = next((tier for tier in tiers if queue.of_tier(tier)), len(tiers))
    ledger = desk.projected.fork()
    for tier in sorted(promised) if _guarantees_count(desk) else ():
        owed = [hold for hold in promised[tier] if tier > most_urgent and _is_owed(desk, ledger, hold)]
        promised[tier] = [hold for hold in promised[tier] if hold not in owed]
        kept[tier], lost = _keep(desk, tier, owed)
        broken |= lost
        # Now, so that whoever is decided before its tier counts on it from this moment on.
        _postpone_overdue(desk, kept[tier])
    return kept, broken


def _guarantees_count(desk: Desk) -> bool:
    """True where a team can get its guarantee back by having others leave, and something may pass a blocked job."""
    return desk.policy.preemption and desk.policy.backfill and desk.projected.guarantees_anything


def _is_owed(desk: Desk, ledger: Ledger, hold: Hold) -> bool:
    """True when a team would be inside its guarantee with this promise and those counted before; counts it then."""
    job = _holder(desk, hold.job)
    entry = _entry(desk, hold, job) if isinstance(job, WaitingJob) else None
    if entry is None:
        return False
    team, demand = entry.job.spec.team, entry.choice.demand
    is_owed = any(ledger.within_guarantee(each, demand) for each in ledger.chain(team))
    if is_owed:
        ledger.charge(team, demand)
    return is_owed


def keep_promises(desk: Desk, tier: int, promised: list[Hold], kept: Sequence[Kept] = ()) -> dict[JobId, str]:
    """Let every promise of a tier stand that can, and start those, and those that are `kept` already, that can start.

    Returns the promises that cannot be kept, with the reason their jobs are told.
    """
    standing, broken = _keep(desk, tier, promised)
    _start_promised(desk, [*kept, *standing])
    _postpone_overdue(desk, [*kept, *standing])
    return broken


def _keep(desk: Desk, tier: int, promised: list[Hold]) -> tuple[list[Kept], dict[JobId, str]]:
    broken: dict[JobId, str] = {}
    kept: list[Kept] = []
    for hold in promised:
        job = _holder(desk, hold.job)
        entry = None if job is None else _entry(desk, hold, job)
        if entry is None:
            broken[hold.job] = "a node it was promised is gone"
            continue
        lasting = _lasting(desk, entry)
        if lasting is None:
            broken[hold.job] = _why_broken(desk, hold)
            continue
        kept.append(lasting)
        spec = entry.job.spec
        desk.keep(lasting.hold, spec.team, tier, desk.setting.limit_ms(spec), lasting.choice, lasting.footprint)
    return kept, broken


def _holder(desk: Desk, job_id: JobId) -> WaitingJob | RunningJob | None:
    """The job a promise was made to: one that waits, or one that is being moved and has not left yet."""
    waiting = desk.snapshot.queue.jobs.get(job_id)
    if waiting is not None:
        return waiting if job_id in desk.snapshot.queue.class_of else None
    running = desk.snapshot.running.get(job_id)
    return running if running is not None and running.leaving_by_ms is not None else None


def _entry(desk: Desk, hold: Hold, job: WaitingJob | RunningJob) -> Kept | None:
    """The promise with its gang; None when a node of it no longer exists or no longer suits the job."""
    gang = running_gang(job, desk.setting) if isinstance(job, RunningJob) else desk.snapshot.queue.class_of[job.id].gang
    footprint = desk.snapshot.held(hold, job.spec)
    choices = gang.choices_on(hold.workers, desk.setting.tree) if footprint is not None else []
    if footprint is None or not choices:
        return None
    return Kept(hold, job, gang, choices[0], footprint)


def _lasting(desk: Desk, entry: Kept) -> Kept | None:
    """The promise as it can be kept: unchanged, or a moment later when somebody outstays his time on its GPUs."""
    spec = entry.job.spec
    limit_ms = desk.setting.limit_ms(spec)
    for start_ms in (entry.hold.start_ms, _soon(desk, entry)):
        hold = entry.hold if start_ms == entry.hold.start_ms else _moved(entry.hold, start_ms)
        end_ms = max(start_ms, desk.now_ms) + limit_ms
        if still_holds(desk, hold, entry.footprint, entry.choice, spec.team, end_ms):
            if start_ms != entry.hold.start_ms:
                _send_away_overdue(desk, entry)
            return entry._replace(hold=hold)
        if entry.hold.start_ms > desk.now_ms + OVERDUE_MARGIN_MS:
            return None
    return None


def _soon(desk: Desk, entry: Kept) -> int:
    """When everybody who should be gone from the promised GPUs will be."""
    overdue_ms = [
        desk.end_ms(desk.snapshot.running[job_id])
        for use in entry.footprint
        for job_id, _ in desk.snapshot.uses_on(use.node)
        if _is_overdue(desk, desk.snapshot.running[job_id])
    ]
    return max(overdue_ms, default=desk.now_ms + OVERDUE_MARGIN_MS)


def _is_overdue(desk: Desk, job: RunningJob) -> bool:
    """True when a job has outstayed its limit, or its grace period."""
    if job.leaving_by_ms is not None:
        return True
    return job.started_ms + desk.setting.limit_ms(job.spec) <= desk.now_ms


def _moved(hold: Hold, start_ms: int) -> Hold:
    return changed(hold, start_ms=start_ms, moved_because="a job outstays its time on the promised GPUs")


def _send_away_overdue(desk: Desk, entry: Kept) -> None:
    """Tell jobs past their maximum duration to leave the promised GPUs."""
    for use in entry.footprint:
        promised = dict(use.devices)
        for job_id, other in desk.snapshot.uses_on(use.node):
            if promised and not any(device in promised for device, _ in other.devices):
                continue
            job = desk.snapshot.running[job_id]
            if job.leaving_by_ms is None and job_id not in desk.evictions and _is_overdue(desk, job):
                lost = victim_of(desk, job, Why.HOLD).lost_gpu_ms
                desk.evict(Eviction(job=job_id, for_job=entry.hold.job, why=Why.HOLD, lost_gpu_ms=lost))


def _why_broken(desk: Desk, hold: Hold) -> str:
    lost = [node for node in hold.nodes if not _takes_work(desk, node)]
    if lost:
        return f"node {lost[0]} no longer takes work"
    return "a more urgent job, an older promise or a changed quota needs what it was promised"


def _takes_work(desk: Desk, name: NodeName) -> bool:
    tree = desk.setting.tree
    return tree.nodes[tree.index_of[name]].state.takes_work


def _start_promised(desk: Desk, kept: list[Kept]) -> None:
    """Start every promised gang that can start now: on its own GPUs if they are free, or anywhere it fits."""
    hopeless: dict[int, bool] = {}
    for entry in kept:
        job = entry.job
        if not isinstance(job, WaitingJob) or desk.ledger.breach(job.spec.team, entry.choice.demand) is not None:
            continue
        own_free = desk.free.holds(entry.footprint)
        number = desk.snapshot.queue.class_of[job.id].gang_number
        if not own_free:
            if number not in hopeless:
                hopeless[number] = not any(
                    fits(desk.free, entry.gang, choice, entry.gang.widest) for choice in entry.gang.choices
                )
            if hopeless[number]:
                continue
        _start_if_possible(desk, entry, job)


def _start_if_possible(desk: Desk, entry: Kept, job: WaitingJob) -> None:
    """Start a promised gang without getting in anybody else's way: its own promise is in nobody's."""
    end_ms = desk.now_ms + desk.setting.limit_ms(job.spec)
    widest = desk.widest(entry.gang, job.spec, job.submitted_ms)
    found: tuple[Choice, Seating] | None
    if (
        desk.free.holds(entry.footprint)
        and is_free_for(desk, job.id, entry.footprint, desk.now_ms, end_ms)
        and desk.setting.tree.are_together(widest, [use.node for use in entry.footprint])
    ):
        found = entry.choice, Seating(entry.hold.workers, entry.footprint)
    else:
        found = _elsewhere(desk, entry, widest, end_ms)
    if found is None:
        return
    choice, seating = found
    promise = desk.retract(job.id)
    if desk.quota_refusal(job.spec.team, choice, end_ms) is None:
        desk.begin(job, entry.gang, choice, seating)
    else:
        desk.restore(promise)


def _elsewhere(desk: Desk, entry: Kept, widest: int, end_ms: int) -> tuple[Choice, Seating] | None:
    """Any seats for the gang, those of its own promise among them; where that was put off, also on other GPUs."""
    put_off = entry.hold.moved_because or entry.hold.start_ms < desk.now_ms
    ways = dict.fromkeys((entry.choice, *entry.gang.choices)) if put_off else (entry.choice,)
    capacity = desk.horizons.until(end_ms)
    mark = capacity.mark()
    if desk.horizons.reserves(entry.hold.start_ms, end_ms):
        capacity.give(entry.footprint)
    seatings = [(choice, place(capacity, entry.gang, choice, widest)) for choice in ways]
    capacity.rollback(mark)
    return next(((choice, seating) for choice, seating in seatings if seating is not None), None)


def _postpone_overdue(desk: Desk, kept: list[Kept]) -> None:
    """A promise whose time has come and that cannot start stands as due now, and is tried again at every change."""
    for entry in kept:
        promise = desk.promises.get(entry.hold.job)
        if promise is not None and promise.hold.start_ms < desk.now_ms:
            desk.retract(entry.hold.job)
            hold = changed(promise.hold, start_ms=desk.now_ms, moved_because="it could not start at its time")
            limit_ms = desk.setting.limit_ms(entry.job.spec)
            desk.keep(hold, promise.team, promise.tier, limit_ms, promise.choice, promise.footprint)
