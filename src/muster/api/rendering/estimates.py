"""Estimated and promised starts as they are sent, with what they rest on in words."""

from muster.answers import jobs as answers
from muster.api.lookups.estimating import EstimatedStart, EstimateRecord
from muster.api.rendering.sentences import track_record
from muster.api.rendering.times import moment_of
from muster.model.job import Job
from muster.model.plan import EstimateBasis, Promise
from muster.model.resources import GPU_MILLI

ROUGHLY = "the limits of running jobs, counted roughly"
"""What the planner's own estimate rests on."""


def estimate_body(told: EstimatedStart) -> answers.Estimate:
    """An estimate."""
    return answers.Estimate(
        p50=moment_of(told.start.p50_ms),
        p90=moment_of(told.start.p90_ms),
        basis=told.grounds.basis,
        rests_on=told.grounds.text,
        record=_record(told.record),
        track_record=track_record(told.record),
    )


def rough_estimate_body(p50_ms: int, p90_ms: int | None) -> answers.Estimate:
    """The planner's own estimate, for when no future could be simulated."""
    return answers.Estimate(
        p50=moment_of(p50_ms),
        p90=moment_of(p90_ms),
        basis=EstimateBasis.LIMITS,
        rests_on=ROUGHLY,
        record=None,
        track_record=track_record(EstimateRecord()),
    )


def promise_body(promise: Promise, told: EstimatedStart | None) -> answers.Promise:
    """A promise. Where it is far away because jobs have no limits, it says so."""
    return answers.Promise(
        start=moment_of(promise.start_ms),
        nodes=promise.nodes,
        rests_on="" if told is None else limits_text(told.unlimited),
    )


def starting_body(job: Job, told: EstimatedStart | None, promise: Promise | None) -> answers.WaitingStart:
    """When one of many jobs may start."""
    return answers.WaitingStart(
        job=job.id,
        name=job.spec.name,
        team=job.spec.team,
        user=job.user,
        gpus=job.spec.gang_gpu_milli / GPU_MILLI,
        submitted=moment_of(job.submitted_ms),
        estimate=None if told is None else estimate_body(told),
        hold=None if promise is None else promise_body(promise, told),
    )


def _record(record: EstimateRecord) -> answers.PastEstimates | None:
    return answers.PastEstimates(given=record.given, kept=record.kept) if record.given else None


def limits_text(unlimited: int) -> str:
    """Why a promise is far away, where running jobs have no limits of their own; else empty."""
    if not unlimited:
        return ""
    whose, their = ("a running job gives", "its") if unlimited == 1 else (f"{unlimited} running jobs give", "their")
    return (
        f"{whose} no max_duration, so the limit of {their} tier counts; it will probably be much earlier, and a "
        "max_duration in job files makes promises nearer"
    )
