"""What nodes measure, and verdicts on it. Measured values are not kept; verdicts become events."""

import re

from muster.model.ids import JobId, NodeName
from muster.model.records import Record

CUSTOM = "custom."
"""The beginning of the names of signals that an operator defines."""

VERDICTS = ("ok", "suspect", "bad")
"""What a custom signal can say."""

_CUSTOM_NAME = re.compile(r"custom\.[A-Za-z0-9_.-]{1,64}")


class SignalKind(Record, frozen=True, kw_only=True):
    """What a measured value of one name means."""

    unit: str
    is_counter: bool = False
    """It only grows, so what matters is by how much it rose lately."""
    is_grave: bool = False
    """A counter that should be zero: what it shows when it is first seen counts as a rise."""
    is_flag: bool = False
    """Zero or not. Without a value it means one."""
    is_of_gpu: bool = False


SIGNALS: dict[str, SignalKind] = {
    "gpu_temperature": SignalKind(unit="°C", is_of_gpu=True),
    "gpu_throttled": SignalKind(unit="", is_flag=True, is_of_gpu=True),
    "gpu_ecc_corrected": SignalKind(unit="errors", is_counter=True, is_of_gpu=True),
    "gpu_ecc_uncorrected": SignalKind(unit="errors", is_counter=True, is_grave=True, is_of_gpu=True),
    "gpu_xid": SignalKind(unit="errors", is_counter=True, is_grave=True, is_of_gpu=True),
    "gpu_lost": SignalKind(unit="", is_flag=True, is_of_gpu=True),
    "gpu_power": SignalKind(unit="W", is_of_gpu=True),
    "nic_speed": SignalKind(unit="Mbit/s"),
    "nic_errors": SignalKind(unit="errors", is_counter=True),
    "nic_down": SignalKind(unit="", is_flag=True),
    "disk_free": SignalKind(unit="bytes"),
    "disk_errors": SignalKind(unit="errors", is_counter=True),
    "memory_errors": SignalKind(unit="errors", is_counter=True),
    "clock_offset": SignalKind(unit="ms"),
}
"""All names of signals but those of operators, which begin with `custom.`."""


def is_custom(name: str) -> bool:
    """True for the name of a signal that an operator defines."""
    return _CUSTOM_NAME.fullmatch(name) is not None


class Signal(Record, frozen=True, kw_only=True):
    """One measured value of a node, a GPU or a network interface."""

    node: NodeName
    at_ms: int
    signal: str
    """One of `SIGNALS`, or `custom.NAME`."""
    value: int = 0
    """In the unit of the signal: degrees Celsius, counts, watts, Mbit/s, bytes, milliseconds."""
    gpu: int | None = None
    nic: str = ""
    verdict: str = ""
    """What a custom signal says by itself: ok, suspect or bad."""
    rise: int = 0
    """By how much a counter rose lately, as the node has seen it."""
    best: int = 0
    """The highest speed that an interface has had."""
    is_gone: bool = False
    """It is not measured any more: the command that reported it has run well without it."""
    is_shared: bool = False
    """It is about the machine, which several nodes share. So it says nothing about this one."""

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


class ProbeNote(Record, frozen=True, kw_only=True):
    """Something about a probe that an operator should know. It is no verdict on the node."""

    node: NodeName
    at_ms: int
    probe: str
    text: str = ""
    """Empty when all is well again."""

    @property
    def subject(self) -> tuple[object, ...]:
        """The probe. A newer note on it replaces this one."""
        return ("note", self.node, self.probe)


class NodeTested(Record, frozen=True, kw_only=True):
    """The test of a node has ended."""

    node: NodeName
    at_ms: int
    number: int
    """The number of the request."""
    exit_code: int
    problem: str = ""
    """Why it has no exit code of its own, or the last line that it printed."""

    @property
    def subject(self) -> tuple[object, ...]:
        """The node. A newer test replaces this one."""
        return ("tested", self.node)


Telemetry = Signal | RankProgress | ProbeNote | NodeTested


class Straggler(Record, frozen=True, kw_only=True):
    """A rank that is persistently slower than those that do the same work."""

    rank: int
    """The rank of the framework: one for each process."""
    worker: int
    """The rank of the worker that the process belongs to."""
    node: NodeName
    gpus: tuple[int, ...] = ()
    """The devices that it uses, as far as that is known: its own, or all of its worker."""
    slowdown_milli: int
    """Its busy time over that of its peers, in thousandths."""
    since_ms: int
    steps: int = 0
    """In how many steps this was seen before it was said."""
    usual_milli: int = 0
    """The same ratio for its node in earlier attempts; 0 when none is known."""


class Hang(Record, frozen=True, kw_only=True):
    """No rank has made a step for much longer than a step takes."""

    since_ms: int
    """When the last step was seen."""
    ranks: tuple[int, ...]
    """Those that the others wait for; all when that cannot be told."""
    nodes: tuple[NodeName, ...] = ()
    """Where these are; empty when it cannot be told which ranks are to blame."""
    step: int = 0
    """The last step that any rank has made."""
