"""A cluster for the tests: an API server, and nodes whose kubelets run pods on this machine.

The server is a pretended one, or the real one that `MUSTER_TEST_KUBECONFIG` names.
"""

import json
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from muster.backends.allocations.engine import EngineSilent, RequestRefused
from tests.kube.api_server import ADMIN, MUSTER, PretendedServer, Trouble
from tests.kube.client import Admin
from tests.kube.kubelet import Kubelets

REAL = os.environ.get("MUSTER_TEST_KUBECONFIG", "")
"""A kubeconfig that may do everything; empty to pretend a cluster."""

DEADLINE_S = 60
GPUS = 8
RACK = "topology.example/rack"
PRODUCT = "NVIDIA-H100-80GB-HBM3"


@dataclass
class KubeCluster:
    """A running cluster."""

    folder: Path
    kubeconfig: Path
    admin: Admin
    kubelets: Kubelets
    server: PretendedServer | None
    namespace: str = "muster"
    nodes: tuple[str, ...] = ()
    gpus: int = GPUS

    def add_node(self, name: str, rack: str) -> None:
        """A machine joins."""
        labels = {"kubernetes.io/hostname": name, "nvidia.com/gpu.product": PRODUCT, RACK: rack, "muster-test": "yes"}
        self.admin.create("/api/v1/nodes", {"metadata": {"name": name, "labels": labels}})
        amounts = {"cpu": "64", "memory": "64Gi", "pods": "110", "nvidia.com/gpu": str(self.gpus)}
        addresses = [{"type": "InternalIP", "address": "127.0.0.1"}]
        self.kubelets.nodes[name] = {"capacity": amounts, "allocatable": amounts, "addresses": addresses}
        self.nodes = (*self.nodes, name)

    def path(self, kind: str, name: str = "") -> str:
        """Where objects of the namespace are."""
        return f"/api/v1/namespaces/{self.namespace}/{kind}" + (f"/{name}" if name else "")

    def list(self, kind: str) -> list[dict[str, Any]]:
        """What there is of Muster."""
        found = self.admin.read(self.path(kind), labelSelector="muster/mark")["items"]
        return list(found)

    def patch_node(self, name: str, change: Mapping[str, Any]) -> None:
        """What an administrator changes about a node."""
        assert self.admin.patch(f"/api/v1/nodes/{name}", change)

    def processes_on(self, node: str) -> Iterable[int]:
        """Everything that a node runs in pods."""
        return self.kubelets.processes(node)

    def switch_off(self, node: str) -> None:
        """A machine dies."""
        self.kubelets.power_off(node)

    def switch_on(self, node: str) -> None:
        """It is back, and may have pods."""
        self.kubelets.wake(node)
        self.wait(lambda: self.is_ready(node), f"{node} is back")

    def evict_from(self, node: str) -> str | None:
        """Evict a pod of a gang from a node; its name, if there was one."""
        names = [pod["metadata"]["name"] for pod in self.list("pods") if pod["spec"].get("nodeName") == node]
        if not names:
            return None
        target = {"type": "DisruptionTarget", "status": "True", "reason": "EvictionByEvictionAPI", "message": "drained"}
        self.admin.status(self.path("pods", names[0]), {"conditions": [target]})
        self.admin.remove(self.path("pods", names[0]))
        return str(names[0])

    def end_gangs(self) -> None:
        """Delete whatever there is of Muster, and wait until it is gone."""
        for service in self.list("services"):
            self.admin.remove(self.path("services", service["metadata"]["name"]))
        for pod in self.list("pods"):
            self.admin.remove(self.path("pods", pod["metadata"]["name"]), 1)
        self.wait(lambda: not any(map(self.list, ("pods", "secrets", "services"))), "no gang is left")

    def power_on(self) -> None:
        """All machines are back, and as they were."""
        for name in self.nodes:
            self.kubelets.wake(name)
            self.patch_node(name, {"spec": {"unschedulable": None}})
        self.wait(lambda: all(self.is_ready(name) for name in self.nodes), "all nodes are ready")

    def is_ready(self, name: str) -> bool:
        """True for a node that may have pods."""
        node = self.admin.read(f"/api/v1/nodes/{name}")
        ready = [each["status"] for each in node["status"].get("conditions", ()) if each["type"] == "Ready"]
        return ready == ["True"] and not node["spec"].get("taints")

    def lose(self, name: str) -> None:
        """A machine dies, and the cluster has noticed."""
        self.kubelets.power_off(name)
        unknown = {"type": "Ready", "status": "Unknown", "message": "Kubelet stopped posting node status."}
        self.admin.status(f"/api/v1/nodes/{name}", {"conditions": [unknown]})

    def untroubled(self) -> None:
        """Whatever was wrong with the server is over."""
        if self.server is not None:
            self.server.trouble = Trouble()
            self.server.controllers.collects = True

    def wait(self, look: Callable[[], bool], what: str) -> None:
        """Wait until something is so."""
        give_up_s = time.monotonic() + DEADLINE_S
        while not look():
            assert time.monotonic() < give_up_s, f"in vain: {what}; see {self.folder}"
            time.sleep(0.03)


@contextmanager
def running_kubernetes(
    racks: Mapping[str, str], *, namespace: str = "muster", gpus: int = GPUS
) -> Iterator[KubeCluster]:
    """A cluster with these nodes, each in its rack."""
    folder = Path(tempfile.mkdtemp(prefix="muster-kube-"))
    with ExitStack() as ending:
        ending.callback(shutil.rmtree, folder, ignore_errors=True)
        if REAL:
            server, kubeconfig, admin = None, Path(REAL), Admin(Path(REAL))
        else:
            server = PretendedServer()
            ending.callback(server.close)
            kubeconfig, admin = write_kubeconfig(folder, server.url, MUSTER), _admin(folder, server)
        kubelets = Kubelets(admin, folder)
        ending.callback(kubelets.close)
        cluster = KubeCluster(folder, kubeconfig, admin, kubelets, server, namespace, gpus=gpus)
        ending.callback(_leave, cluster)
        cluster.admin.create("/api/v1/namespaces", {"metadata": {"name": namespace}})
        if REAL:
            cluster.wait(lambda: _has_account(cluster), "the namespace has its service account")
        for name, rack in racks.items():
            cluster.add_node(name, rack)
        cluster.wait(lambda: all(cluster.is_ready(name) for name in cluster.nodes), "all nodes are ready")
        yield cluster


def _admin(folder: Path, server: PretendedServer) -> Admin:
    (folder / "admin").mkdir()
    return Admin(write_kubeconfig(folder / "admin", server.url, ADMIN))


def write_kubeconfig(folder: Path, url: str, token: str) -> Path:
    """A file by which a client finds the server."""
    named = {"name": "test"}
    file = folder / "kubeconfig"
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "test",
        "clusters": [{**named, "cluster": {"server": url}}],
        "users": [{**named, "user": {"token": token}}],
        "contexts": [{**named, "context": {"cluster": "test", "user": "test"}}],
    }
    file.write_text(json.dumps(document), "utf-8")
    return file


def _has_account(cluster: KubeCluster) -> bool:
    with suppress(RequestRefused):
        return bool(cluster.admin.read(cluster.path("serviceaccounts", "default")))
    return False


def _leave(cluster: KubeCluster) -> None:
    """Leave a real cluster as it was. What still runs is killed with its kubelet."""
    if cluster.server is None:
        with suppress(EngineSilent, RequestRefused, AssertionError):
            cluster.end_gangs()
        with suppress(EngineSilent, RequestRefused):
            for name in cluster.nodes:
                cluster.admin.remove(f"/api/v1/nodes/{name}")
