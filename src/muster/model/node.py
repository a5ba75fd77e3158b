"""The machines: what each has, where it stands in the topology, whether it may be used, and what befell it."""

from enum import StrEnum

from muster.model.ids import DEFAULT_POOL, LOCAL_ENGINE, EngineName, GpuType, LevelName, NodeName, PoolName
from muster.model.records import Record
from muster.model.resources import UNTRACKED


class NodeState(StrEnum):
    """Whether new work may be placed on a node, and whether what runs there may stay."""

    READY = "ready"
    SUSPECT = "suspect"
    """Failed recently: used last, and never for a gang that fits elsewhere."""
    DRAINING = "draining"
    """Takes no new work. What runs there may run to its end, unless health took the node out: then it moves."""
    DRAINED = "drained"
    PROBATION = "probation"
    """Was taken out by health and looks well again. Takes no work until it has stayed well for a while."""
    DOWN = "down"
    """Cannot be reached. What ran there counts as alive until it is known to be gone."""

    @property
    def takes_work(self) -> bool:
        """True when the scheduler may place something new here."""
        return self in (NodeState.READY, NodeState.SUSPECT)


class Node(Record, frozen=True, kw_only=True):
    """One machine."""

    name: NodeName
    gpus: int = 0
    gpu_type: GpuType = GpuType("")
    """Empty on machines without GPUs, or where the only kind of GPU was not named."""
    cpu_milli: int = UNTRACKED
    memory_bytes: int = UNTRACKED
    disk_bytes: int = UNTRACKED
    domains: tuple[str, ...] = ()
    """The name of the domain at each configured level, outermost first."""
    pool: PoolName = DEFAULT_POOL
    state: NodeState = NodeState.READY
    bad_gpus: tuple[int, ...] = ()
    """Single devices that must not be used. The rest of the node may be."""
    used_by_others: tuple[int, ...] = ()
    """Devices that jobs of its engine use which are not Muster's. Planning leaves them out, and they are not bad."""
    labels: tuple[str, ...] = ()
    """Words that jobs may ask for in a `constraint`, sorted."""
    engine: EngineName = LOCAL_ENGINE
    """What starts processes here."""
    runtime: str | None = None
    """Its container runtime; empty when it has none that works, and None while it has not said."""
    whole_gpus: bool = False
    """True where its engine gives nobody a part of a GPU."""
    spare: bool = False
    """Kept free for a job that loses a node. Set only in the nodes that planning sees, where a spare takes no work."""

    @property
    def runs_images(self) -> bool:
        """False when the node has said that it has no container runtime."""
        return self.runtime != ""

    @property
    def known_as(self) -> tuple[str, ...]:
        """What a constraint may name: the labels of the node, its type of GPU, and its name."""
        kinds = (str(self.gpu_type),) if self.gpu_type else ()
        return (*self.labels, *kinds, str(self.name))


class ClusterSpec(Record, frozen=True, kw_only=True):
    """All machines and the names of the topology levels above them."""

    levels: tuple[LevelName, ...] = ()
    """Outermost first; `node` is implied as the last."""
    nodes: tuple[Node, ...] = ()
    nvlink_level: LevelName | None = None
    """The level that tensor-parallel groups may span; None means the node itself."""


VERDICTS_KEPT = 8
"""How many verdicts on a node are remembered. More make no difference to how long its next return takes."""


class HealthRecord(Record, frozen=True, kw_only=True):
    """What is remembered about the health of one node."""

    since_ms: int = 0
    """When the node came into its present state; 0 while it is in its first."""
    overruled_ms: int = 0
    """When an operator last put the node back into service; 0 for never."""
    verdicts_ms: tuple[int, ...] = ()
    """When health took out the node or one of its GPUs, oldest first: the last few times."""
