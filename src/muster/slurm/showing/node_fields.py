"""All fields of nodes by name, for sinfo. A line is about all nodes that do not differ in what it shows."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from muster.slurm.showing.columns import Field, catalog
from muster.slurm.showing.host_lists import compressed
from muster.slurm.showing.node_rows import NodeRow


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeGroup:
    """Nodes that share a line."""

    nodes: tuple[NodeRow, ...]
    partition: str
    """Shown also when there is no node."""

    @property
    def first(self) -> NodeRow | None:
        """A node that stands for all."""
        return self.nodes[0] if self.nodes else None


def _one(value: Callable[[NodeRow], object], otherwise: object = "") -> Callable[[NodeGroup], object]:
    """What all nodes of a line have in common."""
    return lambda group: otherwise if group.first is None else value(group.first)


def _sum(group: NodeGroup, value: Callable[[NodeRow], int]) -> int:
    return sum(value(each) for each in group.nodes)


def _cpu_states(group: NodeGroup) -> str:
    parts = (
        _sum(group, lambda each: each.used_cpus),
        _sum(group, lambda each: each.idle_cpus),
        _sum(group, lambda each: each.other_cpus),
        _sum(group, lambda each: each.cpus),
    )
    return "/".join(map(str, parts))


def _node_states(group: NodeGroup, *, with_other: bool) -> str:
    used = sum(each.is_up and each.state != "idle" for each in group.nodes)
    idle = sum(each.state == "idle" for each in group.nodes)
    more = f"/{len(group.nodes) - used - idle}/{len(group.nodes)}" if with_other else ""
    return f"{used}/{idle}{more}"


def _names(group: NodeGroup) -> str:
    return compressed(each.node.name for each in group.nodes)


def _cpus(group: NodeGroup) -> str:
    counts: Sequence[int] = [each.cpus for each in group.nodes]
    return "0" if not counts else str(counts[0]) if min(counts) == max(counts) else f"{min(counts)}+"


def _field(name: str, value: Callable[[NodeGroup], object], title: str = "") -> Field[NodeGroup]:
    return Field(name=name, value=value, title=title)


NODE_FIELDS = catalog(
    (
        _field("Partition", lambda group: group.partition),
        _field("PartitionName", lambda group: group.partition.removesuffix("*"), "PARTITION"),
        _field("Available", lambda _: "up", "AVAIL"),
        _field("Time", lambda _: "infinite", "TIMELIMIT"),
        _field("DefaultTime", lambda _: "n/a", "DEFAULTTIME"),
        _field("Nodes", lambda group: len(group.nodes)),
        _field("NodeAI", lambda group: _node_states(group, with_other=False), "NODES(A/I)"),
        _field("NodeAIOT", lambda group: _node_states(group, with_other=True), "NODES(A/I/O/T)"),
        _field("NodeList", _names),
        _field("NodeHost", _one(lambda each: each.node.name), "HOSTNAMES"),
        _field("NodeAddr", _one(lambda each: each.node.name), "NODE_ADDR"),
        _field("StateCompact", _one(lambda each: each.short_state, "n/a"), "STATE"),
        _field("StateLong", _one(lambda each: each.state, "n/a"), "STATE"),
        _field("State", _one(lambda each: each.state, "n/a"), "STATE"),
        _field("CPUs", _cpus),
        _field("CPUsState", _cpu_states, "CPUS(A/I/O/T)"),
        _field("SocketCoreThread", _one(lambda each: f"1:{each.cpus}:1"), "S:C:T"),
        _field("Sockets", lambda _: 1),
        _field("Cores", _cpus),
        _field("Threads", lambda _: 1),
        _field("Memory", _one(lambda each: each.memory_mb)),
        _field("FreeMem", _one(lambda each: each.free_mem), "FREE_MEM"),
        _field("AllocMem", _one(lambda each: each.used_mb), "ALLOCMEM"),
        _field("Disk", _one(lambda each: each.disk_mb), "TMP_DISK"),
        _field("Weight", lambda _: 1),
        _field("Features", _one(lambda each: each.features), "AVAIL_FEATURES"),
        _field("Features_Act", _one(lambda each: each.features), "ACTIVE_FEATURES"),
        _field("Gres", _one(lambda each: each.gres)),
        _field("GresUsed", _one(lambda each: each.gres_used), "GRES_USED"),
        _field("Reason", _one(lambda each: each.node.because or "none")),
        _field("User", lambda _: "Unknown"),
        _field("Timestamp", lambda _: "Unknown", "TIMESTAMP"),
        _field("CPUsLoad", lambda _: "N/A", "CPU_LOAD"),
        _field("Groups", lambda _: "all"),
        _field("OverSubscribe", lambda _: "NO", "OVERSUBSCRIBE"),
        _field("PreemptMode", lambda _: "REQUEUE", "PREEMPT_MODE"),
        _field("PriorityTier", lambda _: 1, "PRIO_TIER"),
        _field("Root", lambda _: "no"),
        _field("Size", lambda _: "1-infinite", "JOB_SIZE"),
        _field("MaxCPUsPerNode", lambda _: "UNLIMITED", "MAX_CPUS_PER_NODE"),
        _field("Cluster", lambda _: "muster"),
        _field("Version", lambda _: "22.05.9"),
    )
)

AGGREGATED = frozenset(
    name.lower() for name in ("Nodes", "NodeAI", "NodeAIOT", "NodeList", "CPUsState", "CPUs", "Memory", "FreeMem")
)
"""Fields that may differ between the nodes of one line."""
