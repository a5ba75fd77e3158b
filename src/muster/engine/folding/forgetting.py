"""Jobs that have ended leave the state: only jobs that are alive are needed to continue."""

from collections.abc import Iterable

from muster.core.lifecycle.arrays import waits_of
from muster.engine.folding.state import State
from muster.model.ids import JobId
from muster.model.spec import JobSpec


def forget(state: State, ended: Iterable[JobId]) -> tuple[JobId, ...]:
    """Drop jobs that have ended, and arrays once their last task has; returns the jobs that have to stay.

    A job has to stay while a lost node may still have to be told to kill its workers. Dropping is not part of folding:
    whenever it is done, the same events give the same state of all jobs that are alive. Jobs that depended on a dropped
    job were released or ended by events of their own.
    """
    pinned = frozenset(kill.job for kills in state.lost.values() for kill in kills)
    kept = []
    for job in ended:
        record = state.jobs.get(job)
        if record is None:
            continue
        array = record.array_parent
        jobs = (job,) if array is None else state.arrays[array].tasks
        if not pinned.isdisjoint(jobs):
            kept.append(job)
        elif array is None:
            _forget_submission(state, job, record.spec, jobs)
        elif state.arrays[array].progress().state.is_final:
            _forget_submission(state, array, state.array_specs[array], jobs)
    return tuple(kept)


def ended_jobs(state: State) -> tuple[JobId, ...]:
    """All jobs and tasks that have ended and are still in the state."""
    return tuple(job.id for job in state.jobs.values() if job.state.is_final)


def _forget_submission(state: State, submitted: JobId, spec: JobSpec, jobs: tuple[JobId, ...]) -> None:
    for job in jobs:
        del state.jobs[job]
        state.dependents.pop(job, None)
    state.dependents.pop(submitted, None)
    state.arrays.pop(submitted, None)
    state.array_specs.pop(submitted, None)
    for waits, depends_on in waits_of(submitted, spec):
        for dependency in depends_on:
            waiting = state.dependents.get(dependency.job, {})
            waiting.pop(waits, None)
            if not waiting:
                state.dependents.pop(dependency.job, None)
    key = state.key_of.pop(submitted, None)
    if key is not None:
        del state.keys[key]
