"""What jobs left on this machine: what workers printed, what trainings measured, and what they saved.

Every method may be called on any thread, because it reads files and may take long.
"""

from pathlib import Path

from muster.backends.base import BatchStep, FoundCheckpoint, MeasuredStep, OutputPart
from muster.backends.local.logs import read_log
from muster.backends.local.step_files import read_steps
from muster.backends.local.training import checkpoint_errands, metrics_files
from muster.model.errors import NotFound
from muster.model.ids import JobId
from muster.model.spec import JobSpec
from muster.worker.gang.step_records import NAME as STEPS
from muster.worker.output.segments import attempt_folder, log_folder


class JobFiles:
    """The files of the jobs of one home."""

    def __init__(self, home: Path) -> None:
        self._home = home

    def read_output(self, job: JobId, attempt: int, rank: int, offset: int, limit: int) -> OutputPart:
        """A part of what a worker printed."""
        if not log_folder(self._home, job, attempt, rank).is_dir():
            raise NotFound(f"worker {rank} of {job} has printed nothing in attempt {attempt}")
        return read_log(self._home, job, attempt, rank, offset=offset, limit=limit)

    def measured_steps(self, job: JobId, attempts: int) -> tuple[MeasuredStep, ...]:
        """What the attempts of a job measured of themselves."""
        return metrics_files.measured_steps(self._home, job, attempts)

    def batch_steps(self, job: JobId, attempt: int) -> tuple[BatchStep, ...]:
        """The steps of an attempt of a batch job."""
        return read_steps(attempt_folder(self._home, job, attempt) / STEPS)

    def stored_checkpoints(
        self, spec: JobSpec, run: str, *, step: int | None = None, verify: bool = False
    ) -> tuple[FoundCheckpoint, ...]:
        """What is in storage of a run."""
        return checkpoint_errands.stored_checkpoints(self._home, spec, run, step=step, verify=verify)

    def remove_checkpoint(self, spec: JobSpec, run: str, step: int) -> None:
        """Remove a checkpoint from all places."""
        checkpoint_errands.remove_checkpoint(self._home, spec, run, step)
