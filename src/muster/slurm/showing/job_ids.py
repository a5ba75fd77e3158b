"""Ids of jobs as Slurm writes them: 7 is `job-7`, 7_3 is its task `job-7.3`, 7.batch is a step of it."""

import re
from dataclasses import dataclass

from muster.answers.jobs import Job
from muster.model.ids import array_numbers, numbered_job
from muster.slurm.showing.host_lists import numbers_of

_ID = re.compile(r"(?:job-)?(\d+)(?:[_.](\d+)|_\[([^\]]+)\])?(?:\.(batch|extern|\d+))?")
_STEP = re.compile(r"(?:job-)?(\d+)(?:_(\d+))?\.(batch|extern|\d+)")
_OWN = re.compile(r"(?:job-)?(\d+)(?:\.(\d+))?")


@dataclass(frozen=True, slots=True, kw_only=True)
class JobReference:
    """A job, an array, some of its tasks, or a step that a user named."""

    job: str
    """The id of the job or the array, such as `job-7`."""
    indices: tuple[int, ...] = ()
    """The tasks that are meant; empty for all of them, and for a job."""
    step: str = ""
    """`batch`, `extern` or a number; empty for the job as a whole."""

    @property
    def ids(self) -> tuple[str, ...]:
        """Muster's ids of all that is meant."""
        return tuple(f"{self.job}.{index}" for index in self.indices) or (self.job,)

    def means(self, job: Job) -> bool:
        """True when a job, or a task of the array that was named, is meant."""
        return job.id in self.ids or (not self.indices and job.array is not None and job.array.parent == self.job)


def read_reference(text: str) -> JobReference:
    """What an id means. `7.0` is the first step of job 7, and never a task. Raises `ValueError`."""
    if step := _STEP.fullmatch(text):
        indices = () if step[2] is None else (int(step[2]),)
        return JobReference(job=f"job-{step[1]}", indices=indices, step=step[3])
    match = _ID.fullmatch(text)
    if match is None:
        raise ValueError(text)
    if match[2] is None and match[3] is None and (task := array_numbers(numbered_job(match[1]))) is not None:
        return JobReference(job=f"job-{task[0]}", indices=(int(task[1]),))
    if match[3] is not None:
        return JobReference(job=f"job-{match[1]}", indices=tuple(numbers_of(match[3].partition("%")[0])))
    return JobReference(job=f"job-{match[1]}", indices=() if match[2] is None else (int(match[2]),))


def shown_id(job: str) -> str:
    """The id as Slurm would write it. An id that was not made by the server is shown as it is."""
    match = _OWN.fullmatch(job)
    if match is None:
        return job
    return match[1] if match[2] is None else f"{match[1]}_{match[2]}"


def number_of(job: str) -> int:
    """The number of a job or of the array of a task, for sorting and JSON; 0 when there is none."""
    match = _OWN.fullmatch(job)
    return int(match[1]) if match is not None else 0
