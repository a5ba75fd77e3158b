"""Nodes, and the gangs that run there although the log does not know them."""

from dataclasses import dataclass
from typing import Annotated

from muster.answers.base import Answer
from muster.answers.jobs import Worker
from muster.answers.marks import NEEDED, NULL_IF_EMPTY, Time, Word
from muster.model.node import NodeState


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeUse(Answer):
    """What is in use on a node."""

    gpus: float
    cpus: float
    memory_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuUse(Answer):
    """GPUs of a node that a worker has. Of a job that you may not see, only that they are in use."""

    job: str | None
    name: str | None
    team: str | None
    gpus: tuple[int, ...]
    share: float | None
    """The part of one GPU that it has; null when it has whole GPUs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Node(Answer):
    """A machine, what it has and what is in use on it."""

    name: Annotated[str, NEEDED]
    state: Annotated[str, Word(NodeState)]
    gpus: int
    gpu_type: Annotated[str, NULL_IF_EMPTY]
    cpus: float | None
    """Null when it is not configured."""
    memory_bytes: int | None
    disk_bytes: int | None
    pool: str
    domains: dict[str, str]
    """Its place in the topology: the domain at each level."""
    bad_gpus: tuple[int, ...]
    quarantined_gpus: tuple[int, ...]
    """GPUs used by gangs that the server has not started: see /v1/quarantine."""
    used: NodeUse
    jobs: tuple[str, ...]
    """The jobs that run here and that you may see."""
    gpu_uses: tuple[GpuUse, ...]
    """Who has which of its GPUs."""
    because: str | None
    """Why it is in this state."""
    engine: str
    """What starts processes on the node; `local` means the machine of the server."""
    spare: bool
    """True while it is kept free for a job that loses a node (`spares` of the policy)."""
    labels: tuple[str, ...]
    """Words that jobs may ask for in a `constraint`."""
    reservations: tuple[str, ...]
    """The reservations that set it aside, now or later."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reservation(Answer):
    """Nodes that are set aside for a while, and for whom."""

    name: Annotated[str, NEEDED]
    nodes: tuple[str, ...]
    start: Time
    end: Time
    team: str | None
    """Whose jobs may use the nodes; with neither a team nor a user, nobody's."""
    user: str | None
    because: str | None
    open: bool
    """True from its start until its end."""
    evicts: tuple[str, ...]
    """Jobs that run there, are not admitted, may run on until it starts, and that you may see. They are told to leave
    when it starts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QuarantinedGang(Answer):
    """A gang that runs on nodes although the server has not started it."""

    job: Annotated[str, NEEDED]
    attempt: int
    name: str | None
    """From its job file; null when no node has kept the file."""
    team: str | None
    state: str | None
    """The state of the job with this id; null when there is no such job."""
    workers: tuple[Worker, ...]
