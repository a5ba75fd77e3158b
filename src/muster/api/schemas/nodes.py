"""Nodes as they are sent."""

from pydantic import Field

from muster.api.schemas.base import Schema
from muster.model.node import NodeState


class NodeUse(Schema):
    """What is in use of a node."""

    gpus: float
    cpus: float
    memory_bytes: int


class Node(Schema):
    """A machine, what it has and what is in use of it."""

    name: str
    state: NodeState
    gpus: int
    gpu_type: str | None
    cpus: float | None = Field(description="Null when nobody said.")
    memory_bytes: int | None
    disk_bytes: int | None
    pool: str
    domains: dict[str, str] = Field(description="By level: where in the topology it stands.")
    bad_gpus: list[int]
    quarantined_gpus: list[int] = Field(description="Used by what nobody here has started: see /v1/quarantine.")
    used: NodeUse
    jobs: list[str] = Field(description="Those that run here and that you may see.")
    because: str | None = Field(description="Why it is in this state.")
