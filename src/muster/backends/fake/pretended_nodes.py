"""What a control plane asks of its nodes besides commands, as pretended nodes answer it.

Tests put in what is to be found, and look at what was asked for.
"""

from collections.abc import Iterable

from muster.backends.base import BatchStep, Beside, FoundCheckpoint, MeasuredStep, OutputPart, Terminal
from muster.model.errors import NotFound
from muster.model.ids import JobId, NodeName
from muster.model.spec import JobSpec
from muster.model.telemetry import Telemetry


class PretendedNodes:
    """Nodes without disks, output and processes."""

    def __init__(self) -> None:
        self.steps_measured: list[MeasuredStep] = []
        """What trainings have measured of themselves."""
        self.steps_recorded: list[BatchStep] = []
        """The steps of batch jobs."""
        self.stored: list[FoundCheckpoint] = []
        """What is in storage."""
        self.measured: list[Telemetry] = []
        """What nodes have measured."""
        self.runs_over: list[str] = []
        """Runs that were said to be over."""
        self.signals: list[tuple[JobId, int, bool]] = []
        """Signals that were sent to jobs."""
        self.pulled_ahead: list[tuple[NodeName, tuple[str, ...]]] = []
        """Images that nodes were told to have soon."""

    @property
    def has_caught_up(self) -> bool:
        """Always True: everything is reported at once."""
        return True

    def acknowledge(self) -> None:
        """Nothing to do: no report is kept after it was polled."""

    def telemetry(self) -> tuple[Telemetry, ...]:
        """Everything that a test put into `measured` since the last call."""
        values, self.measured = tuple(self.measured), []
        return values

    def decided(self) -> None:
        """Nothing to do: nothing here decides in place of the control plane."""

    def read_output(self, job: JobId, attempt: int, rank: int, offset: int, limit: int) -> OutputPart:  # noqa: ARG002
        """Simulated workers print nothing."""
        raise NotFound(f"worker {rank} of {job} has printed nothing in attempt {attempt}")

    def measured_steps(self, job: JobId, attempts: int) -> tuple[MeasuredStep, ...]:  # noqa: ARG002
        """What a test put into `steps_measured`."""
        return tuple(self.steps_measured)

    def batch_steps(self, job: JobId, attempt: int) -> tuple[BatchStep, ...]:  # noqa: ARG002
        """What a test put into `steps_recorded`."""
        return tuple(self.steps_recorded)

    def stored_checkpoints(
        self,
        spec: JobSpec,  # noqa: ARG002
        run: str,  # noqa: ARG002
        *,
        step: int | None = None,
        verify: bool = False,  # noqa: ARG002
    ) -> tuple[FoundCheckpoint, ...]:
        """What a test put into `stored`."""
        return tuple(each for each in self.stored if step in (None, each.step))

    def remove_checkpoint(self, spec: JobSpec, run: str, step: int) -> None:  # noqa: ARG002
        """Remove it from `stored`."""
        self.stored = [each for each in self.stored if each.step != step]

    def stacks(self, job: JobId, timeout_s: float) -> dict[int, str]:  # noqa: ARG002
        """Simulated workers have no stacks."""
        raise NotFound(f"the processes of {job} cannot tell what they are doing")

    def signal(self, job: JobId, number: int, *, script_only: bool = False) -> None:
        """Note it in `signals`."""
        self.signals.append((job, number, script_only))

    def fenced(self, node: NodeName, because: str) -> None:
        """Somebody says that a node is off. In a pretended world every node that is lost is off anyway."""

    def pull_ahead(self, node: NodeName, images: tuple[str, ...]) -> None:
        """Note them in `pulled_ahead`."""
        self.pulled_ahead.append((node, images))

    def end_runs(self, runs: Iterable[str]) -> None:
        """Note them in `runs_over`."""
        self.runs_over.extend(runs)

    def attach(self, job: JobId, beside: Beside | None = None) -> Terminal:  # noqa: ARG002
        """Simulated workers have no terminal."""
        raise NotFound(f"{job} has no terminal")
