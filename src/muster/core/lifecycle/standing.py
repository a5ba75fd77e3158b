"""What a backend should be doing for a job, for when it may not have heard: after a restart, or a lost connection.

Sent with the generation the job has, so a backend that did hear does nothing but report again.
"""

from muster.core.lifecycle.seats import alive_ranks, ranks_of
from muster.core.lifecycle.timing import left_ms
from muster.model.instructions import Command, KillWorkers, SignalStop, StartWorkers
from muster.model.job import Cause, Job, JobState
from muster.model.records import changed


def standing_commands(job: Job, now_ms: int) -> tuple[Command, ...]:
    """Commands that bring a backend to where the job's record says it is; none for a job without GPUs."""
    match job.state:
        case JobState.STARTING | JobState.RUNNING:
            leaving = (_stop(job, ranks_of(job.leaving), job.leaving_by_ms, now_ms),) if job.leaving else ()
            return (*leaving, _start(job, now_ms))
        case JobState.CHECKPOINTING | JobState.STOPPING:
            return (_stop(job, alive_ranks(job), job.deadline_ms, now_ms),)
        case _:
            return ()


def standing_kill(job: Job, kill: KillWorkers) -> KillWorkers | None:
    """The kill of workers on a lost node, to be sent again; None once a newer attempt has ended what was left of them.

    Nobody says whether the first one arrived, and a command that was on its way may arrive once the node is back.
    """
    return changed(kill, generation=job.generation) if job.attempt == kill.attempt else None


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


def _stop(job: Job, ranks: tuple[int, ...], by_ms: int | None, now_ms: int) -> SignalStop:
    return SignalStop(
        job=job.id,
        attempt=job.attempt,
        generation=job.generation,
        ranks=ranks,
        grace_ms=max((now_ms if by_ms is None else by_ms) - now_ms, 0),
        cause=job.cause or Cause.PREEMPTED,
    )
