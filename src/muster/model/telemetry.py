"""What nodes measure. Values follow one another and older ones are not kept; only verdicts on them become events."""

from muster.model.ids import JobId, NodeName
from muster.model.records import Record


class Signal(Record, frozen=True, kw_only=True):
    """One measured value of a node, a GPU or a network interface."""

    node: NodeName
    at_ms: int
    signal: str
    """One of the names in the section Health of the documents, or `custom.NAME`."""
    value: int = 0
    """In the unit of the signal: degrees Celsius, counts, watts, Mbit/s, bytes, milliseconds."""
    gpu: int | None = None
    nic: str = ""
    verdict: str = ""
    """What a custom signal says by itself: ok, suspect or bad."""

    @property
    def subject(self) -> tuple[object, ...]:
        """What was measured where. A newer value of the same replaces this one."""
        return ("signal", self.node, self.signal, self.gpu, self.nic)


class RankProgress(Record, frozen=True, kw_only=True):
    """How far one process of a job is, and how long its steps take."""

    job: JobId
    attempt: int
    at_ms: int
    rank: int
    """The rank of the framework: one for each process."""
    world: int
    worker: int
    """The rank of the worker that the process belongs to."""
    node: NodeName
    step: int
    step_ms: int
    """When the last step ended."""
    steps: int = 0
    """How many steps were measured since the last report of this rank."""
    step_us: int = 0
    """The median duration of these steps; 0 when there were none."""
    busy_us: int = 0
    """The median of the time in which the rank was busy itself; 0 when that is not measured."""
    p99_us: int = 0
    is_saving: bool = False
    is_closed: bool = False
    """Its training is over, or it has saved and left."""
    board: int = 0
    """Differs from the one before when the process of the rank was replaced inside of its worker."""

    @property
    def subject(self) -> tuple[object, ...]:
        """Whose progress it is. A newer report of the same replaces this one."""
        return ("rank", self.job, self.node, self.rank)


Telemetry = Signal | RankProgress
