"""Whether a job may start: its dependencies, its turn in an array, and its user's hold."""

from typing import assert_never

from muster.model.events import (
    DependencyFailed,
    DependencyMet,
    JobStarved,
    TurnCame,
    WaitingEvent,
)
from muster.model.job import Cause, Job, JobState
from muster.model.records import evolve


def waiting_state(job: Job) -> JobState:
    """The state of a job that has no GPUs and has not ended."""
    if job.unmet or job.awaits_turn or job.not_before_ms is not None or job.astray:
        return JobState.BLOCKED
    return JobState.HELD if job.held else JobState.QUEUED


def awaits_gpus(job: Job) -> bool:
    """True for jobs that belong in the queue of the snapshot, also while they are held or wait for a dependency.

    False for jobs that pause, for jobs with workers in quarantine, and for array tasks whose turn has not come: ten
    thousand of these would be looked at for nothing.
    """
    state = job.state
    if state.is_final or state.holds_resources:
        return False
    return not (job.awaits_turn or job.not_before_ms is not None or job.astray)


def reconsider(job: Job, event: WaitingEvent) -> Job:
    """The job after an event that decides whether it may start. A job that occupies GPUs only remembers the change."""
    match event:
        case TurnCame():
            after = evolve(job, awaits_turn=False)
        case JobStarved():
            after = evolve(job, starved=True)
        case DependencyMet(dependency=dependency):
            after = evolve(job, unmet=tuple(each for each in job.unmet if each != dependency))
        case DependencyFailed(dependency=dependency):
            return _doom(job, event) if dependency in job.unmet else job
        case _:
            assert_never(event)
    return reconsidered(after)


def reconsidered(job: Job) -> Job:
    """The job in the state that follows from what keeps it from starting. A job that occupies GPUs keeps its state."""
    return job if job.state.holds_resources else evolve(job, state=waiting_state(job))


def end_pause(job: Job) -> Job:
    """The job after its pause is over."""
    return reconsidered(evolve(job, not_before_ms=None))


def _doom(job: Job, event: DependencyFailed) -> Job:
    """End a job that can never start, and record why."""
    return evolve(job, state=JobState.CANCELLED, cause=Cause.DEPENDENCY, ended_ms=event.at_ms)
