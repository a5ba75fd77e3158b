"""What a standby knows of nodes: the files that jobs left on a disk which it shares with the leader. No more."""

from collections.abc import Iterable
from typing import NoReturn, Protocol

from muster.backends.base import BatchStep, Beside, FoundCheckpoint, MeasuredStep, OutputPart, Terminal
from muster.model.errors import NotLeading
from muster.model.events import ObservedEvent
from muster.model.ids import JobId, NodeName
from muster.model.instructions import Command
from muster.model.spec import JobSpec
from muster.model.telemetry import Telemetry


class ReadableFiles(Protocol):
    """The files of jobs."""

    def read_output(self, job: JobId, attempt: int, rank: int, offset: int, limit: int) -> OutputPart:
        """A part of what a worker printed."""
        ...

    def measured_steps(self, job: JobId, attempts: int) -> tuple[MeasuredStep, ...]:
        """What the attempts of a job measured of themselves."""
        ...

    def batch_steps(self, job: JobId, attempt: int) -> tuple[BatchStep, ...]:
        """The steps of an attempt of a batch job."""
        ...

    def stored_checkpoints(
        self, spec: JobSpec, run: str, *, step: int | None = None, verify: bool = False
    ) -> tuple[FoundCheckpoint, ...]:
        """What is in storage of a run."""
        ...


class SilentBackend:
    """A backend that commands nobody."""

    has_caught_up = True

    def __init__(self, files: ReadableFiles) -> None:
        self.read_output = files.read_output
        self.measured_steps = files.measured_steps
        self.batch_steps = files.batch_steps
        self.stored_checkpoints = files.stored_checkpoints

    def send(self, command: Command) -> None:
        """Raises."""
        del command
        _refuse()

    def poll(self) -> tuple[ObservedEvent, ...]:
        """Nothing."""
        return ()

    def telemetry(self) -> tuple[Telemetry, ...]:
        """Nothing."""
        return ()

    def acknowledge(self) -> None:
        """There is nothing to acknowledge."""

    def decided(self) -> None:
        """There was nothing to decide."""

    def remove_checkpoint(self, spec: JobSpec, run: str, step: int) -> None:
        """Raises."""
        del spec, run, step
        _refuse()

    def stacks(self, job: JobId, timeout_s: float) -> dict[int, str]:
        """Raises."""
        del job, timeout_s
        _refuse()

    def signal(self, job: JobId, number: int, *, script_only: bool = False) -> None:
        """Raises."""
        del job, number, script_only
        _refuse()

    def fenced(self, node: NodeName, because: str) -> None:
        """Raises."""
        del node, because
        _refuse()

    def pull_ahead(self, node: NodeName, images: tuple[str, ...]) -> None:
        """Raises."""
        del node, images
        _refuse()

    def end_runs(self, runs: Iterable[str]) -> None:
        """Raises."""
        del runs
        _refuse()

    def attach(self, job: JobId, beside: Beside | None = None) -> Terminal:
        """Raises."""
        del job, beside
        _refuse()


def _refuse() -> NoReturn:
    raise NotLeading("this control plane stands by; only the leader talks to nodes")
