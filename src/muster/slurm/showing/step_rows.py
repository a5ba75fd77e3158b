"""A step of a job with all that Slurm would say of it: the script, what `srun` started, and the step around both."""

from collections.abc import Iterable, Iterator
from datetime import datetime

from muster.answers.batch_steps import BatchStep
from muster.slurm.showing.durations import long_time, precise_time
from muster.slurm.showing.job_rows import JobRow
from muster.slurm.showing.states import code_and_signal

BATCH, EXTERN = "batch", "extern"
TERMINATED = (9, 15)
"""Signals that end the steps of a job that has to go."""
KILLED = (0, 9)

_GONE = ("CANCELLED", "TIMEOUT", "PREEMPTED")
"""States of jobs that were made to end. Slurm says of their steps that they were cancelled."""
_TAKEN_ALONG = ("OUT_OF_MEMORY", "NODE_FAIL")
_KIB = 1024


def step_rows(row: JobRow, steps: Iterable[BatchStep]) -> Iterator["StepRow"]:
    """The steps of a job that has started: the script and the step around all come first, as in Slurm."""
    found = {each.step: each for each in steps}
    yield StepRow(row, BATCH, found.pop(BATCH, None))
    yield StepRow(row, EXTERN)
    yield from (StepRow(row, each.step, each) for each in found.values())


class StepRow(JobRow):
    """One line about a step. Without a record, it is known as far as its job is."""

    def __init__(self, row: JobRow, step: str, record: BatchStep | None = None) -> None:
        super().__init__(row.job, row.now, row.further, step=step)
        self._row = row
        self._record = record

    @property
    def name(self) -> str:
        """Its program."""
        return self.step if self._record is None else self._record.name

    @property
    def state(self) -> str:
        """Its state in full."""
        of_job = super().state
        if self.job.ended is None and (self._record is None or self._record.ended is None):
            return "RUNNING"
        if self.step == EXTERN:
            return "COMPLETED"
        if self._record is None:
            return of_job
        if self._record.exit_code is None:
            return of_job if of_job in _TAKEN_ALONG else "CANCELLED"
        code, signal = self.exit_pair
        if signal in TERMINATED and of_job in _GONE:
            return "CANCELLED"
        return "COMPLETED" if (code, signal) == (0, 0) else of_job if of_job in _TAKEN_ALONG else "FAILED"

    @property
    def exit_pair(self) -> tuple[int, int]:
        """Its exit code and signal."""
        if self.step == EXTERN:
            return 0, 0
        if self._record is None:
            return super().exit_pair
        if self._record.exit_code is None:
            return (0, 0) if self.job.ended is None else KILLED
        return code_and_signal(self._record.exit_code)

    @property
    def nodes(self) -> tuple[str, ...]:
        """The nodes where it runs or ran."""
        if self._record is not None:
            return self._record.nodes
        return super().nodes[:1] if self.step == BATCH else super().nodes

    @property
    def task_count(self) -> int:
        """How many processes it has."""
        if self._record is not None:
            return self._record.tasks
        return 1 if self.step == BATCH else self.node_count

    @property
    def cpu_count(self) -> int:
        """Its CPUs."""
        return self._row.cpu_count if self._record is None else self._record.cpus

    @property
    def gpu_count(self) -> float:
        """Its GPUs."""
        return super().gpu_count if self._record is None else self._record.gpus

    @property
    def memory_bytes(self) -> int:
        """The memory of its job on its nodes."""
        whole = super().memory_bytes
        return whole if self._record is None else whole * min(len(self.nodes), self.worker_count) // self.worker_count

    def tres(self, *, with_billing: bool = False) -> str:
        """What it has, as `cpu=4,mem=16G,node=1`. Steps are not billed."""
        return super().tres(with_billing=with_billing)

    @property
    def started(self) -> datetime | None:
        """When it began."""
        return super().started if self._record is None else self._record.started

    @property
    def ended(self) -> datetime | None:
        """When it ended, at the latest with its job."""
        return (None if self._record is None else self._record.ended) or self.job.ended

    @property
    def measured(self) -> dict[str, str]:
        """What was measured of it, by the names of fields."""
        record = self._record
        if record is None:
            return {}
        found: dict[str, str] = {}
        if record.max_rss_bytes:
            found["MaxRSS"] = f"{record.max_rss_bytes // _KIB}K"
        if record.max_rss_task is not None:
            found |= {"MaxRSSTask": str(record.max_rss_task), "MaxRSSNode": record.max_rss_node or ""}
        if record.cpu_s is not None:
            found["TotalCPU"] = precise_time(record.cpu_s)
            found["AveCPU"] = long_time(record.cpu_s / max(record.tasks, 1))
        return found
