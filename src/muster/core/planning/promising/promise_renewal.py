"""What was promised before: renewed, started at its time or as soon as it can, or broken with a reason."""

from collections.abc import Sequence
from typing import NamedTuple

from muster.core.cluster.gang import Choice, Gang, running_gang
from muster.core.cluster.node_use import Footprint
from muster.core.order.quota import account_of
from muster.core.planning.draft import PlanDraft
from muster.core.planning.placing.placement import Seating, fits, place
from muster.core.planning.promising.promises import is_free_for, still_holds
from muster.model.ids import JobId, natural
from muster.model.job import RunningJob, WaitingJob
from muster.model.limits import OVERDUE_MARGIN_MS
from muster.model.plan import Basis, Promise, Why
from muster.model.records import evolve

OUTSTAYED = "a job outstays its time on the promised GPUs"
"""Why a promise moves to when that job is gone."""


class Renewed(NamedTuple):
    """A promise of an earlier cycle with what it was made for."""

    terms: Promise
    job: WaitingJob | RunningJob
    gang: Gang
    choice: Choice
    footprint: Footprint


def promises_by_tier(draft: PlanDraft) -> dict[int, list[Promise]]:
    """What was promised before to jobs that still wait for it, oldest promise first."""
    found: dict[int, list[Promise]] = {}
    for terms in sorted(draft.snapshot.promises.values(), key=_oldest_first):
        job = _holder(draft, terms.job)
        if job is not None:
            found.setdefault(draft.setting.tier_rank[job.spec.tier], []).append(terms)
    return found


def _oldest_first(terms: Promise) -> tuple[int, int, str]:
    return terms.made_ms, terms.start_ms, natural(terms.job)


def renew_guaranteed(
    draft: PlanDraft, promised: dict[int, list[Promise]]
) -> tuple[dict[int, list[Renewed]], dict[JobId, str]]:
    """Renew the promises that are inside a guarantee, before any tier is decided, and take them off the lists.

    A job of a higher tier may move a promise, but not one that is inside a team's guarantee. Otherwise a user who sends
    one urgent job after another would keep the team from ever getting back what it is guaranteed. So this is done only
    for tiers below the most urgent one in which a job waits.
    """
    kept: dict[int, list[Renewed]] = {}
    broken: dict[JobId, str] = {}
    if not promised or not _guarantees_count(draft):
        return kept, broken
    queue, tiers = draft.snapshot.queue, range(len(draft.setting.tiers))
    most_urgent = next((tier for tier in tiers if queue.of_tier(tier)), len(tiers))
    owed = _owed(draft, [terms for tier in sorted(promised) if tier > most_urgent for terms in promised[tier]])
    for tier in sorted(promised):
        mine = [terms for terms in promised[tier] if terms.job in owed]
        promised[tier] = [terms for terms in promised[tier] if terms.job not in owed]
        kept[tier], lost = _keep(draft, mine)
        broken |= lost
        # Now, so that tiers which are decided before this one see the promise as due from now on.
        _postpone_overdue(draft, kept[tier])
    return kept, broken


def start_guaranteed(draft: PlanDraft, kept: dict[int, list[Renewed]]) -> None:
    """Start what can start of the promises that are inside a guarantee, before jobs without a promise are decided.

    Urgent jobs that are too short to be told to leave could take what comes free again and again.
    """
    for tier in sorted(kept):
        _start_promised(draft, kept[tier])


def _guarantees_count(draft: PlanDraft) -> bool:
    """True when a team has a guarantee and can get it back by preemption, and the policy has backfill."""
    return draft.policy.preemption and draft.policy.backfill and draft.projected.guarantees_anything


def _owed(draft: PlanDraft, promised: list[Promise]) -> dict[JobId, None]:
    """The jobs with whose promises their teams would be inside their guarantees, all of them together.

    Promises for which jobs were told to leave count first: otherwise they would leave in vain, again and again.
    """
    ledger, owed = draft.projected.fork(), dict[JobId, None]()
    for terms in sorted(promised, key=lambda terms: terms.basis is not Basis.DEPARTURES):
        job = _holder(draft, terms.job)
        entry = _entry(draft, terms, job) if isinstance(job, WaitingJob) else None
        if entry is not None:
            account, demand = account_of(entry.job), entry.choice.demand
            if any(ledger.within_guarantee(each, demand) for each in ledger.chain(account)):
                ledger.charge(account, demand)
                owed[terms.job] = None
    return owed


def renew_promises(draft: PlanDraft, promised: list[Promise], kept: Sequence[Renewed] = ()) -> dict[JobId, str]:
    """Renew the promises of a tier where possible, and start what can start of these and of `kept`.

    Returns the promises that cannot be renewed, with the reason that their jobs are told.
    """
    standing, broken = _keep(draft, promised)
    _start_promised(draft, [*kept, *standing])
    _postpone_overdue(draft, [*kept, *standing])
    return broken


def _keep(draft: PlanDraft, promised: list[Promise]) -> tuple[list[Renewed], dict[JobId, str]]:
    broken: dict[JobId, str] = {}
    kept: list[Renewed] = []
    for terms in promised:
        job = _holder(draft, terms.job)
        entry = None if job is None else _entry(draft, terms, job)
        if entry is None:
            broken[terms.job] = "a node it was promised is gone"
            continue
        lasting = _lasting(draft, entry)
        if lasting is None:
            broken[terms.job] = _why_broken(draft, terms)
            continue
        kept.append(lasting)
        draft.keep(lasting.terms, entry.job, lasting.choice, lasting.footprint)
    return kept, broken


def _holder(draft: PlanDraft, job_id: JobId) -> WaitingJob | RunningJob | None:
    """The job a promise was made to: one that waits, or one that is being moved and has not left yet."""
    waiting = draft.snapshot.queue.jobs.get(job_id)
    if waiting is not None:
        return waiting if job_id in draft.snapshot.queue.class_of else None
    running = draft.snapshot.running.get(job_id)
    return running if running is not None and running.leaving_by_ms is not None else None


def _entry(draft: PlanDraft, terms: Promise, job: WaitingJob | RunningJob) -> Renewed | None:
    """The promise with its gang; None when a node of it no longer exists or no longer suits the job."""
    gang = (
        running_gang(job, draft.setting) if isinstance(job, RunningJob) else draft.snapshot.queue.class_of[job.id].gang
    )
    footprint = draft.snapshot.promised_footprint(terms, job)
    choices = gang.choices_on(terms.workers, draft.setting.tree) if footprint is not None else []
    if footprint is None or not choices:
        return None
    return Renewed(terms, job, gang, choices[0], footprint)


def _lasting(draft: PlanDraft, entry: Renewed) -> Renewed | None:
    """The promise as it can be renewed: unchanged, or a moment later when a job outstays its time on its GPUs."""
    spec = entry.job.spec
    limit_ms = draft.setting.limit_ms(spec)
    for start_ms in (entry.terms.start_ms, _soon(draft, entry)):
        is_moved = start_ms != entry.terms.start_ms
        terms = evolve(entry.terms, start_ms=start_ms, moved_because=OUTSTAYED) if is_moved else entry.terms
        end_ms = max(start_ms, draft.now_ms) + limit_ms
        if still_holds(draft, terms, entry.footprint, entry.choice, account_of(entry.job), end_ms):
            if is_moved:
                _send_away_overdue(draft, entry)
            return entry._replace(terms=terms)
        if entry.terms.start_ms > draft.now_ms + OVERDUE_MARGIN_MS:
            return None
    return None


def _soon(draft: PlanDraft, entry: Renewed) -> int:
    """When all overdue or leaving jobs will be gone from the promised nodes, once they are told to leave."""
    running = draft.snapshot.running
    jobs = [running[job_id] for use in entry.footprint for job_id, _ in draft.snapshot.uses_on(use.node)]
    gone_ms = [_gone_ms(draft, job) for job in jobs if _is_overdue(draft, job)]
    return max(gone_ms, default=draft.now_ms + OVERDUE_MARGIN_MS)


def _gone_ms(draft: PlanDraft, job: RunningJob) -> int:
    """When a job that is overdue or leaves is gone: one that was not told yet will have its whole grace period."""
    is_told = job.leaving_by_ms is not None or job.id in draft.leaving
    grace_ms = 0 if is_told else draft.setting.grace_ms(job.spec)
    return max(draft.end_ms(job), draft.now_ms + grace_ms)


def _is_overdue(draft: PlanDraft, job: RunningJob) -> bool:
    """True when a job has outstayed its limit, or was told to leave."""
    if job.leaving_by_ms is not None:
        return True
    return job.started_ms + draft.setting.limit_ms(job.spec) <= draft.now_ms


def _send_away_overdue(draft: PlanDraft, entry: Renewed) -> None:
    """Tell jobs past their maximum duration to leave the promised GPUs."""
    for use in entry.footprint:
        promised = dict(use.devices)
        for job_id, other in draft.snapshot.uses_on(use.node):
            if promised and not any(device in promised for device, _ in other.devices):
                continue
            job = draft.snapshot.running[job_id]
            if job.leaving_by_ms is None and job_id not in draft.evictions and _is_overdue(draft, job):
                draft.evict(job, entry.terms.job, Why.PROMISE)


def _why_broken(draft: PlanDraft, terms: Promise) -> str:
    tree = draft.setting.tree
    lost = [name for name in terms.nodes if not tree.nodes[tree.index_of[name]].state.takes_work]
    if lost:
        return f"node {lost[0]} no longer takes work"
    return "a more urgent job, an older promise or a changed quota needs what it was promised"


def _start_promised(draft: PlanDraft, kept: list[Renewed]) -> None:
    """Start every promised gang that can start now: on its own GPUs if they are free, or anywhere it fits."""
    hopeless: dict[int, bool] = {}
    for entry in kept:
        job = entry.job
        if not isinstance(job, WaitingJob) or job.id in draft.begun:
            continue
        if draft.ledger.breach(account_of(job), entry.choice.demand) is not None:
            continue
        own_free = draft.free.holds(entry.footprint)
        number = draft.snapshot.queue.class_of[job.id].gang_number
        if not own_free:
            if number not in hopeless:
                hopeless[number] = not any(
                    fits(draft.free, entry.gang, choice, entry.gang.widest) for choice in entry.gang.choices
                )
            if hopeless[number]:
                continue
        _start_if_possible(draft, entry, job)


def _start_if_possible(draft: PlanDraft, entry: Renewed, job: WaitingJob) -> None:
    """Start a promised gang unless it gets in the way of another promise. Its own promise does not count."""
    end_ms = draft.now_ms + draft.setting.limit_ms(job.spec)
    widest = draft.widest(entry.gang, job)
    found: tuple[Choice, Seating] | None
    if (
        draft.free.holds(entry.footprint)
        and is_free_for(draft, job.id, entry.footprint, draft.now_ms, end_ms)
        and draft.setting.tree.are_together(widest, [use.node for use in entry.footprint])
    ):
        found = entry.choice, Seating(entry.terms.workers, entry.footprint)
    else:
        found = _elsewhere(draft, entry, widest, end_ms)
    if found is None:
        return
    choice, seating = found
    promise = draft.retract(job.id)
    if draft.quota_refusal(account_of(job), choice, end_ms) is None:
        draft.begin(job, entry.gang, choice, seating)
    else:
        draft.restore(promise)


def _elsewhere(draft: PlanDraft, entry: Renewed, widest: int, end_ms: int) -> tuple[Choice, Seating] | None:
    """Any seats for the gang, including those of its own promise. If that was put off, also with another choice."""
    put_off = entry.terms.moved_because or entry.terms.start_ms < draft.now_ms
    ways = dict.fromkeys((entry.choice, *entry.gang.choices)) if put_off else (entry.choice,)
    capacity = draft.horizons.until(end_ms)
    mark = capacity.mark()
    if draft.horizons.reserves(entry.terms.start_ms, end_ms):
        capacity.give(entry.footprint)
    seatings = [(choice, place(capacity, entry.gang, choice, widest)) for choice in ways]
    capacity.rollback(mark)
    return next(((choice, seating) for choice, seating in seatings if seating is not None), None)


def _postpone_overdue(draft: PlanDraft, kept: list[Renewed]) -> None:
    """Make promises that could not start at their time due now. They are tried again at every change."""
    for entry in kept:
        promise = draft.promises.get(entry.terms.job)
        if promise is not None and promise.terms.start_ms < draft.now_ms:
            draft.retract(entry.terms.job)
            terms = evolve(promise.terms, start_ms=draft.now_ms, moved_because="it could not start at its time")
            draft.keep(terms, entry.job, promise.choice, promise.footprint)
