"""What a gang is made of in Kubernetes: a service that owns everything, a secret with the agent, a pod for each node.

The service gives pods their names in DNS. Names follow from the allocation, so what is made twice is there once. Pure.
"""

import base64
import hashlib
import re
from collections.abc import Iterator, Mapping
from typing import Any

from muster.backends.allocations.delivery import AgentDelivery
from muster.backends.allocations.engine import AllocationId, AllocationRequest, NodeShare, RequestRefused
from muster.backends.kubernetes.gangs import NODES
from muster.backends.kubernetes.pods import ALLOCATION, ATTEMPT, JOB, MARK, NODE
from muster.backends.kubernetes.script import HOME, SCRATCH, SENT, script_of
from muster.backends.kubernetes.settings import KubernetesSettings, Toleration
from muster.model.ids import JobId, NodeName
from muster.model.spec import Mount
from muster.worker.launch import runtime_folder

CLAIM = "pvc:"
"""How the source of a mount begins that is a claim."""

MARGIN_S = 15
"""How much longer than its workers a pod may take to leave: for the last reports of its agent."""

NAME_CHARS = 63
"""The longest name of a service, and of a pod that has a name in DNS."""

PORT = 9
"""A service has to name a port. Nobody listens there: names lead to pods, whatever their ports."""

_ODD = re.compile(r"[^a-z0-9-]")

Manifest = dict[str, Any]


def gang_name(allocation: AllocationId) -> str:
    """What the service and the secret are called."""
    return f"muster-{allocation}"


def allocation_in(name: str) -> AllocationId:
    """The inverse of `gang_name`."""
    return AllocationId(name.removeprefix("muster-"))


def check(request: AllocationRequest, settings: KubernetesSettings) -> None:
    """Raise `RequestRefused` for what no pod can be."""
    if not _image(request, settings):
        advice = f"say `image` in the job file, or have the engine {settings.name} given one in muster.toml"
        problem = f"pods need an image, and neither the job nor the engine names one: {advice}"
        raise RequestRefused(problem, is_mistake=True)


def pod_name(allocation: AllocationId, node: NodeName) -> str:
    """What the pod on a node is called: by the node's name, as far as that is a name in DNS."""
    name = _ODD.sub("-", node.lower()).strip("-")
    room = NAME_CHARS - len(gang_name(allocation)) - 1
    if name != node or len(name) > room:
        digest = hashlib.sha256(node.encode()).hexdigest()[:8]
        name = f"{name[: room - 9].rstrip('-')}-{digest}".lstrip("-")
    return f"{gang_name(allocation)}-{name}"


def address_of(allocation: AllocationId, node: NodeName, namespace: str) -> str:
    """Where other pods reach the pod on a node."""
    return f"{pod_name(allocation, node)}.{gang_name(allocation)}.{namespace}.svc"


def service(request: AllocationRequest, mark: str) -> Manifest:
    """The service of a gang, which is made first and goes last."""
    nodes = sum(len(share.nodes) for share in request.shares)
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {
            "name": gang_name(request.id),
            "labels": _labels(request, mark),
            "annotations": {NODES: str(nodes)},
        },
        "spec": {
            "clusterIP": "None",
            "publishNotReadyAddresses": True,
            "selector": {ALLOCATION: request.id},
            "ports": [{"name": "none", "port": PORT}],
        },
    }


def secret(request: AllocationRequest, arrival: AgentDelivery, mark: str, owner: Mapping[str, Any]) -> Manifest:
    """The secret of a gang: the token of its agents, and the agent itself."""
    files = {"token": request.token.encode(), "agent.pyz": arrival.agent}
    if arrival.authorities:
        files["ca.pem"] = arrival.authorities.encode()
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "type": "Opaque",
        "metadata": {
            "name": gang_name(request.id),
            "labels": _labels(request, mark),
            "ownerReferences": [_reference(owner)],
        },
        "immutable": True,
        "data": {name: base64.b64encode(content).decode() for name, content in files.items()},
    }


def pods(
    request: AllocationRequest,
    arrival: AgentDelivery,
    settings: KubernetesSettings,
    mark: str,
    owner: Mapping[str, Any],
    resources: Mapping[NodeName, str],
) -> Iterator[Manifest]:
    """A pod for each node. `resources` says what the GPUs of a node are called."""
    for share in request.shares:
        for node in share.nodes:
            yield {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {
                    "name": pod_name(request.id, node),
                    "labels": _labels(request, mark),
                    "annotations": {NODE: node},
                    "ownerReferences": [_reference(owner)],
                },
                "spec": _spec(request, arrival, settings, node, share, resources.get(node, settings.gpu_resources[0])),
            }


def _labels(request: AllocationRequest, mark: str) -> dict[str, str]:
    return {
        "app.kubernetes.io/managed-by": "muster",
        MARK: mark,
        ALLOCATION: request.id,
        JOB: label_of(request.job),
        ATTEMPT: str(request.attempt),
    }


def label_of(job: JobId) -> str:
    """The id of a job as the value of a label, as far as one can hold it."""
    return re.sub(r"[^A-Za-z0-9_.-]", "-", job)[:NAME_CHARS].strip("-_.")


def _reference(owner: Mapping[str, Any]) -> Manifest:
    """The owner is gone once this is. So it stands for as long as anything of the gang is there."""
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"],
        "blockOwnerDeletion": True,
    }


def _spec(
    request: AllocationRequest,
    arrival: AgentDelivery,
    settings: KubernetesSettings,
    node: NodeName,
    share: NodeShare,
    gpu_resource: str,
) -> Manifest:
    volumes, mounts = _volumes(request, settings)
    chosen = {"key": "metadata.name", "operator": "In", "values": [node]}
    term = {"nodeSelectorTerms": [{"matchFields": [chosen]}]}
    spec: Manifest = {
        "restartPolicy": "Never",
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "hostname": pod_name(request.id, node),
        "subdomain": gang_name(request.id),
        # The scheduler binds it, and can choose this node alone. So it and the kubelet count as for any other pod.
        "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": term}},
        "terminationGracePeriodSeconds": request.grace_s + MARGIN_S,
        "securityContext": _pod_security(settings),
        "volumes": volumes,
        "containers": [
            {
                "name": "muster",
                "image": _image(request, settings),
                "command": ["/bin/sh", "-c", script_of(request, arrival, node)],
                "workingDir": "/",
                "terminationMessagePolicy": "FallbackToLogsOnError",
                "env": _variables(share),
                "resources": _resources(share, gpu_resource),
                "securityContext": _container_security(settings),
                "volumeMounts": mounts,
            }
        ],
    }
    if request.limit_s is not None:
        spec["activeDeadlineSeconds"] = request.limit_s
    if settings.service_account:
        spec["serviceAccountName"] = settings.service_account
    if settings.priority_class:
        spec["priorityClassName"] = settings.priority_class
    if settings.image_pull_secrets:
        spec["imagePullSecrets"] = [{"name": name} for name in settings.image_pull_secrets]
    if settings.tolerations:
        spec["tolerations"] = [_toleration(each) for each in settings.tolerations]
    return spec


def _image(request: AllocationRequest, settings: KubernetesSettings) -> str:
    return request.image or settings.image


def _variables(share: NodeShare) -> list[Manifest]:
    """What the agent has in its environment. A pod numbers its GPUs from 0, whichever they are on the node."""
    devices = ",".join(str(each) for each in range(share.gpus))
    shown = [{"name": "CUDA_VISIBLE_DEVICES", "value": devices}] if share.gpus else []
    return [{"name": runtime_folder.SCRATCH, "value": SCRATCH}, *shown]


def _resources(share: NodeShare, gpu_resource: str) -> Manifest:
    """What it asks for is what it may use, as far as the job says it: then its pods are the last to be evicted."""
    requests = {"cpu": f"{share.cpu_milli}m" if share.cpu_milli else str(share.cpus)}
    limits = dict(requests) if share.cpu_milli else {}
    if share.memory_bytes:
        requests["memory"] = limits["memory"] = str(share.memory_bytes)
    if share.gpus:
        requests[gpu_resource] = limits[gpu_resource] = str(share.gpus)
    return {"requests": requests, "limits": limits}


def _pod_security(settings: KubernetesSettings) -> Manifest:
    context: Manifest = {"seccompProfile": {"type": "RuntimeDefault"}}
    if settings.run_as is not None:
        user, group = settings.run_as
        context |= {"runAsNonRoot": True, "runAsUser": user, "runAsGroup": group, "fsGroup": group}
    return context


def _container_security(settings: KubernetesSettings) -> Manifest:
    """Images expect to install packages as root, unless an operator says as whom they run."""
    context: Manifest = {"allowPrivilegeEscalation": False}
    if settings.run_as is not None:
        context["capabilities"] = {"drop": ["ALL"]}
    return context


def _toleration(each: Toleration) -> Manifest:
    found: Manifest = {"key": each.key, "operator": "Exists" if each.value is None else "Equal"}
    if each.value is not None:
        found["value"] = each.value
    if each.effect:
        found["effect"] = each.effect
    return found


def _volumes(request: AllocationRequest, settings: KubernetesSettings) -> tuple[list[Manifest], list[Manifest]]:
    """The volumes of a pod, and where its container has them."""
    kept = settings.scratch
    scratch = {"hostPath": {"path": kept, "type": "DirectoryOrCreate"}} if kept else {"emptyDir": {}}
    mode = 0o440 if settings.run_as is not None else 0o400
    found: list[tuple[Manifest, Manifest]] = [
        (
            {"name": "sent", "secret": {"secretName": gang_name(request.id), "defaultMode": mode}},
            {"mountPath": SENT, "readOnly": True},
        ),
        ({"name": "home", "emptyDir": {}}, {"mountPath": HOME}),
        ({"name": "scratch", **scratch}, {"mountPath": SCRATCH}),
        (
            {"name": "shm", "emptyDir": {"medium": "Memory", "sizeLimit": str(settings.shm_bytes)}},
            {"mountPath": "/dev/shm"},
        ),
        *(_mount(each, place) for place, each in enumerate(request.mounts)),
    ]
    return [volume for volume, _ in found], [{"name": volume["name"], **mount} for volume, mount in found]


def _mount(mount: Mount, place: int) -> tuple[Manifest, Manifest]:
    """A folder of the node, or a claim of the namespace: `pvc:NAME`, or `pvc:NAME/folder/in/it`."""
    seen: Manifest = {"mountPath": mount.target, "readOnly": mount.read_only}
    name = f"mount-{place}"
    if not mount.source.startswith(CLAIM):
        return {"name": name, "hostPath": {"path": mount.source, "type": "Directory"}}, seen
    claim, _, inside = mount.source.removeprefix(CLAIM).partition("/")
    if inside:
        seen["subPath"] = inside
    return {"name": name, "persistentVolumeClaim": {"claimName": claim, "readOnly": mount.read_only}}, seen
