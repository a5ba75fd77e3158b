"""What a campaign needs of a simulated backend: methods for faults, and the truth about what runs.

`process_backend` and `gang_backend` have the two implementations. Both know which process runs where, and whether a job
has really done its work.
"""

from collections.abc import Iterable
from typing import NamedTuple, Protocol

from muster.backends.base import Backend
from muster.backends.fake.checkpoint_files import CheckpointFiles
from muster.model.ids import JobId, NodeName
from muster.model.job import Worker
from muster.model.node import Node
from muster.sim.campaign.workload import Submission


class LiveProcess(NamedTuple):
    """A process that is alive, or is about to start."""

    job: JobId
    attempt: int
    worker: Worker


class TestedBackend(Backend, Protocol):
    """A simulated backend that knows the truth."""

    now_ms: int
    files: CheckpointFiles
    """The checkpoints that jobs have really saved by steps."""
    misled: list[str]
    """Attempts whose ranks were told to resume from different steps."""

    @property
    def next_ms(self) -> int | None:
        """When the next event happens by itself."""
        ...

    def advance(self, to_ms: int) -> None:
        """Move the clock, and let everything happen that is due by then."""
        ...

    def prepare(self, job: JobId, submission: Submission) -> None:
        """Register how a job behaves that will be started."""
        ...

    def seats(self) -> tuple[LiveProcess, ...]:
        """Every process of every job."""
        ...

    def generation(self, job: JobId) -> int:
        """The newest generation seen for a job."""
        ...

    def has_done(self, job: JobId, attempt: int, ranks: tuple[int, ...], /) -> bool:
        """True when these processes of an attempt all ended with success."""
        ...

    def overcounted(self) -> tuple[str, ...]:
        """Jobs whose accounts show more GPU time than they occupied."""
        ...

    def lose(self, name: NodeName) -> None:
        """A node is lost with all its processes."""
        ...

    def change(self, node: Node, because: str) -> None:
        """A node is back, is about to go, or has other bad GPUs. A job that uses a bad GPU crashes."""
        ...

    def slow(self, name: NodeName, speed: int) -> None:
        """A node becomes slower or recovers."""
        ...

    def lose_supervisor_for(self, name: NodeName, absence: "Absence") -> None:
        """The supervisor of a node dies. What it ran goes on until a successor or a sweep ends it."""
        ...

    def replace_supervisor(self, name: NodeName) -> None:
        """A node that has no supervisor gets one."""
        ...

    def is_attended(self, name: NodeName) -> bool:
        """True while a node has a supervisor."""
        ...

    def fall_silent(self, known_after_ms: int = 0) -> None:
        """The control plane is not heard any more. The supervisors know it after `known_after_ms`."""
        ...

    def hear_again(self) -> None:
        """The control plane is heard again."""
        ...

    def greet(self, nodes: Iterable[NodeName]) -> None:
        """Every node that has a supervisor reports what it runs."""
        ...

    def change_home(self) -> None:
        """The nodes of another home replace these nodes, which are fenced first."""
        ...

    @property
    def says_what_runs(self) -> bool:
        """True when a control plane that has forgotten everything can learn what runs."""
        ...

    def end_everything(self) -> None:
        """End every process of every job, also on nodes without a supervisor."""
        ...

    def refuse_uploads(self, for_ms: int) -> None:
        """Durable storage refuses every copy for a while."""
        ...

    def excuse(self, until_ms: int) -> None:
        """Until then, nothing can enforce limits."""
        ...

    def allow(self, late_ms: int) -> None:
        """From now on, limits may be enforced this much later."""
        ...

    def forgive(self) -> None:
        """What runs now is not held to its limits: the log that knew them is gone."""
        ...

    def overdue(self) -> tuple[str, ...]:
        """Processes that were alive long after their limit, although their nodes could be reached."""
        ...

    def has_failed_by_itself(self, job: JobId, attempt: int) -> bool:
        """True when a process of this attempt failed without having been told to leave."""
        ...

    def has_finished_by_itself(self, job: JobId, attempt: int, ranks: tuple[int, ...]) -> bool:
        """True when these processes ended with success, were not told to leave, and their nodes can report it."""
        ...


class Absence(NamedTuple):
    """How long a node is without its supervisor."""

    noticed_after_ms: int
    ends_after_ms: int
    """When a successor comes, or the node is swept."""
    is_swept: bool
    """True: no successor can be started and the node is swept. A successor comes after as much time again."""
