"""Nodes, and the gangs that run there although the log does not know them."""

from dataclasses import dataclass
from typing import Annotated

from muster.answers.base import Answer
from muster.answers.jobs import Worker
from muster.answers.marks import NEEDED, NULL_IF_EMPTY, Word
from muster.model.node import NodeState


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeUse(Answer):
    """What is in use on a node."""

    gpus: float
    cpus: float
    memory_bytes: int


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
    because: str | None
    """Why it is in this state."""
    engine: str
    """What starts processes on the node; `local` means the machine of the server."""
    spare: bool
    """True while it is kept free for a job that loses a node (`spares` of the policy)."""


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
