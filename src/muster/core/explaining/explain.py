"""Why a job waits: all reasons at once, what would change each, its place in the queue and when it may start.

Reasons are found with the same fit check that planning uses, on the post-plan state, each time with one obstacle taken
away. Jobs that are alike share the answer, so ten thousand jobs cost no more to explain than their classes.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from muster.core.cluster.gang import Gang
from muster.core.explaining.departing import Departing
from muster.core.explaining.earliest import EarliestStarts
from muster.core.explaining.forecast import StartForecast
from muster.core.explaining.in_line import AT_THE_NEXT_CHANGE, STRICT, WaitingLine
from muster.core.explaining.not_considered import not_considered
from muster.core.explaining.place_in_tier import PlacesInTier
from muster.core.explaining.post_plan import PostPlan
from muster.core.explaining.protection import Protections
from muster.core.explaining.quota_reasons import quota_reasons
from muster.core.explaining.wording import named, time_left
from muster.core.order.queueing import JobClass
from muster.core.order.tier_walk import TierWalk
from muster.core.snapshot import Snapshot
from muster.model.ids import GpuType, JobId, natural
from muster.model.job import WaitingJob
from muster.model.plan import Basis, Plan, Promise, Reason, ReasonCode
from muster.model.records import evolve
from muster.model.team import ANY_TYPE


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """Everything that can be said about one waiting job."""

    job: JobId
    position: int
    """Its place among all that wait, counted from 1: the job that starts first, as far as is known, has the first."""
    reasons: tuple[Reason, ...]
    p50_ms: int | None
    """It starts by then in half of all cases. None when that cannot be estimated."""
    p90_ms: int | None
    starts_if: tuple[str, ...] = ()
    """Changes of its size with which it would start now, as far as that was looked up."""


def explain_all(snapshot: Snapshot, plan: Plan, now_ms: int) -> tuple[Explanation, ...]:
    """Explain every job that the plan leaves waiting, the one that starts first in front.

    Jobs that may not be considered come last.
    """
    in_order = _in_order(snapshot, plan, now_ms)
    explainer = _Explainer(snapshot, plan, [job_id for _, job_id in in_order])
    forecast, earliest = StartForecast(snapshot, plan), _Earliest(snapshot, now_ms)
    considered: list[tuple[JobClass, Explanation]] = []
    for group, job_id in in_order:
        p50_ms, p90_ms = earliest.bound(group, *forecast.estimate(job_id, group.gang))
        reasons = explainer.reasons(snapshot.queue.jobs[job_id], group)
        told = Explanation(job=job_id, position=0, reasons=reasons, p50_ms=p50_ms, p90_ms=p90_ms)
        considered.append((group, told))
    found = _by_start(considered, plan)
    for job_id, job in sorted(snapshot.queue.jobs.items(), key=lambda entry: natural(entry[0])):
        if job_id not in snapshot.queue.class_of:
            p50_ms, p90_ms = _begins(snapshot, job, forecast, earliest, now_ms)
            told = Explanation(job=job_id, position=len(found) + 1, reasons=(), p50_ms=p50_ms, p90_ms=p90_ms)
            found.append(replace(told, reasons=not_considered(job, now_ms)))
    return tuple(found)


def _by_start(in_order: list[tuple[JobClass, Explanation]], plan: Plan) -> list[Explanation]:
    """Jobs with their places, by when they start at the latest.

    A job passes another that is in front of it by order if its promise is earlier: because it may preempt, because its
    GPUs come free first, or because quota stops only the other. Without a promise it passes only jobs that want other
    GPU types, since its estimate does not know what was promised to them.
    """
    promised = {promise.job: None for promise in plan.promises}
    late_ms: dict[GpuType, int] = {}
    keyed: list[tuple[int, int]] = []
    for number, (group, each) in enumerate(in_order):
        kinds = [kind for choice in group.gang.choices[:1] for kind, _ in choice.demand if kind != ANY_TYPE]
        key = each.p90_ms or 0
        if each.job not in promised:
            key = max([key, *(late_ms.get(kind, 0) for kind in kinds or late_ms)])
        for kind in kinds:
            late_ms[kind] = max(key, late_ms.get(kind, 0))
        keyed.append((key, number))
    return [replace(in_order[number][1], position=place) for place, (_, number) in enumerate(sorted(keyed), start=1)]


def place_at(explained: Explanation, others: Iterable[Explanation], likely_ms: int | None) -> int:
    """The place of a job that is likely to start at a time that was found out in another way than its own estimate.

    Jobs behind it that start earlier even if they are late go first.
    """
    if likely_ms is None:
        return explained.position
    behind = [each.p90_ms for each in others if each.position > explained.position and each.p90_ms is not None]
    return explained.position + sum(1 for late_ms in behind if late_ms < likely_ms)


def explain(job_id: JobId, snapshot: Snapshot, plan: Plan, now_ms: int) -> Explanation | None:
    """Explain one waiting job; None when the plan starts it or the job is unknown."""
    return next((each for each in explain_all(snapshot, plan, now_ms) if each.job == job_id), None)


def with_place(explained: Explanation, places: PlacesInTier | None) -> Explanation:
    """The same with what a job is told about its place. Only for a job that a user asks about, because it takes longer.

    Without `places`, for a job with a promise, and for one that a better place would not help, nothing is added.
    """
    is_placed = places is not None and not any(reason.code in _NOT_BY_PLACE for reason in explained.reasons)
    reason = places.reason(explained.job) if is_placed and places is not None else None
    return explained if reason is None else replace(explained, reasons=(*explained.reasons, reason))


_LACKS_ROOM = (ReasonCode.CAPACITY, ReasonCode.FRAGMENTED, ReasonCode.TOPOLOGY)

_NOT_BY_PLACE = (
    ReasonCode.QUOTA_LIMIT,
    ReasonCode.NEVER_FITS,
    ReasonCode.HELD,
    ReasonCode.DEPENDENCY,
    ReasonCode.BEGIN,
)


def _in_order(snapshot: Snapshot, plan: Plan, now_ms: int) -> list[tuple[JobClass, JobId]]:
    """The order in which jobs would be served if GPUs came free one gang at a time. Bands do not count."""
    started = {start.job: None for start in plan.starts}
    ledger = snapshot.ledger.fork()
    for start in plan.starts:
        group = snapshot.queue.class_of[start.job]
        ledger.charge(group.account, group.gang.choices[0].demand)
    order: list[tuple[JobClass, JobId]] = []
    for groups in _by_tier_and_band(snapshot):
        walk = TierWalk(groups, ledger, snapshot.setting.policy.weighs_teams, now_ms)
        while (following := walk.peek()) is not None:
            group, job_id = following
            if job_id not in started:
                order.append((group, job_id))
                if group.gang.choices:
                    ledger.charge(group.account, group.gang.choices[0].demand)
            walk.advance()
    return order


def _by_tier_and_band(snapshot: Snapshot) -> Iterator[list[JobClass]]:
    """The classes that compete with one another, in the order in which a cycle decides them."""
    for tier in range(len(snapshot.setting.tiers)):
        groups = snapshot.queue.of_tier(tier)
        for band in sorted({group.band for group in groups}):
            yield [group for group in groups if group.band == band]


def _begins(
    snapshot: Snapshot, job: WaitingJob, forecast: StartForecast, earliest: "_Earliest", now_ms: int
) -> tuple[int | None, int | None]:
    """When a job starts for which only its time has to come. Nobody knows when others release a job, or end."""
    if not job.early or job.held or job.unmet or job.awaits_turn:
        return None, None
    gang, limit_ms = snapshot.queue.gang(job)[1], snapshot.setting.limit_ms(job.spec)
    begins_ms = max(job.spec.begin.begins_ms(job.submitted_ms), now_ms)
    return forecast.early(gang, earliest.start_ms(gang, limit_ms, begins_ms))


class _Earliest:
    """Keeps forecasts from times at which reservations forbid a start. Found once for jobs that are alike."""

    def __init__(self, snapshot: Snapshot, now_ms: int) -> None:
        self._has_windows = bool(snapshot.setting.windows)
        self._earliest = EarliestStarts(snapshot)
        self.start_ms = self._earliest.start_ms
        self._now_ms = now_ms
        self._known: dict[tuple[int, int], int] = {}

    def bound(self, group: JobClass, p50_ms: int | None, p90_ms: int | None) -> tuple[int | None, int | None]:
        if not self._has_windows:
            return p50_ms, p90_ms
        key = (group.gang_number, group.limit_ms)
        if key not in self._known:
            self._known[key] = self._earliest.start_ms(group.gang, group.limit_ms, self._now_ms)
        first_ms = self._known[key]
        return (None if p50_ms is None else max(p50_ms, first_ms)), (None if p90_ms is None else max(p90_ms, first_ms))


class _Explainer:
    """Finds reasons, once for all jobs that are alike."""

    def __init__(self, snapshot: Snapshot, plan: Plan, in_order: list[JobId]) -> None:
        self._post_plan = PostPlan(snapshot, plan)
        self._now_ms = plan.now_ms
        self._promises: dict[JobId, Promise] = {promise.job: promise for promise in plan.promises}
        self._line = WaitingLine(self._post_plan.draft, in_order)
        self._protections = Protections(self._post_plan.draft)
        self._departing = Departing(self._post_plan.draft)
        self._gangs: dict[int, Gang] = {}
        self._by_class: dict[tuple[int, bool], tuple[Reason, ...]] = {}
        self._by_gang: dict[tuple[object, ...], tuple[Reason, ...]] = {}

    def reasons(self, job: WaitingJob, group: JobClass) -> tuple[Reason, ...]:
        """All reasons why a job of this class waits."""
        promise = self._promises.get(job.id)
        if promise is not None:
            return self._promised_reasons(job, group, promise)
        relaxed = self._is_relaxed(job)
        key = (group.order, relaxed)
        known = self._by_class.get(key)
        if known is None:
            fit = self._fit_reasons(group, job, relaxed=relaxed)
            known = self._by_class[key] = (
                *quota_reasons(group, self._gang(group), self._post_plan.ledger),
                *(_addressed(reason, job) for reason in fit),
                *self._protected(group, fit, relaxed=relaxed),
            )
        in_line = self._line.reasons(job.id, group, self._gang(group))
        if any(reason.rule == STRICT for reason in in_line):
            # A shorter job would not help it.
            known = tuple(reason for reason in known if reason.code is not ReasonCode.HELD_BY_OTHERS)
        told = (*known, *in_line)
        if all(reason.code is ReasonCode.QUOTA_BORROW for reason in told):
            return (*told, AT_THE_NEXT_CHANGE)
        return told

    def _protected(
        self, group: JobClass, fit: tuple[Reason, ...], *, relaxed: bool, promise: Promise | None = None
    ) -> tuple[Reason, ...]:
        """What protects running jobs whose place the class could take, if it lacks room at all."""
        if not any(reason.code in _LACKS_ROOM for reason in fit):
            return ()
        level = group.gang.widest if relaxed else group.gang.prefer
        if promise is None:
            return self._protections.reasons(group, level)
        return self._protections.reasons(group, level, self._post_plan.promised(promise.job), promise.start_ms)

    def _gang(self, group: JobClass) -> Gang:
        """The gang of a class, without the choices that could never run here."""
        known = self._gangs.get(group.gang_number)
        if known is None:
            known = self._gangs[group.gang_number] = self._post_plan.possible(group.gang)
        return known

    def _is_relaxed(self, job: WaitingJob) -> bool:
        return self._now_ms >= job.spec.topology.relaxes_ms(job.submitted_ms)

    def _promised_reasons(self, job: WaitingJob, group: JobClass, promise: Promise) -> tuple[Reason, ...]:
        quota = quota_reasons(group, self._gang(group), self._post_plan.ledger)
        if promise.basis is Basis.DEPARTURES:
            leaving = self._departing.reason(promise)
            if leaving is not None:
                return (*quota, leaving)
        relaxed = self._is_relaxed(job)
        level = group.gang.widest if relaxed else group.gang.prefer
        end_ms = self._now_ms + group.limit_ms
        gang = self._line.within_quota(group, self._gang(group))
        fit = self._post_plan.why_not_yet(promise, gang, job.spec, level, end_ms)
        guarded = self._protected(group, fit, relaxed=relaxed, promise=promise)
        told = (*quota, *(_addressed(reason, job) for reason in fit), *guarded)
        if all(reason.code is ReasonCode.QUOTA_BORROW for reason in told):
            return (*told, self._promised(promise))
        return told

    def _fit_reasons(self, group: JobClass, job: WaitingJob, *, relaxed: bool) -> tuple[Reason, ...]:
        gang = self._line.within_quota(group, self._gang(group))
        key = (group.gang_number, group.limit_ms, relaxed, gang.choices)
        known = self._by_gang.get(key)
        if known is None:
            level = gang.widest if relaxed else gang.prefer
            end_ms = self._now_ms + group.limit_ms
            known = self._by_gang[key] = self._post_plan.why_not(gang, job.spec, level, end_ms)
        return known

    def _promised(self, promise: Promise) -> Reason:
        return Reason(
            code=ReasonCode.CAPACITY,
            message=f"its GPUs on {named(promise.nodes)} are still in use",
            would_help=f"nothing needed: it starts there in {time_left(promise.start_ms - self._now_ms)} at the latest",
            until_ms=promise.start_ms,
        )


def _addressed(reason: Reason, job: WaitingJob) -> Reason:
    """A reason found for a gang, completed for one job that wants it: pools admit tiers and teams."""
    if reason.code is not ReasonCode.POOL:
        return reason
    return evolve(reason, message=f"{reason.message} tier {job.spec.tier} of team {job.spec.team}")
