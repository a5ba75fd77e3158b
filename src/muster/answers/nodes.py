"""Nodes, and what runs there that nobody knows."""

from dataclasses import dataclass
from typing import Annotated

from muster.answers.base import Answer
from muster.answers.jobs import Worker
from muster.answers.marks import NEEDED, NULL_IF_EMPTY, Word
from muster.model.node import NodeState


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeUse(Answer):
    """What is in use of a node."""

    gpus: float
    cpus: float
    memory_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Node(Answer):
    """A machine, what it has and what is in use of it."""

    name: Annotated[str, NEEDED]
    state: Annotated[str, Word(NodeState)]
    gpus: int
    gpu_type: Annotated[str, NULL_IF_EMPTY]
    cpus: float | None
    """Null when nobody said."""
    memory_bytes: int | None
    disk_bytes: int | None
    pool: str
    domains: dict[str, str]
    """By level: where in the topology it stands."""
    bad_gpus: tuple[int, ...]
    quarantined_gpus: tuple[int, ...]
    """Used by what nobody here has started: see /v1/quarantine."""
    used: NodeUse
    jobs: tuple[str, ...]
    """Those that run here and that you may see."""
    because: str | None
    """Why it is in this state."""
    engine: str
    """What starts processes there: `local` is this machine."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QuarantinedGang(Answer):
    """What nodes run of a job that nobody here has started."""

    job: Annotated[str, NEEDED]
    attempt: int
    name: str | None
    """From its job file; null where no node has kept it."""
    team: str | None
    state: str | None
    """Of the job with this id, if there is one."""
    workers: tuple[Worker, ...]
