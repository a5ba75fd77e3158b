"""Ways to kill a part of a training that runs in pods. The others are as on this machine."""

import random
import shutil
import time
from collections.abc import Mapping

from muster.worker.launch.runtime_folder import SCRATCH_PARENT
from tests.chaos.cluster import Cluster
from tests.kube.cluster import KubeCluster
from tests.survival.strikes import Strike

AWAY_S = 8.0
"""For how long at most the API server does not answer."""


class KubeStrikes:
    """What can be struck in one Kubernetes."""

    def __init__(self, below: KubeCluster, disks: str) -> None:
        """`disks` is how the names of the folders begin that are the disks of nodes."""
        self._below = below
        self._disks = disks
        self._off = ""
        """The node that is switched off."""

    @property
    def strikes(self) -> Mapping[str, Strike]:
        """By kind."""
        return {
            "agent": self._agent,
            "supervisor": self._supervisor,
            "node": self._node,
            "pod": self._pod,
            "controller": self._controller,
        }

    def _agent(self, _cluster: Cluster, chance: random.Random) -> str | None:
        """An agent dies, and is begun anew. What its supervisor runs goes on."""
        node = self._a_busy_node(chance)
        return node if node and self._below.kubelets.kill_agent(node) else None

    def _supervisor(self, _cluster: Cluster, chance: random.Random) -> str | None:
        """The supervisor of a pod dies, and its workers stay for a moment."""
        node = self._a_busy_node(chance)
        return node if node and self._below.kubelets.kill_supervisor(node) else None

    def _node(self, _cluster: Cluster, chance: random.Random) -> str | None:
        """A machine dies with its disk. The one that died before is back."""
        node = self._a_busy_node(chance)
        if node is None:
            return None
        if self._off:
            self._below.kubelets.wake(self._off)
            self._below.wait(lambda: self._below.is_ready(self._off), f"{self._off} is back")
        self._below.kubelets.power_off(node)
        shutil.rmtree(SCRATCH_PARENT / f"{self._disks}{node}", ignore_errors=True)
        self._off = node
        return node

    def _pod(self, _cluster: Cluster, chance: random.Random) -> str | None:
        """A pod is evicted, and the others of its gang leave with it."""
        node = self._a_busy_node(chance)
        names = [pod["metadata"]["name"] for pod in self._below.list("pods") if pod["spec"].get("nodeName") == node]
        if not names:
            return None
        target = {"type": "DisruptionTarget", "status": "True", "reason": "EvictionByEvictionAPI", "message": "drained"}
        self._below.admin.status(self._below.path("pods", names[0]), {"conditions": [target]})
        self._below.admin.remove(self._below.path("pods", names[0]))
        return str(names[0])

    def _controller(self, _cluster: Cluster, chance: random.Random) -> str | None:
        """The API server fails for a while, and has forgotten what happened before."""
        server = self._below.server
        if server is None:
            return None
        server.trouble.status = 503
        server.end_watches()
        time.sleep(chance.uniform(0, AWAY_S))
        server.store.compact()
        server.trouble.status = 0
        return "it is back"

    def _a_busy_node(self, chance: random.Random) -> str | None:
        """A node with an agent that lives."""
        busy = [node for node in self._below.nodes if node != self._off and self._below.kubelets.agents(node)]
        return chance.choice(busy) if busy else None
