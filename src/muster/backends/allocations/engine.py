"""The port to an engine that gives nodes away only for a while: Slurm, and whatever else has a queue of its own.

Muster decides which nodes a gang gets. The engine is asked for exactly these, and starts an agent on each. From then on
the agents are talked to as everywhere else; the engine is asked only how its allocations and its nodes are.

- **Named by Muster.** Every allocation carries an id that Muster has drawn, and is found again by it. So a request
  whose answer was lost is not made twice.
- **Calls wait**, each for a bounded time, and are made on a thread of the engine's own. They raise `EngineSilent` when
  the engine cannot be asked. Then nothing is known, and nothing is concluded.
- **Devices are the engine's to number.** The numbers that a placement names are Muster's accounting there. An agent
  takes the devices that the engine shows it.
"""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import NewType, Protocol

from muster.model.ids import EngineName, GpuType, JobId, NodeName
from muster.model.job import Cause
from muster.model.node import Node
from muster.model.spec import Mount

AllocationId = NewType("AllocationId", str)
"""Drawn by Muster for each request, and never used again."""


class EngineSilent(Exception):
    """The engine cannot be asked now; the message says why, and what to do where a person can do something."""


class RequestRefused(Exception):
    """The engine does not take the request; the message is what it says."""

    def __init__(self, message: str, *, is_mistake: bool = False) -> None:
        """`is_mistake` says that the job itself is to blame, so that it would be refused again."""
        super().__init__(message)
        self.is_mistake = is_mistake


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineNode:
    """A node as the engine sees it."""

    node: Node
    """With the state that follows for Muster, and the domains that the engine knows, outermost first."""
    address: str
    """Where other nodes reach it."""
    because: str = ""
    """Why it takes no work, in the engine's words."""
    gpus_used: int = 0
    """By jobs of all users, those of Muster among them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeShare:
    """What a request asks of each of some nodes."""

    nodes: tuple[NodeName, ...]
    gpus: int = 0
    gpu_type: GpuType = GpuType("")
    cpus: int = 1
    cpu_milli: int = 0
    """As job files say, for engines that limit it; 0 where they say nothing."""
    memory_bytes: int = 0
    """0 leaves it to the engine."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AllocationRequest:
    """Nodes for workers that start together."""

    id: AllocationId
    job: JobId
    attempt: int
    shares: tuple[NodeShare, ...]
    limit_s: int | None = None
    """After how long the engine is to end it at the latest, if nobody else has; None leaves it to the engine."""
    grace_s: int = 0
    """How long its workers may take to leave when the engine tells them to."""
    is_exclusive: bool = False
    image: str = ""
    """What its workers run in, for engines that run images; empty for the engine's own."""
    mounts: tuple[Mount, ...] = ()
    token: str = field(default="", repr=False)
    """What its agents show to the control plane."""


class AllocationPhase(StrEnum):
    """How far an allocation is."""

    WAITING = "waiting"
    RUNNING = "running"
    ENDING = "ending"
    """The engine ends it, and something of it may be alive."""
    ENDED = "ended"
    """Nothing of it is alive on any node that the engine can reach."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenAllocation:
    """What the engine says about one of Muster's allocations."""

    id: AllocationId
    engine_id: str
    """The engine's own name for it."""
    phase: AllocationPhase
    nodes: tuple[NodeName, ...] = ()
    """Those that it still has, while it runs."""
    over: tuple[NodeName, ...] = ()
    """Those on which it is over already, in order, while it runs on others or the engine cannot say more."""
    cause: Cause | None = None
    """Why it ended, in Muster's words; None while it lasts, or if it just ended."""
    because: str = ""
    """The same for people; while it waits, what it waits for."""
    is_mistake: bool = False
    """True when the job itself is to blame that it could not begin: it would fail in the same way again."""
    needs_cancel: bool = False
    """True while the engine ends the rest of it, or removes what is left of it, only when it is cancelled."""


class AllocationEngine(Protocol):
    """One engine. Only one thread calls it, one call at a time."""

    @property
    def name(self) -> EngineName:
        """What nodes call it."""
        ...

    @property
    def runs_images(self) -> bool:
        """True when it runs agents in the images of their jobs. Then these need no container runtime."""
        ...

    def address(self, allocation: AllocationId, node: NodeName) -> str:
        """Where other workers of an allocation reach its post on a node; empty for the address of the node."""
        ...

    def inventory(self) -> tuple[EngineNode, ...]:
        """The nodes that Muster may use, as they are now."""
        ...

    def submit(self, request: AllocationRequest) -> str:
        """Ask for nodes. Returns the engine's own name for the allocation. Raises `RequestRefused`."""
        ...

    def cancel(self, engine_id: str) -> None:
        """End an allocation with everything in it. Nothing happens to one that has ended."""
        ...

    def look(self) -> tuple[SeenAllocation, ...]:
        """All allocations of this Muster, and those that ended in the last minutes."""
        ...

    def close(self) -> None:
        """No more calls are made. Allocations go on."""
        ...
