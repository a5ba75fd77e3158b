"""Reasons, estimates and dry runs as they are sent."""

from collections.abc import Mapping, Sequence

from muster.answers import jobs as answers
from muster.answers.admission import Effect
from muster.api.lookups.estimating import EstimatedStart
from muster.api.lookups.explanations import CANDIDATE, NO_PLACE, TriedJob
from muster.api.rendering.estimates import ROUGHLY, estimate_body, limits_text, promise_body, rough_estimate_body
from muster.api.rendering.sentences import rough_start, state_headline, waits_because, when_it_starts
from muster.api.rendering.workers import gpus_milli, worker_answers
from muster.core.explaining.explain import Explanation
from muster.core.explaining.not_considered import not_queued
from muster.core.explaining.wording import NAMED, named
from muster.core.pricing import PRICE_MILLI, Cost
from muster.formats.text.units import plain_number
from muster.model.array import ArrayRecord, JobRecord
from muster.model.ids import JobId
from muster.model.job import Job, JobState
from muster.model.plan import Promise, Reason, ReasonCode, Start
from muster.model.policy import HOUR_MS
from muster.model.resources import GPU_MILLI


def why_body(
    job: JobRecord,
    now_ms: int,
    explained: Explanation | None = None,
    estimate: EstimatedStart | None = None,
    promise: Promise | None = None,
    ailments: Mapping[str, str] | None = None,
    place: int = NO_PLACE,
) -> answers.Why:
    """Why a job waits. `ailments` says why nodes are not in order, `place` how many jobs start first, and this one."""
    unqueued = () if isinstance(job, ArrayRecord) else not_queued(job, now_ms)
    reasons = (*(() if explained is None else explained.reasons), *unqueued)
    # A held or blocked job has a place in the queue only for when it is released.
    position = place if place and job.state is JobState.QUEUED else None
    return answers.Why(
        job=job.id,
        state=job.state,
        headline=waits_because(reasons) if reasons else state_headline(job.state),
        position=place or None,
        reasons=tuple(_reason(each, ailments) for each in reasons),
        estimate=_estimate(explained, estimate),
        hold=None if promise is None else promise_body(promise, estimate),
        starts_if=() if explained is None else explained.starts_if,
        when=_when(now_ms, explained, estimate, promise, position),
        problem=None if isinstance(job, ArrayRecord) else job.problem or None,
    )


def dry_run_body(
    tried: TriedJob, price: Cost, victims: Sequence[Job], others: int, effects: tuple[Effect, ...]
) -> answers.DryRun:
    """What would happen to a job if it were submitted. `others` counts the victims that are not named."""
    decision = tried.decision
    start = start_of(tried)
    explained = next((each for each in decision.explanations if each.job == CANDIDATE), None)
    reasons = () if explained is None else explained.reasons
    return answers.DryRun(
        placement=None if start is None else worker_answers(start.workers),
        headline=waits_because(reasons, would=True) if start is None else _would_start(start),
        reasons=tuple(_reason(each) for each in reasons),
        starts_if=() if explained is None else explained.starts_if,
        estimate=_estimate(explained, tried.estimate),
        when=_when(decision.plan.now_ms, explained, tried.estimate, None, None),
        preempts=tuple(
            answers.Preempted(
                job=job.id, name=job.spec.name, team=job.spec.team, gpus=plain_number(gpus_milli(job.workers))
            )
            for job in victims
        ),
        preempts_others=others,
        cost=_cost(price),
        admission=effects,
    )


def start_of(tried: TriedJob) -> Start | None:
    """Where the candidate would start now; None when it would not."""
    return next((each for each in tried.decision.plan.starts if each.job == CANDIDATE), None)


def victims_of(tried: TriedJob) -> list[JobId]:
    """The running jobs that would leave for the candidate."""
    return [each.job for each in tried.decision.plan.evictions if each.for_job == CANDIDATE]


def _would_start(start: Start) -> str:
    nodes = tuple(dict.fromkeys(worker.node for worker in start.workers))
    return f"It would start now on {named(nodes)}."


def _when(
    now_ms: int,
    explained: Explanation | None,
    estimate: EstimatedStart | None,
    promise: Promise | None,
    position: int | None,
) -> tuple[answers.Remark, ...]:
    limits = "" if estimate is None else limits_text(estimate.unlimited)
    said = when_it_starts(now_ms, position=position, promise=promise, told=estimate, limits=limits)
    if estimate is not None or promise is not None or explained is None or explained.p50_ms is None:
        return said
    return (*said, *rough_start(now_ms, explained.p50_ms, ROUGHLY))


def _reason(reason: Reason, ailments: Mapping[str, str] | None = None) -> answers.Reason:
    return answers.Reason(
        code=reason.code,
        message=reason.message + _ailing(reason, ailments or {}),
        would_help=reason.would_help,
        detail=reason.detail,
    )


def _ailing(reason: Reason, ailments: Mapping[str, str]) -> str:
    """Why the nodes that a reason names are not in order."""
    if reason.code is not ReasonCode.NODE_HEALTH:
        return ""
    told = "; ".join(f"{name}: {ailments[name]}" for name in reason.about[:NAMED] if name in ailments)
    return f" ({told})" if told else ""


def _estimate(explained: Explanation | None, estimate: EstimatedStart | None) -> answers.Estimate | None:
    """The estimate from simulated futures, or else the planner's own rough estimate."""
    if estimate is not None:
        return estimate_body(estimate)
    if explained is None or explained.p50_ms is None:
        return None
    return rough_estimate_body(explained.p50_ms, explained.p90_ms)


def _cost(price: Cost) -> answers.Cost:
    gpu_hours = price.gpu_milli_ms / GPU_MILLI / HOUR_MS
    each = price.price_milli
    return answers.Cost(gpu_hours=gpu_hours, price=None if each is None else gpu_hours * each / PRICE_MILLI)
