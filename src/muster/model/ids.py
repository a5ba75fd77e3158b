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

TASKS_FROM = 1 << 28
"""The numbers of tasks are above this, and the numbers of jobs below."""
SMALL_TASKS = ((512, 1 << 20), (4096, 1 << 17), (32_768, 20_000))
"""Tasks whose numbers are small, because programs take `SLURM_JOB_ID` for a seed or 32 bits: those with an index below
the first number, in arrays with a number below the second. Each kind has a range of its own, from `TASKS_FROM` on."""
LARGE_TASK = 1_000_000_000
"""The number of any other task is that of its array, plus one, times this, plus its index of at most nine digits."""


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
    return match[1] if match[2] is None else str(_task_number(int(match[1]), int(match[2])))


def _task_number(array: int, index: int) -> int:
    first = TASKS_FROM
    for indices, arrays in SMALL_TASKS:
        if index < indices and array < arrays:
            return first + array * indices + index
        first += indices * arrays
    return (1 + array) * LARGE_TASK + index


def _task_of(number: int) -> JobId:
    first = TASKS_FROM
    for indices, arrays in SMALL_TASKS:
        if number < first + indices * arrays:
            array, index = divmod(number - first, indices)
            return JobId(f"job-{array}.{index}")
        first += indices * arrays
    return JobId(f"job-{number // LARGE_TASK - 1}.{number % LARGE_TASK}")


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
    return _task_of(number)
