"""A node with all that Slurm would say of it."""

from dataclasses import dataclass
from functools import cached_property

from muster.answers.nodes import Node
from muster.model.node import NodeState
from muster.slurm.showing.job_rows import BYTES_PER_MB

_SHORT = {
    "idle": "idle",
    "mixed": "mix",
    "allocated": "alloc",
    "draining": "drng",
    "drained": "drain",
    "down": "down",
    "reserved": "resv",
    "unknown": "unk",
}
_AWAY = {
    NodeState.DOWN: "down",
    NodeState.DRAINING: "drained",
    NodeState.DRAINED: "drained",
    NodeState.PROBATION: "drained",
}


@dataclass(frozen=True)
class NodeRow:
    """One node as a member of its partition."""

    node: Node
    default_pool: str

    @property
    def partition(self) -> str:
        """Its pool, with a star for the one that jobs use by default."""
        return f"{self.node.pool}*" if self.node.pool == self.default_pool else self.node.pool

    @cached_property
    def state(self) -> str:
        """Its state in full."""
        away = _AWAY.get(NodeState(self.node.state))
        if away is not None:
            return "draining" if away == "drained" and self.is_used else away
        if not self.is_used:
            return "idle"
        is_full = self.node.used.gpus >= self.node.gpus if self.node.gpus else self.used_cpus >= self.cpus
        return "allocated" if is_full else "mixed"

    @property
    def short_state(self) -> str:
        """Its state in short."""
        return _SHORT.get(self.state, self.state)

    @property
    def is_up(self) -> bool:
        """True when it takes jobs."""
        return self.state in ("idle", "mixed", "allocated")

    @property
    def is_used(self) -> bool:
        """True when something runs on it."""
        used = self.node.used
        return bool(self.node.jobs or used.gpus or used.cpus or used.memory_bytes)

    @property
    def cpus(self) -> int:
        """Its CPUs. A node that does not count them has one for each GPU, as many as jobs have, and at least one."""
        return int(self.node.cpus) if self.node.cpus is not None else max(self.node.gpus, self.used_cpus, 1)

    @property
    def used_cpus(self) -> int:
        """CPUs that jobs have asked for."""
        return round(self.node.used.cpus)

    @property
    def idle_cpus(self) -> int:
        """CPUs that jobs can get."""
        return self.cpus - self.used_cpus if self.is_up else 0

    @property
    def other_cpus(self) -> int:
        """CPUs that are neither used nor to be had."""
        return self.cpus - self.used_cpus - self.idle_cpus

    @property
    def memory_mb(self) -> int:
        """Its memory in megabytes. Where it is not counted, 1: what Slurm has of a node that nobody configured."""
        return (self.node.memory_bytes or 0) // BYTES_PER_MB or 1

    @property
    def used_mb(self) -> int:
        """Memory that jobs have asked for."""
        return self.node.used.memory_bytes // BYTES_PER_MB

    @property
    def free_mem(self) -> str:
        """Memory that jobs have not asked for, where it is counted."""
        return "N/A" if self.node.memory_bytes is None else str(max(self.memory_mb - self.used_mb, 0))

    @property
    def used_tres(self) -> str:
        """What jobs have of it, as `cpu=8,mem=4G,gres/gpu=2`."""
        used = self.node.used
        parts = [f"cpu={self.used_cpus}"] if used.cpus else []
        parts += [f"mem={self.used_mb}M"] if self.used_mb else []
        parts += [f"gres/gpu={used.gpus:g}"] if used.gpus else []
        return ",".join(parts)

    @property
    def disk_mb(self) -> int:
        """Its disk in megabytes."""
        return (self.node.disk_bytes or 0) // BYTES_PER_MB

    @property
    def _gpu(self) -> str:
        return f"gpu:{self.node.gpu_type}" if self.node.gpu_type else "gpu"

    @property
    def gres(self) -> str:
        """Its GPUs, as `gpu:h100:8`."""
        return f"{self._gpu}:{self.node.gpus}" if self.node.gpus else "(null)"

    @property
    def gres_used(self) -> str:
        """The GPUs that are in use."""
        return f"{self._gpu}:{self.node.used.gpus:g}" if self.node.gpus else "gpu:0"

    @property
    def features(self) -> str:
        """What can be asked for by name: the GPU type, the place in the topology and the labels."""
        labels = self.node.document.get("labels") or []
        named = labels if isinstance(labels, list) else [f"{key}={value}" for key, value in labels.items()]
        return ",".join(filter(None, [self.node.gpu_type, *self.node.domains.values(), *map(str, named)])) or "(null)"

    @property
    def tres(self) -> str:
        """What it has, as `cpu=64,mem=512000M`."""
        gpus = f",gres/gpu={self.node.gpus}" if self.node.gpus else ""
        return f"cpu={self.cpus},mem={self.memory_mb}M,billing={self.cpus}{gpus}"


def node_rows(nodes: tuple[Node, ...]) -> list[NodeRow]:
    """All nodes. Jobs use the pool `main` by default, or else that of the first node."""
    pools = [node.pool for node in nodes]
    default = "main" if "main" in pools or not pools else pools[0]
    return [NodeRow(node, default) for node in nodes]
