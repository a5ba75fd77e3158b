"""Jobs, tasks and arrays as they are sent."""

from functools import lru_cache
from typing import TypedDict

from muster.answers.admission import Effect
from muster.answers.jobs import ArrayPlace, Dependency, Job, Progress, SlowRankAnswer, Standstill, StepSeconds
from muster.api.rendering.checkpoints import saves_body
from muster.api.rendering.effects import effect_answers
from muster.api.rendering.times import moment_of, seconds
from muster.api.rendering.workers import gpus_milli, worker_answers
from muster.core.lifecycle import occupied
from muster.formats.jobs.job_document import job_document
from muster.formats.text.units import plain_number
from muster.live.watching.progress_watch import JobProgress
from muster.model import job as model
from muster.model.array import ArrayRecord, JobRecord
from muster.model.limits import DOCUMENTS_KEPT
from muster.model.resources import GPU_MILLI
from muster.model.spec import JobSpec
from muster.model.telemetry import Hang, Straggler


class _AskedFor(TypedDict):
    depends_on: tuple[Dependency, ...]
    tags: dict[str, str]
    max_duration_s: float | None
    admission: tuple[Effect, ...]
    spec: dict[str, object]


def job_body(
    record: JobRecord,
    now_ms: int,
    progress: JobProgress | None = None,
    last_output_ms: int | None = None,
    no_larger: str | None = None,
    *,
    is_brief: bool = False,
) -> Job:
    """A job or an array in its current state. Lists do not say how far a training is; brief ones leave out its file."""
    if isinstance(record, ArrayRecord):
        return _array(record, now_ms, is_brief)
    return _single(record, now_ms, progress, last_output_ms, no_larger, is_brief)


def progress_of(record: JobRecord, watched: JobProgress | None) -> JobProgress | None:
    """How far a training is: as is watched while it runs, and then as its workers said when they ended."""
    if isinstance(record, ArrayRecord) or record.state.holds_resources or record.last_step is None:
        return watched
    is_same = watched is not None and watched.attempt == record.attempt
    return JobProgress(
        attempt=record.attempt,
        step=record.last_step,
        last_step_ms=record.last_step_ms,
        p50_us=watched.p50_us if watched is not None and is_same else None,
        p99_us=watched.p99_us if watched is not None and is_same else None,
    )


def gpu_ms(job: model.Job, now_ms: int) -> int:
    """GPU time that a job has received so far."""
    if job.billed_ms is None or not job.state.holds_resources:
        return job.attained_gpu_ms
    return job.attained_gpu_ms + gpus_milli(occupied(job)) * max(now_ms - job.billed_ms, 0) // GPU_MILLI


def _single(
    job: model.Job,
    now_ms: int,
    progress: JobProgress | None,
    last_output_ms: int | None,
    no_larger: str | None,
    is_brief: bool,
) -> Job:
    spec = job.spec
    array = job.array_parent
    is_placed = job.state.holds_resources
    return Job(
        id=job.id,
        name=spec.name,
        team=spec.team,
        user=job.user,
        tier=spec.tier,
        priority=spec.priority,
        state=job.state,
        reason=job.cause,
        attempt=job.attempt,
        workers=worker_answers(job.workers) if is_placed else (),
        gpus=plain_number(gpus_milli(job.workers) if is_placed else spec.gang_gpu_milli),
        submitted=moment_of(job.submitted_ms),
        started=moment_of(job.started_ms),
        first_started=moment_of(job.first_started_ms),
        ended=moment_of(job.ended_ms),
        exit_code=job.exit_code,
        problem=job.problem or None,
        retries=job.retries_used,
        preemptions=job.preemptions,
        node_failures=job.node_failures,
        gpu_seconds=seconds(gpu_ms(job, now_ms)),
        checkpointed=moment_of(job.checkpointed_ms),
        saves=saves_body(job),
        array=None if array is None else ArrayPlace(parent=array, index=job.array_index or 0),
        tasks=None,
        held=job.held,
        progress=None if progress is None else _progress(progress),
        last_output=moment_of(last_output_ms),
        stragglers=tuple(_slow_rank(each) for each in job.stragglers),
        hang=None if job.hang is None else _standstill(job.hang),
        no_larger=no_larger,
        **_asked_for(spec, is_brief),
    )


def _array(array: ArrayRecord, now_ms: int, is_brief: bool) -> Job:
    """All tasks as one job: sums, the first start, and the end once all tasks have ended."""
    spec = array.spec
    return Job(
        id=array.id,
        name=spec.name,
        team=spec.team,
        user=array.user,
        tier=spec.tier,
        priority=spec.priority,
        state=array.state,
        reason=None,
        attempt=0,
        workers=(),
        gpus=plain_number(array.running_milli),
        submitted=moment_of(array.submitted_ms),
        started=None,
        first_started=moment_of(array.first_started_ms),
        ended=moment_of(array.ended_ms),
        exit_code=None,
        problem=None,
        retries=array.retries_used,
        preemptions=array.preemptions,
        node_failures=array.node_failures,
        gpu_seconds=seconds(array.gpu_ms(now_ms)),
        checkpointed=None,
        saves=None,
        array=None,
        tasks=dict(array.counts),
        held=array.held,
        progress=None,
        last_output=None,
        stragglers=(),
        hang=None,
        no_larger=None,
        **_asked_for(spec, is_brief),
    )


def _progress(progress: JobProgress) -> Progress:
    p50_us, p99_us = progress.p50_us, progress.p99_us
    is_timed = p50_us is not None and p99_us is not None
    return Progress(
        step=progress.step,
        step_s=StepSeconds(p50=(p50_us or 0) / 1_000_000, p99=(p99_us or 0) / 1_000_000) if is_timed else None,
        last_step_at=moment_of(progress.last_step_ms),
    )


def _slow_rank(slow: Straggler) -> SlowRankAnswer:
    return SlowRankAnswer(
        rank=slow.rank,
        node=slow.node,
        gpus=slow.gpus,
        slowdown=plain_number(slow.slowdown_milli),
        since=moment_of(slow.since_ms),
        steps=slow.steps,
        usual=plain_number(slow.usual_milli) if slow.usual_milli else None,
    )


def _standstill(hang: Hang) -> Standstill:
    return Standstill(since=moment_of(hang.since_ms), ranks=hang.ranks, step=hang.step)


def _asked_for(spec: JobSpec, is_brief: bool) -> _AskedFor:
    limit_ms = spec.max_duration_ms
    return {
        "depends_on": tuple(Dependency(job=each.job, when=each.when) for each in spec.depends_on),
        "tags": dict(spec.tags),
        "max_duration_s": None if limit_ms is None else seconds(limit_ms),
        "admission": effect_answers(spec.effects),
        "spec": {} if is_brief else _document(spec),
    }


@lru_cache(maxsize=DOCUMENTS_KEPT)
def _document(spec: JobSpec) -> dict[str, object]:
    return job_document(spec)
