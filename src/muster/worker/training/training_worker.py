"""One worker as far as its training is concerned, and where what it reports goes."""

from collections.abc import Callable
from dataclasses import dataclass, field

from muster.model.ids import JobId
from muster.model.telemetry import Telemetry
from muster.worker.launch.launch_spec import LaunchSpec
from muster.worker.messages import CheckpointReport
from muster.worker.training.worker_boards import WorkerBoards


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeReports:
    """Where reports and measured values go, and what time it is there."""

    report: Callable[[CheckpointReport], None]
    measure: Callable[[Telemetry], None]
    clock: Callable[[], int]
    """The time of day, in milliseconds."""


@dataclass(slots=True, kw_only=True)
class TrainingWorker:
    """One worker, as far as its training is concerned."""

    job: JobId
    attempt: int
    rank: int
    launch_spec: LaunchSpec
    boards: WorkerBoards
    stack_pids: dict[int, int] = field(default_factory=dict)
    """By rank of the framework, the processes that write their stacks when signalled."""
