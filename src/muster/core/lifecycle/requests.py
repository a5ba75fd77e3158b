"""What a user's request makes of a job."""

from typing import assert_never

from muster.core.lifecycle.found_gangs import give_up
from muster.core.lifecycle.stopping import Step, tell_to_leave
from muster.core.lifecycle.waiting import reconsidered
from muster.model.job import Cause, Job, JobState
from muster.model.records import evolve
from muster.model.requests import JobCancelRequested, JobHeld, JobReleased, RequestEvent


def follow(job: Job, event: RequestEvent) -> Step:
    """The job after the request."""
    match event:
        case JobHeld():
            return reconsidered(evolve(job, held=True)), ()
        case JobReleased():
            return reconsidered(evolve(job, held=False)), ()
        case JobCancelRequested():
            return _cancel(job, event.at_ms)
        case _:
            assert_never(event)


def _cancel(job: Job, at_ms: int) -> Step:
    """End the job: at once if it waits, with a grace period if it runs, without a retry if it is stopping already."""
    if not job.state.holds_resources:
        if job.astray:
            return give_up(job, Cause.CANCELLED)
        return evolve(job, state=JobState.CANCELLED, cause=Cause.CANCELLED, ended_ms=at_ms), ()
    if job.state in (JobState.CHECKPOINTING, JobState.STOPPING):
        return evolve(job, state=JobState.STOPPING, cause=Cause.CANCELLED), ()
    return tell_to_leave(job, at_ms, cause=Cause.CANCELLED, by_ms=at_ms + job.grace_ms)
