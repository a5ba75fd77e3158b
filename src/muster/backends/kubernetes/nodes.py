"""The cluster's nodes as Muster's: GPUs, their type, levels, labels, taints, cordons, and what others use. Pure."""

from collections.abc import Iterable, Mapping
from typing import Any

from muster.backends.allocations.engine import EngineNode
from muster.backends.kubernetes.gpu_types import gpu_type
from muster.backends.kubernetes.pods import PodSeen
from muster.backends.kubernetes.quantities import bytes_of, milli_of
from muster.backends.kubernetes.settings import KubernetesSettings
from muster.model.ids import GpuType, NodeName
from muster.model.machines.constraint import is_label
from muster.model.node import Node, NodeState

CONTROL_PLANE = ("node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master")

CORDON = "node.kubernetes.io/unschedulable"
OF_ITS_STATE = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable", CORDON)
"""Taints that say again what the node says of itself."""

KEEPING_OUT = ("NoSchedule", "NoExecute")

Manifest = Mapping[str, Any]


def nodes_of(
    nodes: Iterable[Manifest], pods: Iterable[PodSeen], settings: KubernetesSettings
) -> tuple[EngineNode, ...]:
    """The nodes that may be used. `pods` are those of the whole cluster."""
    on_node: dict[str, list[PodSeen]] = {}
    for pod in pods:
        if pod.node and not pod.has_ended:
            on_node.setdefault(pod.node, []).append(pod)
    usable = (node for node in nodes if _is_usable(node, settings))
    found = (_node(node, on_node.get(node["metadata"]["name"], []), settings) for node in usable)
    return tuple(sorted(found, key=lambda each: each.node.name))


def down_nodes(nodes: Iterable[Manifest]) -> dict[str, str]:
    """The nodes whose kubelets do not answer, each with what is said of it."""
    return {node["metadata"]["name"]: because for node in nodes if (because := _not_ready(node))}


def _is_usable(node: Manifest, settings: KubernetesSettings) -> bool:
    labels = node["metadata"].get("labels", {})
    kept = [taint for taint in _taints(node, settings) if taint.get("key") in CONTROL_PLANE]
    return not kept and all(labels.get(key) == value for key, value in settings.node_selector)


def _node(node: Manifest, pods: list[PodSeen], settings: KubernetesSettings) -> EngineNode:
    name = node["metadata"]["name"]
    labels = node["metadata"].get("labels", {})
    offered = node.get("status", {}).get("allocatable", {})
    resource = gpu_resource(offered, settings.gpu_resources)
    gpus = int(offered.get(resource, "0"))
    kind = gpu_type(labels.get(settings.gpu_type_label, ""), resource, settings.gpu_types) if gpus else ""
    state, because = _state(node, settings)
    daemons = [pod for pod in pods if pod.is_daemon]
    return EngineNode(
        node=Node(
            name=NodeName(name),
            gpus=gpus,
            gpu_type=GpuType(kind),
            cpu_milli=max(milli_of(offered.get("cpu", "0")) - sum(pod.cpu_milli for pod in daemons), 0),
            memory_bytes=max(bytes_of(offered.get("memory", "0")) - sum(pod.memory_bytes for pod in daemons), 0),
            # A node without a label is in a domain of its own: that it is near another one is not known.
            domains=tuple(labels.get(label) or name for label in settings.level_labels),
            state=state,
            labels=_labels(labels, settings.labels),
            engine=settings.name,
            whole_gpus=True,
        ),
        address=next((each["address"] for each in _addresses(node) if each.get("type") == "InternalIP"), name),
        because=because,
        gpus_used=sum(pod.gpus.get(resource, 0) for pod in pods),
    )


def gpu_resource(offered: Mapping[str, str], wanted: tuple[str, ...]) -> str:
    """What the GPUs of a node are called."""
    return next((each for each in wanted if int(offered.get(each, "0"))), wanted[0])


def _addresses(node: Manifest) -> list[dict[str, str]]:
    return list(node.get("status", {}).get("addresses", ()))


def _labels(labels: Mapping[str, str], wanted: tuple[str, ...]) -> tuple[str, ...]:
    """Each wanted label as its value and as `key=value`; as its key where it has no value."""
    found: dict[str, None] = {}
    for key in wanted:
        if key in labels:
            value = labels[key]
            found.update(dict.fromkeys((value, f"{key}={value}") if value else (key.rpartition("/")[2],)))
    return tuple(sorted(filter(is_label, found)))


def _taints(node: Manifest, settings: KubernetesSettings) -> list[dict[str, str]]:
    """Those that keep pods of jobs out."""
    return [
        taint
        for taint in node.get("spec", {}).get("taints", ())
        if taint.get("effect") in KEEPING_OUT and not any(each.tolerates(taint) for each in settings.tolerations)
    ]


def _state(node: Manifest, settings: KubernetesSettings) -> tuple[NodeState, str]:
    """What the conditions, the cordon and the taints of a node mean for Muster, and why."""
    if because := _not_ready(node):
        return NodeState.DOWN, because
    if node["metadata"].get("deletionTimestamp"):
        return NodeState.DRAINING, "it is about to leave the cluster"
    if node.get("spec", {}).get("unschedulable"):
        return NodeState.DRAINING, "it is cordoned"
    taints = [taint for taint in _taints(node, settings) if taint.get("key") not in OF_ITS_STATE]
    if taints:
        told = ", ".join(_taint_text(taint) for taint in taints)
        return NodeState.DRAINING, f"it is tainted with {told}, which `tolerations` does not name"
    return NodeState.READY, ""


def _taint_text(taint: Mapping[str, str]) -> str:
    value = f"={taint['value']}" if taint.get("value") else ""
    return f"{taint['key']}{value}:{taint['effect']}"


def _not_ready(node: Manifest) -> str:
    """What a node that is not ready says of that; empty for one that is."""
    ready = next((each for each in node.get("status", {}).get("conditions", ()) if each["type"] == "Ready"), None)
    if ready is None:
        return "its kubelet has not said that it is ready"
    if ready.get("status") == "True":
        return ""
    return str(ready.get("message") or ready.get("reason") or "it is not ready").strip().rstrip(".").lower()
