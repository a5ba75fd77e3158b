"""Why a job waits: all reasons at once, what would change each, its place in the queue and when it may start.

Reasons are found with the same fit check that planning uses, on the post-plan state, each time with one obstacle taken
away. Jobs that are alike share the answer, so ten thousand jobs cost no more to explain than their classes.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from muster.core.explaining.forecast import StartForecast
from muster.core.explaining.not_considered import not_considered
from muster.core.explaining.place_in_tier import PlacesInTier
from muster.core.explaining.post_plan import PostPlan
from muster.core.order.queueing import JobClass
from muster.core.order.quota import Breach
from muster.core.order.tier_walk import TierWalk
from muster.core.snapshot import Snapshot
from muster.model.ids import JobId, natural
from muster.model.job import WaitingJob
from muster.model.plan import Plan, Promise, Reason, ReasonCode
from muster.model.records import evolve
from muster.model.resources import gpus_text
from muster.model.team import ANY_TYPE


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """Everything that can be said about one waiting job."""

    job: JobId
    position: int
    """Its place in the queue, counted from 1 over all tiers."""
    reasons: tuple[Reason, ...]
    p50_ms: int | None
    """It starts by then in half of all cases. None when that cannot be estimated."""
    p90_ms: int | None


def explain_all(snapshot: Snapshot, plan: Plan, now_ms: int) -> tuple[Explanation, ...]:
    """Explain every job that the plan leaves waiting, in queue order; jobs that may not be considered come last."""
    explainer = _Explainer(snapshot, plan, now_ms)
    forecast = StartForecast(snapshot, plan)
    found: list[Explanation] = []
    for group, job_id in _in_order(snapshot, plan, now_ms):
        p50_ms, p90_ms = forecast.estimate(job_id, group.gang)
        reasons = explainer.reasons(snapshot.queue.jobs[job_id], group)
        found.append(Explanation(job=job_id, position=len(found) + 1, reasons=reasons, p50_ms=p50_ms, p90_ms=p90_ms))
    for job_id, job in sorted(snapshot.queue.jobs.items(), key=lambda entry: natural(entry[0])):
        if job.held or job.unmet:
            found.append(
                Explanation(job=job_id, position=len(found) + 1, reasons=not_considered(job), p50_ms=None, p90_ms=None)
            )
    return tuple(found)


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


_NOT_BY_PLACE = (ReasonCode.QUOTA_LIMIT, ReasonCode.NEVER_FITS, ReasonCode.HELD, ReasonCode.DEPENDENCY)


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


class _Explainer:
    """Finds reasons, once for all jobs that are alike."""

    def __init__(self, snapshot: Snapshot, plan: Plan, now_ms: int) -> None:
        self._post_plan = PostPlan(snapshot, plan)
        self._snapshot = snapshot
        self._now_ms = now_ms
        self._promises: dict[JobId, Promise] = {promise.job: promise for promise in plan.promises}
        self._blockers = {
            job_id: blocked.detail
            for blocked in plan.blocked
            if blocked.code is ReasonCode.HELD_BY_OTHERS
            for job_id in blocked.jobs
        }
        self._by_class: dict[tuple[int, bool], tuple[Reason, ...]] = {}
        self._by_gang: dict[tuple[int, int, bool], tuple[Reason, ...]] = {}

    def reasons(self, job: WaitingJob, group: JobClass) -> tuple[Reason, ...]:
        """All reasons why a job of this class waits."""
        promise = self._promises.get(job.id)
        if promise is not None:
            return self._promised_reasons(job, group, promise)
        relaxed = self._is_relaxed(job)
        key = (group.order, relaxed)
        known = self._by_class.get(key)
        if known is None:
            known = self._by_class[key] = (
                *self._quota_reasons(group),
                *(_addressed(reason, job) for reason in self._fit_reasons(group, job, relaxed=relaxed)),
            )
        if all(reason.code is ReasonCode.QUOTA_BORROW for reason in known):
            return (*known, self._behind(job))
        return known

    def _is_relaxed(self, job: WaitingJob) -> bool:
        return self._now_ms >= job.spec.topology.relaxes_ms(job.submitted_ms)

    def _promised_reasons(self, job: WaitingJob, group: JobClass, promise: Promise) -> tuple[Reason, ...]:
        level = group.gang.widest if self._is_relaxed(job) else group.gang.prefer
        end_ms = self._now_ms + group.limit_ms
        fit = self._post_plan.why_not_yet(promise, group.gang, job.spec, level, end_ms)
        return (*self._quota_reasons(group), *(_addressed(reason, job) for reason in fit)) or (self._promised(promise),)

    def _fit_reasons(self, group: JobClass, job: WaitingJob, *, relaxed: bool) -> tuple[Reason, ...]:
        key = (group.gang_number, group.limit_ms, relaxed)
        known = self._by_gang.get(key)
        if known is None:
            level = group.gang.widest if relaxed else group.gang.prefer
            end_ms = self._now_ms + group.limit_ms
            known = self._by_gang[key] = self._post_plan.why_not(group.gang, job.spec, level, end_ms)
        return known

    def _quota_reasons(self, group: JobClass) -> tuple[Reason, ...]:
        """Limits that stop the class on every type it accepts, or borrowing when its team has used up its guarantee."""
        ledger = self._post_plan.ledger
        breaches = [ledger.breach(group.account, choice.demand) for choice in group.gang.choices]
        found = [breach for breach in breaches if breach is not None]
        if found and len(found) == len(breaches):
            return tuple(dict.fromkeys(_limit_reason(breach) for breach in found))
        guaranteed = ledger.guaranteed_above(group.team)
        if guaranteed and not any(
            ledger.within_guarantee(team, choice.demand) for team in guaranteed for choice in group.gang.choices
        ):
            return (_borrow_reason(guaranteed[0]),)
        return ()

    def _promised(self, promise: Promise) -> Reason:
        minutes = -(-(promise.start_ms - self._now_ms) // 60_000)
        more = len(promise.nodes) - 1
        where = promise.nodes[0] + (f" and {more} more node{'s' if more > 1 else ''}" if more else "")
        return Reason(
            code=ReasonCode.CAPACITY,
            message=f"its GPUs on {where} are still in use",
            would_help=f"nothing needed: it starts there in {minutes} min at the latest",
        )

    def _behind(self, job: WaitingJob) -> Reason:
        """The reason left when the gang would fit: a job in front of it must not be delayed."""
        ahead = self._blockers.get(job.id, "") or "jobs in front of it"
        if not self._snapshot.setting.policy.backfill:
            return Reason(
                code=ReasonCode.HELD_BY_OTHERS,
                message=f"waits behind {ahead}: the policy lets nothing pass a blocked job",
                would_help="a higher tier or priority, or a policy with backfill",
            )
        return Reason(
            code=ReasonCode.HELD_BY_OTHERS,
            message=f"waits behind {ahead}, which it must not delay",
            would_help="a shorter max_duration lets it run in front; it is considered again at the next change",
        )


def _addressed(reason: Reason, job: WaitingJob) -> Reason:
    """A reason found for a gang, completed for one job that wants it: pools admit tiers and teams."""
    if reason.code is not ReasonCode.POOL:
        return reason
    return evolve(reason, message=f"{reason.message} tier {job.spec.tier} of team {job.spec.team}")


def _limit_reason(breach: Breach) -> Reason:
    kind = "GPUs" if breach.gpu_type == ANY_TYPE else f"{breach.gpu_type} GPUs"
    used, limit = gpus_text(breach.used_milli), gpus_text(breach.limit_milli)
    wanted = gpus_text(breach.wanted_milli)
    missing = gpus_text(breach.used_milli + breach.wanted_milli - breach.limit_milli)
    return Reason(
        code=breach.code,
        message=f"team {breach.team} uses {used} of at most {limit} {kind}; this job needs {wanted}",
        would_help=f"{missing} {kind if missing != '1' else kind.removesuffix('s')} of the team coming free, or a "
        "higher limit",
    )


def _borrow_reason(team: str) -> Reason:
    return Reason(
        code=ReasonCode.QUOTA_BORROW,
        message=f"team {team} has used up its guarantee, so this job runs only on what others leave idle",
        would_help="the team's own jobs ending, or a larger guarantee",
    )
