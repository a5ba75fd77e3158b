"""Ray's nodes as Muster's: what a driver says of them. Pure."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from muster.backends.allocations.engine import EngineNode
from muster.model.ids import EngineName, GpuType, NodeName
from muster.model.machines.constraint import is_label
from muster.model.node import Node, NodeState

RAYS_OWN = "ray.io/"
ACCELERATOR = "ray.io/accelerator-type"
ACCELERATOR_RESOURCE = "accelerator_type:"

_NO_NAME = re.compile(r"[\s,/\[\]@]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptAllocation:
    """An allocation on one node, as its keeper says."""

    id: str
    nodes: tuple[NodeName, ...]
    """All nodes of the allocation."""
    phase: str
    devices: tuple[str, ...]
    is_overdue: bool
    is_orderly: bool
    lacks_python: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RayNode:
    """A node as a driver tells of it."""

    name: NodeName
    is_alive: bool
    because: str
    address: str
    resources: Mapping[str, float]
    labels: Mapping[str, str]
    free_gpus: int
    """As many as Ray has given to nobody."""
    devices: tuple[str, ...] = ()
    """Those that its keeper has."""
    kept: tuple[KeptAllocation, ...] | None = None
    """None while its keeper says nothing."""
    problem: str = ""
    """Why not, if anything is known."""


def nodes_told(answer: Iterable[Mapping[str, Any]]) -> dict[NodeName, RayNode]:
    """By name, the nodes that a driver has told of. Of several with one name, that which is alive and has a keeper."""
    found: dict[NodeName, RayNode] = {}
    for row in answer:
        node = _told(row)
        last = found.get(node.name)
        if last is None or _rank(node) > _rank(last):
            found[node.name] = node
    return found


def engine_node(node: RayNode, engine: EngineName, levels: Iterable[str]) -> EngineNode:
    """A node of Ray as Muster sees it. `levels` are the labels that say its domains, outermost first."""
    state, because = _state(node)
    gpus = int(node.resources.get("GPU", 0))
    return EngineNode(
        node=Node(
            name=node.name,
            gpus=gpus,
            gpu_type=GpuType(_gpu_type(node)),
            cpu_milli=int(node.resources.get("CPU", 0) * 1000),
            memory_bytes=int(node.resources.get("memory", 0)),
            domains=tuple(node.labels.get(label) or str(engine) for label in levels),
            state=state,
            labels=tuple(sorted(_labels(node.labels))),
            engine=engine,
        ),
        address=node.address,
        because=because,
        gpus_used=_gpus_used(node, gpus),
    )


def _told(row: Mapping[str, Any]) -> RayNode:
    keeper = row["keeper"]
    return RayNode(
        name=NodeName(_NO_NAME.sub("-", row["name"])),
        is_alive=row["alive"],
        because=" ".join(row["because"].split()),
        address=row["address"],
        resources=row["resources"],
        labels=row["labels"],
        free_gpus=row["free_gpus"],
        devices=() if keeper is None else tuple(keeper["devices"]),
        kept=None if keeper is None else tuple(map(_kept, keeper["entries"])),
        problem=row["problem"],
    )


def _kept(row: Mapping[str, Any]) -> KeptAllocation:
    return KeptAllocation(
        id=row["id"],
        nodes=tuple(map(NodeName, row["nodes"])),
        phase=row["phase"],
        devices=tuple(row["devices"]),
        is_overdue=row["is_overdue"],
        is_orderly=row["is_orderly"],
        lacks_python=row.get("lacks_python") is True,
    )


def _rank(node: RayNode) -> tuple[bool, bool]:
    return node.is_alive, node.kept is not None


def _state(node: RayNode) -> tuple[NodeState, str]:
    if not node.is_alive:
        return NodeState.DOWN, f"Ray has lost it ({node.because})" if node.because else "Ray has lost it"
    if node.kept is None:
        return NodeState.DRAINING, node.problem or "its keeper begins"
    return NodeState.READY, ""


def _gpus_used(node: RayNode, gpus: int) -> int:
    """Those of others, and those that allocations have. What a keeper has and does not use is free for Muster."""
    if node.kept is None:
        return gpus - node.free_gpus
    used = {device for each in node.kept if each.phase != "ended" for device in each.devices}
    return max(gpus - len(used.union(node.devices)), 0) + len(used)


def _gpu_type(node: RayNode) -> str:
    """`h100`, as the label or the resource of Ray says."""
    named = (
        name.removeprefix(ACCELERATOR_RESOURCE) for name in node.resources if name.startswith(ACCELERATOR_RESOURCE)
    )
    return (node.labels.get(ACCELERATOR) or next(named, "")).lower()


def _labels(labels: Mapping[str, str]) -> Iterator[str]:
    """Labels that people have given, as words of a `constraint`."""
    for key, value in labels.items():
        label = f"{key}={value}"
        if not key.startswith(RAYS_OWN) and is_label(label):
            yield label
