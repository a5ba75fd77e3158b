"""What a campaign needs of a simulated backend: faults to let happen, and the truth.

`processes.py` and `gangs.py` have the two that there are. Both know which process sits where, and whether a job has
really done its work.
"""

from collections.abc import Iterable
from typing import NamedTuple, Protocol

from muster.backends.base import Backend
from muster.model.ids import JobId, NodeName
from muster.model.job import Worker
from muster.model.node import Node
from muster.sim.campaign.workload import Submission


class LiveProcess(NamedTuple):
    """A process that is there, or is about to be."""

    job: JobId
    attempt: int
    worker: Worker


class TestedBackend(Backend, Protocol):
    """A simulated backend that knows the truth."""

    now_ms: int

    @property
    def next_ms(self) -> int | None:
        """When something happens next by itself."""
        ...

    def advance(self, to_ms: int) -> None:
        """Move the clock and let happen what happens until then."""
        ...

    def prepare(self, job: JobId, submission: Submission) -> None:
        """A job will be started that behaves like this."""
        ...

    def seats(self) -> tuple[LiveProcess, ...]:
        """Every process of every job."""
        ...

    def generation(self, job: JobId) -> int:
        """The newest generation seen for a job."""
        ...

    def has_done(self, job: JobId, attempt: int, ranks: tuple[int, ...], /) -> bool:
        """True when these processes of an attempt all ended well."""
        ...

    def overcounted(self) -> tuple[str, ...]:
        """Jobs whose accounts say that they trained longer than they occupied GPUs."""
        ...

    def lose(self, name: NodeName) -> None:
        """A node goes with all its processes."""
        ...

    def change(self, node: Node, because: str) -> None:
        """A node is back, is about to go, or has other bad GPUs; who uses one that has become bad crashes."""
        ...

    def slow(self, name: NodeName, speed: int) -> None:
        """A node becomes slower or recovers."""
        ...

    def lose_supervisor_for(self, name: NodeName, absence: "Absence") -> None:
        """The supervisor of a node dies, and what it ran goes on until somebody else sees to it."""
        ...

    def replace_supervisor(self, name: NodeName) -> None:
        """A node that has no supervisor gets one."""
        ...

    def is_attended(self, name: NodeName) -> bool:
        """True while a node has a supervisor."""
        ...

    def fall_silent(self, known_after_ms: int = 0) -> None:
        """The control plane is not heard any more; the supervisors know after a while."""
        ...

    def hear_again(self) -> None:
        """The control plane is heard."""
        ...

    def greet(self, nodes: Iterable[NodeName]) -> None:
        """Every node that has a supervisor says what it runs."""
        ...

    def change_home(self) -> None:
        """The nodes of another home take the place of these, which are fenced first."""
        ...

    @property
    def says_what_runs(self) -> bool:
        """True when a control plane that has forgotten everything can learn what runs."""
        ...

    def end_everything(self) -> None:
        """Every process of every job is ended, also where no supervisor is."""
        ...

    def excuse(self, until_ms: int) -> None:
        """Nobody who could keep limits is able to, until then."""
        ...

    def allow(self, late_ms: int) -> None:
        """Limits may be kept so much later from now on."""
        ...

    def forgive(self) -> None:
        """What runs now is not held to its limits: nobody who could keep them remembers it."""
        ...

    def overdue(self) -> tuple[str, ...]:
        """Processes that were alive long after their time, although somebody could reach them."""
        ...

    def has_failed_by_itself(self, job: JobId, attempt: int) -> bool:
        """True when a process of this attempt failed without having been told to leave."""
        ...

    def has_finished_by_itself(self, job: JobId, attempt: int, ranks: tuple[int, ...]) -> bool:
        """True when these processes ended well without having been told to leave, and their nodes can say so."""
        ...


class Absence(NamedTuple):
    """How long a node is without its supervisor."""

    noticed_after_ms: int
    ends_after_ms: int
    """When there is a successor, or the node is swept."""
    is_swept: bool
    """True: no successor can be started; one comes when as much time has passed again."""
