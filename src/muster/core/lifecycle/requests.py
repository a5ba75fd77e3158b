"""What a user's request makes of a job."""

from typing import assert_never

from muster.core.lifecycle.found_gangs import give_up
from muster.core.lifecycle.stopping import Step, tell_to_leave, without_next_gang
from muster.core.lifecycle.waiting import reconsidered
from muster.model.job import Cause, Job, JobState
from muster.model.records import evolve
from muster.model.requests import JobCancelRequested, JobHeld, JobReleased, JobRequeueRequested, RequestEvent


def follow(job: Job, event: RequestEvent) -> Step:
    """The job after the request."""
    match event:
        case JobHeld():
            return reconsidered(evolve(job, held=True)), ()
        case JobReleased():
            return reconsidered(evolve(job, held=False)), ()
        case JobCancelRequested():
            return _cancel(job, event.at_ms)
        case JobRequeueRequested():
            return _requeue(job, event.at_ms)
        case _:
            assert_never(event)


def _requeue(job: Job, at_ms: int) -> Step:
    """Have the job save itself and leave, and wait again. A job that waits or is leaving already stays as it is.

    Except one whose time is over: that it is told so before the end is what lets it save itself and ask for more.
    """
    if job.state is JobState.STOPPING and job.cause is Cause.TIMEOUT and not job.killed:
        return evolve(job, state=JobState.CHECKPOINTING, cause=Cause.REQUEUED), ()
    if job.state not in (JobState.STARTING, JobState.RUNNING):
        return job, ()
    by_ms = at_ms + job.grace_ms
    return tell_to_leave(job, at_ms, cause=Cause.REQUEUED, by_ms=by_ms, state=JobState.CHECKPOINTING)


def _cancel(job: Job, at_ms: int) -> Step:
    """End the job: at once if it waits, with a grace period if it runs, without a retry if it is stopping already."""
    if not job.state.holds_resources:
        if job.astray:
            return give_up(job, Cause.CANCELLED)
        return evolve(job, state=JobState.CANCELLED, cause=Cause.CANCELLED, ended_ms=at_ms), ()
    if job.state in (JobState.CHECKPOINTING, JobState.STOPPING):
        stays_away = without_next_gang(job, at_ms, cause=Cause.CANCELLED) if job.next_gang else job
        return evolve(stays_away, state=JobState.STOPPING, cause=Cause.CANCELLED), ()
    return tell_to_leave(job, at_ms, cause=Cause.CANCELLED, by_ms=at_ms + job.grace_ms)
