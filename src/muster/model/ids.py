"""Names of things. Each is a plain string on the wire and a distinct type in the code."""

import re
from typing import NewType

JobId = NewType("JobId", str)
NodeName = NewType("NodeName", str)
TeamPath = NewType("TeamPath", str)
"""A path in the team tree, such as `nlp/pretraining`."""
TierName = NewType("TierName", str)
PoolName = NewType("PoolName", str)
GpuType = NewType("GpuType", str)
EngineName = NewType("EngineName", str)
"""What starts processes on some nodes: this machine, or a configured Slurm, Kubernetes or Ray cluster."""
TokenId = NewType("TokenId", str)
LevelName = NewType("LevelName", str)
"""A level of the topology tree, such as `rack`; `node` is always the innermost."""

NODE_LEVEL = LevelName("node")
ENGINE_LEVEL = LevelName("engine")
"""The outermost level of a cluster with several engines. No gang spans two."""
LOCAL_ENGINE = EngineName("local")
DEFAULT_POOL = PoolName("main")

_NUMBER = re.compile("0*([0-9]+)")

_OWN_ID = re.compile(r"job-([0-9]{1,15})(?:\.([0-9]{1,9}))?")
_SLURM_ID = re.compile(r"([0-9]{1,30})(?:[_.]([0-9]{1,9}))?")

TASKS_FROM = 1_000_000_000
"""The numbers of tasks are above this, and the numbers of jobs below. The index of a task has at most nine digits."""


def natural(name: str) -> str:
    """A sort key under which job-9 comes before job-10 and n2 before n10, as people number things.

    Before each number stands a character that encodes the length of the number and sorts before all other characters.
    Different names have different keys: the name itself at the end separates names that differ only in leading zeros.
    """
    return f"{_NUMBER.sub(_counted, name)}\0{name}"


def _counted(number: re.Match[str]) -> str:
    return chr(len(number[1])) + number[1]


def array_numbers(job: JobId) -> tuple[str, str] | None:
    """The number of the array and the index of a task in it; None for a job that is no task."""
    match = _OWN_ID.fullmatch(str(job))
    return None if match is None or match[2] is None else (match[1], match[2])


def job_number(job: JobId) -> str:
    """A job as a number, as scripts of Slurm know it: `job-12` is 12. An id that somebody chose stays as it is.

    A task has a number of its own, because scripts calculate with `SLURM_JOB_ID`. It says which task it is.
    """
    match = _OWN_ID.fullmatch(str(job))
    if match is None:
        return str(job)
    return match[1] if match[2] is None else str((1 + int(match[1])) * TASKS_FROM + int(match[2]))


def numbered_job(text: str) -> JobId:
    """The job that `12`, `12_3` or the number of a task stands for. Everything else is taken for the id of a job."""
    match = _SLURM_ID.fullmatch(text)
    if match is None:
        return JobId(text)
    number = int(match[1])
    if match[2] is not None:
        return JobId(f"job-{number}.{int(match[2])}")
    if number < TASKS_FROM:
        return JobId(f"job-{number}")
    return JobId(f"job-{number // TASKS_FROM - 1}.{number % TASKS_FROM}")
