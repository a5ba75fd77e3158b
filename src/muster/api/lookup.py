"""Finding jobs in the state: a job, a task or an array, each by its id."""

from muster.engine.state import State
from muster.model.errors import NotFound
from muster.model.ids import JobId, TeamPath
from muster.model.job import Job
from muster.model.spec import JobSpec


def spec_of(state: State, job: JobId) -> JobSpec | None:
    """The file of a job, a task or an array; None when there is no such thing."""
    record = state.jobs.get(job)
    return state.array_specs.get(job) if record is None else record.spec


def team_of(state: State, job: JobId) -> TeamPath | None:
    """Whose it is."""
    spec = spec_of(state, job)
    return None if spec is None else spec.team


def user_of(state: State, job: JobId) -> str:
    """Who submitted it, or the array that it is a task of."""
    record = state.jobs.get(job)
    array = None if record is None else record.array_parent
    return state.users.get(job if array is None else array, "")


def is_over(state: State, job: JobId) -> bool:
    """True when nothing more happens to it; also when there is no such thing."""
    record = state.jobs.get(job)
    if record is not None:
        return record.state.is_final
    tally = state.arrays.get(job)
    return tally is None or tally.progress().state.is_final


def single(state: State, job: JobId) -> Job:
    """The record of one job or task; an array has none."""
    record = state.jobs.get(job)
    if record is None:
        raise NotFound(f"{job} is an array: name one of its tasks, such as {job}.0")
    return record
