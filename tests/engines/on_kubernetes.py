"""A server over a Kubernetes with two racks: a pretended API server, or the real one that a kubeconfig names."""

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from tests.e2e.conftest import eventually
from tests.engines.server import OnEngine
from tests.kube.cluster import RACK, KubeCluster
from tests.kube.kubelet import IMAGE

CONFIGURATION = """
[server]
port = PORT

[[engines]]
name = "k8s"
kind = "kubernetes"
kubeconfig = "KUBECONFIG"
namespace = "NAMESPACE"
python = "PYTHON"
image = "IMAGE"
levels = {rack = "RACK"}
node_selector = {muster-test = "yes"}
shm = "64MiB"
"""


@dataclass(kw_only=True)
class OnKubernetes(OnEngine):
    """A server, and the Kubernetes below it."""

    cluster: KubeCluster
    more: str = ""
    """Further keys of the engine."""

    prints = "shared $(stat -f -c %T /dev/shm)"

    def configuration(self) -> str:
        text = CONFIGURATION.replace("KUBECONFIG", str(self.cluster.kubeconfig)).replace("IMAGE", IMAGE)
        return text.replace("NAMESPACE", self.cluster.namespace).replace("RACK", RACK) + self.more

    def pods(self) -> list[dict[str, Any]]:
        """The pods of gangs."""
        return self.cluster.list("pods")

    def pod_on(self, node: str) -> str:
        """The name of the one pod on a node."""
        (found,) = (pod["metadata"]["name"] for pod in self.pods() if pod["spec"].get("nodeName") == node)
        return str(found)

    def runs(self) -> Collection[object]:
        return {service["metadata"]["uid"] for service in self.cluster.list("services")}

    def printed(self, job: str) -> str:
        pods = self.pods()
        assert sorted(pod["spec"]["nodeName"] for pod in pods) == self.placed(job)
        assert {pod["metadata"]["labels"]["muster/job"] for pod in pods} == {job}
        return "shared tmpfs"

    @contextmanager
    def others(self, gpus: int) -> Iterator[None]:
        for node in self.machines:
            container = {
                "name": "busy",
                "image": "others:1",
                "command": ["sleep", "1000"],
                "volumeMounts": [],
                "resources": {"limits": {"nvidia.com/gpu": str(gpus)}},
            }
            spec = {"nodeName": node, "containers": [container], "volumes": []}
            pods = self.cluster.path("pods")
            self.cluster.admin.create(pods, {"metadata": {"name": f"busy-{node}"}, "spec": spec})
        yield
        for node in self.machines:
            self.cluster.admin.remove(self.cluster.path("pods", f"busy-{node}"), 0)

    @contextmanager
    def without(self, node: str) -> Iterator[None]:
        self.cluster.patch_node(node, {"metadata": {"labels": {"muster-test": None}}})
        try:
            yield
        finally:
            self.cluster.patch_node(node, {"metadata": {"labels": {"muster-test": "yes"}}})

    def await_nothing_left(self) -> None:
        kinds = ("pods", "services", "secrets")
        eventually(lambda: not any(map(self.cluster.list, kinds)), what="the namespace is empty")
        self.await_no_record()

    def repair(self) -> None:
        """Have all nodes again, without pods."""
        self.cluster.untroubled()
        self.end_server()
        self.cluster.power_on()
        self.cluster.end_gangs()
