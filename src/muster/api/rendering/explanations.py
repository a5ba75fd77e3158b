"""Reasons, estimates and dry runs as they are sent."""

from dataclasses import replace

from muster.answers import jobs as answers
from muster.api.lookups.explanations import CANDIDATE, NO_PLACE, TriedJob
from muster.api.rendering.times import moment_of
from muster.api.rendering.workers import worker_answers
from muster.core.explaining.explain import Explanation
from muster.core.explaining.not_considered import not_queued
from muster.core.pricing import PRICE_MILLI, Cost
from muster.estimates.starts import StartEstimate
from muster.model.array import ArrayRecord, JobRecord
from muster.model.plan import Promise, Reason, ReasonCode
from muster.model.policy import HOUR_MS
from muster.model.resources import GPU_MILLI


def why_body(
    job: JobRecord,
    now_ms: int,
    explained: Explanation | None = None,
    estimate: StartEstimate | None = None,
    promise: Promise | None = None,
    ailments: str = "",
) -> answers.Why:
    """Why a job waits. `ailments` says what the nodes suffer from that are not in order."""
    unqueued = () if isinstance(job, ArrayRecord) else not_queued(job, now_ms)
    reasons = (*(() if explained is None else explained.reasons), *unqueued)
    return answers.Why(
        job=job.id,
        state=job.state,
        position=None if explained is None or explained.position == NO_PLACE else explained.position,
        reasons=tuple(_with_ailments(_reason(each), ailments) for each in reasons),
        estimate=_estimate(explained, estimate),
        hold=None if promise is None else answers.Promise(start=moment_of(promise.start_ms), nodes=promise.nodes),
    )


def dry_run_body(tried: TriedJob, price: Cost) -> answers.DryRun:
    """What would happen to a job if it were submitted."""
    decision = tried.decision
    start = next((each for each in decision.plan.starts if each.job == CANDIDATE), None)
    explained = next((each for each in decision.explanations if each.job == CANDIDATE), None)
    reasons = () if explained is None else explained.reasons
    return answers.DryRun(
        placement=None if start is None else worker_answers(start.workers),
        reasons=tuple(_reason(each) for each in reasons),
        estimate=_estimate(explained, tried.estimate),
        cost=_cost(price),
    )


def _reason(reason: Reason) -> answers.Reason:
    return answers.Reason(code=reason.code, message=reason.message, would_help=reason.would_help)


def _with_ailments(reason: answers.Reason, ailments: str) -> answers.Reason:
    is_about_nodes = reason.code == ReasonCode.NODE_HEALTH and bool(ailments)
    return replace(reason, message=f"{reason.message} ({ailments})") if is_about_nodes else reason


def _estimate(explained: Explanation | None, estimate: StartEstimate | None) -> answers.Estimate | None:
    """The estimate from simulated futures, or else the planner's own rough estimate."""
    if estimate is not None:
        return answers.Estimate(p50=moment_of(estimate.p50_ms), p90=moment_of(estimate.p90_ms))
    if explained is None or explained.p50_ms is None:
        return None
    return answers.Estimate(p50=moment_of(explained.p50_ms), p90=moment_of(explained.p90_ms))


def _cost(price: Cost) -> answers.Cost:
    gpu_hours = price.gpu_milli_ms / GPU_MILLI / HOUR_MS
    return answers.Cost(gpu_hours=gpu_hours, price=gpu_hours * price.price_milli / PRICE_MILLI)
