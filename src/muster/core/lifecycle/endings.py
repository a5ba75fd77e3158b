"""The end of an attempt: the job is done, retried, or given up."""

from typing import assert_never

from muster.core.lifecycle.seats import gpu_milli
from muster.core.lifecycle.waiting import waiting_state
from muster.model.job import Cause, Job, JobState
from muster.model.limits import FAULTS_IN_A_ROW, START_PAUSE_MAX_MS, START_PAUSE_MS
from muster.model.records import evolve
from muster.model.resources import GPU_MILLI
from muster.model.spec import RetryCause


def settled(job: Job, at_ms: int) -> Job:
    """The job unchanged while any worker still occupies GPUs. After the last one, the job with its attempt ended."""
    if job.leaving or len(job.exited_ranks) < len(job.workers):
        return job
    # Completion wins over a stop that is under way, because the work is done. A job that asked to be started again may
    # end with any code.
    is_complete = len(job.finished_ranks) == len(job.workers) and not _is_requeued(job)
    return _after(job, Cause.COMPLETED if is_complete else job.cause or Cause.ERROR, at_ms)


def _is_requeued(job: Job) -> bool:
    return job.state is JobState.CHECKPOINTING and job.cause is Cause.REQUEUED


def billed(job: Job, at_ms: int) -> Job:
    """The job with its GPU time counted up to now. Call this before anything that changes its workers."""
    until_ms = at_ms if job.billed_ms is None else max(at_ms, job.billed_ms)
    return evolve(job, attained_gpu_ms=_attained_gpu_ms(job, until_ms), billed_ms=until_ms)


def _attained_gpu_ms(job: Job, until_ms: int) -> int:
    """The GPU time of all attempts, with the present attempt counted up to `until_ms`."""
    since_ms = until_ms if job.billed_ms is None else job.billed_ms
    return job.attained_gpu_ms + gpu_milli(job) * max(until_ms - since_ms, 0) // GPU_MILLI


def _after(job: Job, cause: Cause, at_ms: int) -> Job:
    """The job after its attempt ended for this cause."""
    match cause:
        case Cause.COMPLETED:  # first, because most attempts end well and each case before it would cost a lookup
            return _ended(job, JobState.SUCCEEDED, cause, at_ms)
        case Cause.PREEMPTED:
            return _requeued(evolve(job, preemptions=job.preemptions + 1, requeued=True), cause, at_ms)
        case Cause.RESIZED | Cause.REQUEUED:
            return _requeued(job, cause, at_ms)
        case Cause.NODE_FAILURE | Cause.START_FAILURE | Cause.DAMAGED_CHECKPOINT | Cause.STRAGGLER | Cause.HANG:
            return _after_fault(job, cause, at_ms)
        case Cause.ERROR | Cause.OOM | Cause.TIMEOUT:
            return _after_failure(job, cause, at_ms)
        case Cause.CANCELLED | Cause.DEPENDENCY:
            return _ended(job, JobState.CANCELLED, cause, at_ms)
        case _:
            assert_never(cause)


def _after_fault(job: Job, cause: Cause, at_ms: int) -> Job:
    """Infrastructure faults are not the user's fault. They are retried, up to `FAULTS_IN_A_ROW` without progress."""
    counted = evolve(
        job,
        faults_in_a_row=job.faults_in_a_row + 1,
        node_failures=job.node_failures + (cause is Cause.NODE_FAILURE),
    )
    if counted.faults_in_a_row >= FAULTS_IN_A_ROW:
        return _ended(counted, JobState.FAILED, cause, at_ms)
    if cause is Cause.START_FAILURE and counted.faults_in_a_row > 1:
        counted = evolve(counted, not_before_ms=at_ms + _pause_ms(counted.faults_in_a_row))
    return _requeued(counted, cause, at_ms)


def _pause_ms(faults: int) -> int:
    """The pause before the next start. It doubles each time, so that a short outage does not end the job."""
    return min(START_PAUSE_MS << (faults - 2), START_PAUSE_MAX_MS)


def _after_failure(job: Job, cause: Cause, at_ms: int) -> Job:
    """Failures of the job itself are retried as often as it asked for, and only for the causes it named."""
    retry = job.spec.retry
    if RetryCause(cause.value) in retry.on and job.retries_used < retry.limit:
        return _requeued(evolve(job, retries_used=job.retries_used + 1), cause, at_ms)
    return _ended(job, JobState.TIMED_OUT if cause is Cause.TIMEOUT else JobState.FAILED, cause, at_ms)


def _ended(job: Job, state: JobState, cause: Cause, at_ms: int) -> Job:
    return _vacated(job, state, cause, at_ms, ended_ms=at_ms)


def _requeued(job: Job, cause: Cause, at_ms: int) -> Job:
    """The job waits again, in its old place in the queue, because it keeps its time of submission."""
    return _vacated(job, waiting_state(job), cause, at_ms)


def _vacated(job: Job, state: JobState, cause: Cause, at_ms: int, *, ended_ms: int | None = None) -> Job:
    """The job without GPUs, with its GPU time counted and all fields of the ended attempt reset."""
    return evolve(
        job,
        state=state,
        cause=cause,
        ended_ms=ended_ms,
        attempt=max(job.attempt, job.attempt_seen),
        attained_gpu_ms=_attained_gpu_ms(job, at_ms),
        workers=(),
        leaving=(),
        ready_ranks=(),
        exited_ranks=(),
        finished_ranks=(),
        bad_ranks=(),
        started_ms=None,
        deadline_ms=None,
        ends_by_ms=None,
        leaving_by_ms=None,
        ask_ms=None,
        billed_ms=None,
        stragglers=(),
        hang=None,
        next_gang=job.next_gang if cause is Cause.RESIZED and state is JobState.QUEUED else (),
        limited_since_ms=None,
        resized_ms=None,
        lost_workers=0,
    )
