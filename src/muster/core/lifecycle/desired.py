"""What a backend should be doing for a job, for when it may not have heard: after a restart, or a lost connection.

Sent with the generation the job has, so a backend that did hear does nothing but report again.
"""

from muster.core.lifecycle.seats import alive_ranks, ranks_of
from muster.core.lifecycle.timing import left_ms
from muster.model.instructions import Command, KillWorkers, SignalStop, StartWorkers
from muster.model.job import Cause, Job, JobState
from muster.model.records import evolve

GIVEN_UP = (Cause.CANCELLED, Cause.DEPENDENCY)
"""Why a job of which workers are in quarantine ends as soon as they have."""


def desired_commands(job: Job, now_ms: int) -> tuple[Command, ...]:
    """Commands that bring a backend to where the job's record says it is; none for a job without GPUs."""
    match job.state:
        case JobState.STARTING | JobState.RUNNING:
            leaving = (_stop(job, ranks_of(job.leaving), job.leaving_by_ms, now_ms),) if job.leaving else ()
            return (*leaving, _start(job, now_ms))
        case JobState.CHECKPOINTING | JobState.STOPPING if job.killed:
            return (_kill(job, job.attempt, alive_ranks(job)),)
        case JobState.CHECKPOINTING | JobState.STOPPING:
            return (_stop(job, alive_ranks(job), job.deadline_ms, now_ms),)
        case JobState.BLOCKED if job.astray and job.cause in GIVEN_UP:
            return stray_kills(job)
        case _:
            return ()


def stray_kills(job: Job) -> tuple[KillWorkers, ...]:
    """What ends the workers of a job that are in quarantine."""
    attempts = sorted({each.attempt for each in job.astray})
    return tuple(
        _kill(job, attempt, tuple(each.rank for each in job.astray if each.attempt == attempt)) for attempt in attempts
    )


def desired_kill(job: Job, kill: KillWorkers) -> KillWorkers | None:
    """The kill of workers on a lost node, to be sent again; None once a newer attempt has ended what was left of them.

    Nobody says whether the first one arrived, and a command that was on its way may arrive once the node is back.
    """
    return evolve(kill, generation=job.generation) if job.attempt == kill.attempt else None


def _start(job: Job, now_ms: int) -> StartWorkers:
    alive = frozenset(alive_ranks(job))
    return StartWorkers(
        job=job.id,
        attempt=job.attempt,
        generation=job.generation,
        spec=job.spec,
        workers=tuple(worker for worker in job.workers if worker.rank in alive),
        gang=job.workers,
        max_duration_ms=left_ms(job, now_ms),
    )


def _kill(job: Job, attempt: int, ranks: tuple[int, ...]) -> KillWorkers:
    return KillWorkers(job=job.id, attempt=attempt, generation=job.generation, ranks=ranks)


def _stop(job: Job, ranks: tuple[int, ...], by_ms: int | None, now_ms: int) -> SignalStop:
    """Never more time than a stop gives: a kill that was sent once is to come again later, and that is no new grace."""
    left_ms = max((now_ms if by_ms is None else by_ms) - now_ms, 0)
    return SignalStop(
        job=job.id,
        attempt=job.attempt,
        generation=job.generation,
        ranks=ranks,
        grace_ms=min(left_ms, job.grace_ms),
        cause=job.cause or Cause.PREEMPTED,
    )
