"""The health of nodes: the state of each, of its GPUs, and what was measured."""

from dataclasses import dataclass
from typing import Annotated

from muster.answers.base import Answer
from muster.answers.marks import NEEDED, Otherwise, Time, Word
from muster.model.node import NodeState


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuCondition(Answer):
    """One GPU of a node."""

    index: int
    state: Annotated[str, Word(NodeState)]
    """`drained` when it is bad and out of service, `suspect` when something speaks against it, else `ready`."""
    because: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredSignal(Answer):
    """The newest value of one thing that was measured on a node."""

    signal: str
    gpu: int | None
    """The GPU that it is about; null when it is about the node or an interface."""
    nic: str | None
    value: int
    unit: Annotated[str, Otherwise("")]
    """What the value counts: `°C`, `errors`, `W`, `Mbit/s`, `bytes` or `ms`; empty for what is or is not, and for
    signals of operators."""
    verdict: str | None
    """What a custom signal says by itself."""
    rise: int | None
    """By how much a counter rose lately; null for other signals."""
    at: Time


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeHealth(Answer):
    """The health of one node."""

    node: Annotated[str, NEEDED]
    state: Annotated[str, Word(NodeState)]
    since: Time
    """Since when it is in this state; for its first state, since when the server watches it."""
    because: str | None
    """What speaks against it, and what it waits for."""
    gpus: tuple[GpuCondition, ...]
    signals: tuple[MeasuredSignal, ...]
    notes: tuple[str, ...]
    """What an operator should know about the probes of the node. A note is no verdict."""
