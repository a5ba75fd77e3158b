"""Objects as an API server shows them."""

from typing import Any

from muster.backends.allocations.delivery import AgentDelivery
from muster.backends.allocations.engine import AllocationId, AllocationRequest, NodeShare
from muster.backends.kubernetes.gangs import NODES
from muster.backends.kubernetes.pods import ALLOCATION, MARK, NODE, PodSeen, pod_from
from muster.backends.kubernetes.settings import KubernetesSettings
from muster.model.ids import EngineName, JobId, NodeName
from muster.model.spec import Mount

Object = dict[str, Any]

ARRIVAL = AgentDelivery(urls="https://muster.example:8470", python="python3", mark="m1", agent=b"PK")
SETTINGS = KubernetesSettings(name=EngineName("k8s"), kubeconfig=None, namespace="train", image="base:1")


def a_request(*nodes: str, gpus: int = 8, image: str = "", mounts: tuple[Mount, ...] = ()) -> AllocationRequest:
    share = NodeShare(
        nodes=tuple(map(NodeName, nodes or ("n1",))), gpus=gpus, cpus=4, cpu_milli=3500, memory_bytes=1 << 30
    )
    return AllocationRequest(
        id=AllocationId("ab12"),
        job=JobId("job-1"),
        attempt=2,
        shares=(share,),
        limit_s=7_261,
        grace_s=60,
        token="secret",
        image=image,
        mounts=mounts,
    )


def a_node(name: str = "n1", *, ready: str = "True", **details: Any) -> Object:
    conditions = [{"type": "Ready", "status": ready, "message": "" if ready == "True" else "Kubelet stopped posting."}]
    return {
        "metadata": {"name": name, "uid": f"uid-{name}", "resourceVersion": "1", "labels": details.get("labels", {})},
        "spec": details.get("spec", {}),
        "status": {
            "allocatable": details.get("allocatable", {"cpu": "64", "memory": "64Gi", "nvidia.com/gpu": "8"}),
            "addresses": [{"type": "Hostname", "address": name}, {"type": "InternalIP", "address": "10.0.0.1"}],
            "conditions": conditions,
        },
    }


def a_pod(
    name: str = "p1",
    phase: str = "Running",
    *,
    node: str = "n1",
    leaving: bool = False,
    state: Object | None = None,
    requests: Object | None = None,
    **details: Any,
) -> PodSeen:
    about: Object = {
        "name": name,
        "uid": f"uid-{name}",
        "resourceVersion": "1",
        "namespace": "train",
        "labels": {MARK: "m1", ALLOCATION: "ab12"} if details.get("own", True) else {},
        "annotations": {NODE: node},
        "ownerReferences": details.get("owners", []),
    }
    if leaving:
        about["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    container = {"name": "muster", "image": "base:1", "resources": {"requests": requests or {}}}
    status = {"phase": phase, **details.get("status", {})}
    if state is not None:
        status["containerStatuses"] = [{"name": "muster", "state": state}]
    return pod_from({"metadata": about, "spec": {"nodeName": node, "containers": [container]}, "status": status})


def a_service(*, pods: int = 1, leaving: bool = False, ended: str | None = None) -> Object:
    notes = {NODES: str(pods)} | ({} if ended is None else {"muster/ended": ended})
    about: Object = {
        "name": "muster-ab12",
        "uid": "uid-s",
        "resourceVersion": "1",
        "labels": {MARK: "m1", ALLOCATION: "ab12"},
        "annotations": notes,
    }
    return {"metadata": about | ({"deletionTimestamp": "2026-01-01T00:00:00Z"} if leaving else {})}
