"""The desired commands: what to send a backend that may have missed something, after a restart or a lost connection.

They are sent with the job's present generation, so a backend that missed nothing only reports again.
"""

from muster.core.lifecycle.checkpoints import resume_from
from muster.core.lifecycle.seats import alive_ranks, ranks_of
from muster.core.lifecycle.timing import left_ms
from muster.model.instructions import Command, KillWorkers, SignalStop, StartWorkers
from muster.model.job import Cause, Job, JobState, Placement
from muster.model.records import evolve

GIVEN_UP = (Cause.CANCELLED, Cause.DEPENDENCY)
"""Causes for which a job with workers in quarantine ends as soon as these workers have ended."""


def desired_commands(job: Job, now_ms: int) -> tuple[Command, ...]:
    """Commands that bring a backend to what the job's record says; none for a job without workers."""
    match job.state:
        case JobState.STARTING | JobState.RUNNING:
            leaving = (_stop(job, ranks_of(job.leaving), job.leaving_by_ms, now_ms),) if job.leaving else ()
            return (*leaving, _start_again(job, now_ms))
        case JobState.CHECKPOINTING | JobState.STOPPING if job.killed:
            return (_kill(job, job.attempt, alive_ranks(job)),)
        case JobState.CHECKPOINTING | JobState.STOPPING:
            return (_stop(job, alive_ranks(job), job.deadline_ms, now_ms),)
        case JobState.BLOCKED if job.astray and job.cause in GIVEN_UP:
            return stray_kills(job)
        case _:
            return ()


def stray_kills(job: Job) -> tuple[KillWorkers, ...]:
    """The kills that end the quarantined workers of a job."""
    attempts = sorted({each.attempt for each in job.astray})
    return tuple(
        _kill(job, attempt, tuple(each.rank for each in job.astray if each.attempt == attempt)) for attempt in attempts
    )


def desired_kill(job: Job, kill: KillWorkers) -> KillWorkers | None:
    """The kill of workers on a lost node, to send again; None once the job has a newer attempt, which ends them too.

    It is not known whether the first kill arrived, and an older command may still arrive once the node is back.
    """
    return evolve(kill, generation=job.generation) if job.attempt == kill.attempt else None


def start_command(job: Job, workers: Placement, now_ms: int) -> StartWorkers:
    """The command that starts these workers of the present gang."""
    checkpoint = resume_from(job)
    return StartWorkers(
        job=job.id,
        attempt=job.attempt,
        generation=job.generation,
        spec=job.spec,
        workers=workers,
        gang=job.workers,
        max_duration_ms=left_ms(job, now_ms),
        run=run_id(job),
        resume_step=None if checkpoint is None else checkpoint.step,
        is_resume_durable=checkpoint is not None and checkpoint.is_durable,
    )


def run_id(job: Job) -> str:
    """The name of the job's run, the same for all attempts. Jobs of two databases may have the same id, so it has more.

    It is also the name of a folder.
    """
    name = "".join(letter if letter.isalnum() or letter in "-_." else "-" for letter in str(job.id))
    return f"{name}-{job.submitted_ms:x}"


def _start_again(job: Job, now_ms: int) -> StartWorkers:
    alive = frozenset(alive_ranks(job))
    return start_command(job, tuple(worker for worker in job.workers if worker.rank in alive), now_ms)


def _kill(job: Job, attempt: int, ranks: tuple[int, ...]) -> KillWorkers:
    return KillWorkers(job=job.id, attempt=attempt, generation=job.generation, ranks=ranks)


def _stop(job: Job, ranks: tuple[int, ...], by_ms: int | None, now_ms: int) -> SignalStop:
    """The stop with the time that is left, never more than the grace: `by_ms` may be the time of a repeated kill."""
    left_ms = max((now_ms if by_ms is None else by_ms) - now_ms, 0)
    return SignalStop(
        job=job.id,
        attempt=job.attempt,
        generation=job.generation,
        ranks=ranks,
        grace_ms=min(left_ms, job.grace_ms),
        cause=job.cause or Cause.PREEMPTED,
    )
