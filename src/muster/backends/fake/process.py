"""One worker of one attempt, and what is known about a job."""

from dataclasses import dataclass, field

from muster.backends.fake.script import GangScript
from muster.model.events import StartFailed, WorkersExited
from muster.model.ids import JobId, NodeName
from muster.model.job import Worker
from muster.model.spec import JobSpec
from muster.worker.deadlines import Deadlines


@dataclass(slots=True, kw_only=True)
class Process:
    """One worker of one attempt, from the command that starts it."""

    job: JobId
    attempt: int
    worker: Worker
    script: GangScript
    grace_ms: int
    """The time it gets when its supervisor tells it to leave."""
    deadlines: Deadlines = field(default_factory=Deadlines)
    """When its supervisor acts by itself."""
    must_end_ms: int | None = None
    """When its limit or its grace period is over, whether control plane or supervisor enforces it. Only for checks."""
    is_up: bool = False
    is_told: bool = False
    is_overdue: bool = False
    """Told by its supervisor, because its maximum duration was over."""
    is_lost: bool = False
    """Its node is gone, or a newer attempt ended it: it reports nothing by itself any more."""
    end: WorkersExited | StartFailed | None = None
    """How it ended, for as long as a command may ask again."""
    is_unsaid: bool = False
    """It ended while its node had no supervisor: only its exit record says how."""

    @property
    def is_alive(self) -> bool:
        """True while it has a process, or is about to."""
        return self.end is None and not self.is_lost

    @property
    def is_running(self) -> bool:
        """True while it has a process."""
        return self.is_up and self.is_alive


@dataclass(slots=True, kw_only=True)
class FakeGang:
    """What is known about one job."""

    generation: int = 0
    attempt: int = 0
    processes: dict[int, Process] = field(default_factory=dict)
    spec: JobSpec | None = None
    """What its present attempt runs."""
    unheard: dict[int, NodeName] = field(default_factory=dict)
    """Ranks whose start went to a node without a supervisor, and the node."""

    @property
    def first(self) -> Process | None:
        """The living worker with the lowest rank."""
        alive = [process for process in self.processes.values() if process.is_alive]
        return min(alive, key=lambda process: process.worker.rank, default=None)
