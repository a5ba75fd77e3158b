"""Telling a job to leave, and killing it when it does not.

A stop always has a deadline. It is never after the end of the job's maximum duration, because promises to other jobs
count on its GPUs.
"""

from muster.core.lifecycle.endings import billed, settled
from muster.core.lifecycle.seats import alive_ranks, ranks_of
from muster.core.lifecycle.timing import is_due, next_ask_ms, notice_ms, save_every_ms, start_timeout_ms
from muster.core.lifecycle.waiting import end_pause
from muster.model.events import EvictionOrdered
from muster.model.instructions import AskCheckpoint, Command, KillWorkers, SignalStop
from muster.model.job import Cause, Job, JobState
from muster.model.limits import FAILED_GANG_GRACE_MS, KILL_REPEAT_MS
from muster.model.records import evolve

Step = tuple[Job, tuple[Command, ...]]
"""The changed job, and the commands for its backend."""


def evict(job: Job, event: EvictionOrdered) -> Step:
    """Have the job save itself and leave its GPUs to another job. A job that is leaving already is not told twice.

    If it leaves to start again at another size, it does not start again now.
    """
    if job.next_gang:
        return without_next_gang(job, event.at_ms, cause=Cause.PREEMPTED), ()
    if job.state not in (JobState.STARTING, JobState.RUNNING):
        return job, ()
    return tell_to_leave(job, event.at_ms, cause=Cause.PREEMPTED, by_ms=event.by_ms, state=JobState.CHECKPOINTING)


def abandon(job: Job, at_ms: int, *, cause: Cause) -> Step:
    """End the attempt because a worker is gone. The other workers must leave soon; if none is left, it is over now."""
    over = settled(evolve(job, cause=cause), at_ms)
    if not over.state.holds_resources:
        return over, ()
    return tell_to_leave(job, at_ms, cause=cause, by_ms=at_ms + min(job.grace_ms, FAILED_GANG_GRACE_MS))


def tell_to_leave(job: Job, at_ms: int, *, cause: Cause, by_ms: int, state: JobState = JobState.STOPPING) -> Step:
    """Signal all workers that are left. A timer kills them at the deadline.

    Workers that leave already keep their own deadline: a promise may rest on it.
    """
    latest_ms = by_ms if job.ends_by_ms is None else min(by_ms, job.ends_by_ms)
    after = evolve(
        job,
        state=state,
        cause=cause,
        deadline_ms=max(latest_ms, at_ms),
        generation=job.generation + 1,
        ask_ms=None,
        leaving_by_ms=job.leaving_by_ms if job.leaving else None,
        killed=False,
    )
    told = SignalStop(
        job=job.id,
        attempt=job.attempt,
        generation=after.generation,
        ranks=alive_ranks(job),
        grace_ms=max(latest_ms, at_ms) - at_ms,
        cause=cause,
    )
    return after, (told,)


def without_next_gang(job: Job, at_ms: int, *, cause: Cause) -> Job:
    """The job without the seats that it kept for its next attempt. It goes on leaving, for this cause now."""
    return evolve(billed(job, at_ms), next_gang=(), cause=cause)


def wake(job: Job, at_ms: int) -> Step:
    """Do what has come due, one thing at a time. Anything else that is due stays due afterwards."""
    match job.state:
        case JobState.STARTING | JobState.RUNNING:
            return _wake_active(job, at_ms)
        case JobState.CHECKPOINTING | JobState.STOPPING if is_due(job.deadline_ms, at_ms):
            after = evolve(job, deadline_ms=at_ms + KILL_REPEAT_MS, leaving_by_ms=None, killed=True)
            return _kill(after, alive_ranks(job))
        case JobState.CHECKPOINTING | JobState.STOPPING if is_due(job.leaving_by_ms, at_ms):
            return _kill_leaving(job, at_ms)
        case JobState.BLOCKED if is_due(job.not_before_ms, at_ms):
            return end_pause(job), ()
        case _:
            return job, ()


def _wake_active(job: Job, at_ms: int) -> Step:
    if is_due(notice_ms(job), at_ms):
        return tell_to_leave(job, at_ms, cause=Cause.TIMEOUT, by_ms=at_ms + job.grace_ms)
    if job.state is JobState.STARTING and is_due(start_timeout_ms(job), at_ms):
        return abandon(job, at_ms, cause=Cause.START_FAILURE)
    if is_due(job.leaving_by_ms, at_ms):
        return _kill_leaving(job, at_ms)
    if job.state is JobState.RUNNING and is_due(job.ask_ms, at_ms):
        after = evolve(job, ask_ms=next_ask_ms(job, at_ms), generation=job.generation + 1)
        return after, (_asked(after),)
    return job, ()


def _asked(job: Job) -> AskCheckpoint:
    """What a job is asked, with what its earlier saves took: the present attempt may not have saved yet."""
    return AskCheckpoint(
        job=job.id,
        attempt=job.attempt,
        generation=job.generation,
        every_ms=save_every_ms(job) or 0,
        cost_ms=job.checkpoint_cost_ms or 0,
        took_ms=job.checkpoint_took_ms or 0,
    )


def _kill_leaving(job: Job, at_ms: int) -> Step:
    """Kill the workers that the job gave up, and again if they do not go."""
    return _kill(evolve(job, leaving_by_ms=at_ms + KILL_REPEAT_MS), ranks_of(job.leaving))


def _kill(job: Job, ranks: tuple[int, ...]) -> Step:
    """Kill these workers at once, whatever else is under way."""
    after = evolve(job, generation=job.generation + 1)
    return after, (KillWorkers(job=job.id, attempt=job.attempt, generation=after.generation, ranks=ranks),)
