"""Slurm's nodes as Muster's: what `scontrol show node` and `show topology` say. Pure."""

import re
from collections.abc import Mapping

from muster.backends.allocations.engine import EngineNode
from muster.backends.slurm.fields import fields_of, hosts_of
from muster.model.ids import EngineName, GpuType, NodeName
from muster.model.machines.constraint import is_label
from muster.model.node import Node, NodeState

_GPUS = re.compile(r"gpu(?::([A-Za-z0-9_.-]+))?:([0-9]+)")

_DOWN = ("DOWN", "FAIL", "NOT_RESPONDING", "POWERED_DOWN", "POWERING_DOWN", "FUTURE", "UNKNOWN", "ERROR")
_OUT = ("DRAIN", "DRAINED", "DRAINING", "MAINT", "RESERVED", "REBOOT_REQUESTED", "REBOOT_ISSUED", "FAILING", "PERFCTRS")
_SAID = {
    "MAINT": "it is in maintenance",
    "RESERVED": "it is reserved for others",
    "NOT_RESPONDING": "it does not respond",
}
"""What a state means for which Slurm gives no reason."""


def nodes_of(
    text: str, *, engine: EngineName, partition: str, switches: Mapping[str, tuple[str, ...]]
) -> tuple[EngineNode, ...]:
    """The nodes of a partition. `switches` are those above each node, outermost first."""
    rows = (fields_of(line) for line in text.splitlines() if line.startswith("NodeName="))
    return tuple(
        _node(row, engine, switches.get(row["NodeName"], ()))
        for row in rows
        if partition in row.get("Partitions", "").split(",")
    )


def switches_of(text: str) -> dict[str, tuple[str, ...]]:
    """The switches above each node, outermost first."""
    rows = [fields_of(line) for line in text.splitlines() if line.startswith("SwitchName=")]
    above: dict[str, list[tuple[int, str]]] = {}
    for row in rows:
        for host in hosts_of(row.get("Nodes", "")):
            above.setdefault(host, []).append((-int(row.get("Level", "0")), row["SwitchName"]))
    return {host: tuple(name for _, name in sorted(found)) for host, found in above.items()}


def _node(row: Mapping[str, str], engine: EngineName, switches: tuple[str, ...]) -> EngineNode:
    gpus, gpu_type = _gpus(row.get("Gres", ""))
    used, _ = _gpus(row.get("GresUsed", ""))
    state, because = _state(row)
    labels = (label for label in row.get("ActiveFeatures", "").split(",") if is_label(label) and label != "(null)")
    node = Node(
        name=NodeName(row["NodeName"]),
        gpus=gpus,
        gpu_type=GpuType(gpu_type),
        cpu_milli=int(row.get("CPUEfctv", row.get("CPUTot", "0"))) * 1000,
        memory_bytes=int(row.get("RealMemory", "0")) << 20,
        domains=switches,
        state=state,
        labels=tuple(sorted(set(labels))),
        engine=engine,
    )
    return EngineNode(node=node, address=row.get("NodeAddr", row["NodeName"]), because=because, gpus_used=used)


def _gpus(gres: str) -> tuple[int, str]:
    """How many GPUs `gpu:h100:8(S:0-1)` are, and of which type, in small letters."""
    found = _GPUS.findall(gres)
    return sum(int(count) for _, count in found), next((kind.lower() for kind, _ in found), "")


def _state(row: Mapping[str, str]) -> tuple[NodeState, str]:
    """What `IDLE+DRAIN` means for Muster, and why."""
    flags = row.get("State", "UNKNOWN").rstrip("*$~#!%@^-").split("+")
    if row.get("State", "").split("+")[0].endswith("*"):
        flags.append("NOT_RESPONDING")
    reason = row.get("Reason", "").partition(" [")[0].strip()
    because = reason or next((_SAID[flag] for flag in flags if flag in _SAID), "")
    if any(flag in _DOWN for flag in flags):
        return NodeState.DOWN, because or "it is down"
    if any(flag in _OUT for flag in flags):
        return NodeState.DRAINING, because or "it is drained"
    return NodeState.READY, ""
