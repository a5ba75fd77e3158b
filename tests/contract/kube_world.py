"""The local backend on a Kubernetes, as a world that a test can move.

Each gang is a pod on each of the nodes that were chosen. Its agents are the one file that a secret brings along.
"""

import sys
from pathlib import Path

from muster.backends.allocations.book import AllocationBook
from muster.backends.allocations.delivery import AgentDelivery
from muster.backends.kubernetes.engine import KubernetesEngine
from muster.backends.kubernetes.settings import KubernetesSettings
from muster.backends.local.backend import LocalBackend
from muster.model.events import GangsFound, NodeChanged, NodeReturned, NodeUnreachable
from muster.model.ids import EngineName, NodeName
from muster.model.instructions import StartWorkers
from muster.model.records import evolve
from muster.model.spec import JobSpec, Mount
from muster.worker.agent.packing import agent_file
from muster.worker.launch.runtime_folder import runtime_folder
from tests.contract.agent_server import AgentServer
from tests.contract.local_world import LocalWorld
from tests.kube.cluster import RACK, KubeCluster
from tests.kube.kubelet import IMAGE

ENGINE = EngineName("k8s")


def an_engine(cluster: KubeCluster, home: Path, url: str) -> KubernetesEngine:
    """The namespace of a cluster of the tests."""
    return KubernetesEngine(
        KubernetesSettings(
            name=ENGINE,
            kubeconfig=cluster.kubeconfig,
            namespace=cluster.namespace,
            level_labels=(RACK,),
            image=IMAGE,
            node_selector=(("muster-test", "yes"),),
            shm_bytes=64 << 20,
        ),
        mark=lambda: AllocationBook(home).mark,
        arrival=lambda: AgentDelivery(
            urls=url, python=sys.executable, mark=AllocationBook(home).mark, agent=agent_file()
        ),
    )


class KubeWorld(LocalWorld):
    """Runs scripted gangs as real processes in pods."""

    unshadowed = (NodeChanged, NodeReturned, NodeUnreachable, GangsFound)

    def __init__(self, home: Path, cluster: KubeCluster) -> None:
        self._cluster = cluster
        super().__init__(home)

    def lose_node(self, node: NodeName) -> None:
        """Switch a machine off, and have Kubernetes see that."""
        self._cluster.lose(node)
        self._shadow.lose_node(node)

    def close(self) -> None:
        self._real.close()
        self._server.close()
        self._cluster.power_on()
        self._cluster.end_gangs()

    def _is_up(self) -> bool:
        return self._real.has_caught_up

    def _backend(self, home: Path) -> LocalBackend:
        self._server = AgentServer()
        engine = an_engine(self._cluster, home, self._server.url)
        nodes = [each.node for each in engine.inventory() if each.node.name in ("n0", "n1")]
        backend = LocalBackend(home, nodes, engines=[engine])
        self._server.serve(home, backend)
        return backend

    def _scripted(self, command: StartWorkers) -> JobSpec:
        scripts = Mount(source=str(self._folder), target=str(self._folder))
        return evolve(super()._scripted(command), image=IMAGE, mounts=(scripts,))

    def _runtime_folders(self) -> tuple[str, ...]:
        homes = (each.folder / "home" / "agent" for each in tuple(self._cluster.kubelets.pods.values()))
        return tuple(str(runtime_folder(home)) for home in homes if home.is_dir())
