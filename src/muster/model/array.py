"""An array as a whole: one job file, many tasks, one record that sums them up."""

from muster.model.ids import JobId
from muster.model.job import Job, JobState
from muster.model.records import Record
from muster.model.resources import GPU_MILLI
from muster.model.spec import JobSpec


def task_id(array: JobId, index: int) -> JobId:
    """The id of one task."""
    return JobId(f"{array}.{index}")


class ArrayRecord(Record, frozen=True, kw_only=True, omit_defaults=True):
    """What is known of all tasks of an array together."""

    id: JobId
    spec: JobSpec
    state: JobState
    """The worst ending when all tasks have ended, otherwise the liveliest state of any task."""
    submitted_ms: int
    number: int = 0
    """The number of its submission, as for a job."""
    user: str = ""
    counts: tuple[tuple[JobState, int], ...] = ()
    """Tasks in each state that has any, in the order of the states."""
    retries_used: int = 0
    preemptions: int = 0
    node_failures: int = 0
    attained_gpu_ms: int = 0
    running_milli: int = 0
    """GPUs of the tasks that run, in thousandths."""
    running_milli_ms: int = 0
    """For each running task, its GPU thousandths times its `billed_ms`, summed. Gives the GPU time used since then."""
    held: bool = False
    """True when every task that has not ended is held."""
    first_started_ms: int | None = None
    ended_ms: int | None = None

    def gpu_ms(self, now_ms: int) -> int:
        """GPU time that the tasks have received until now."""
        uncounted = max(self.running_milli * now_ms - self.running_milli_ms, 0)
        return self.attained_gpu_ms + uncounted // GPU_MILLI


JobRecord = Job | ArrayRecord
"""The record for the id of a job, a task or an array."""
