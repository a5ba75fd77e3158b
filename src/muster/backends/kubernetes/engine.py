"""Kubernetes as an engine underneath Muster: a gang is one pod on each of its nodes, which runs an agent.

Nodes, pods and the services of gangs are watched, so that to ask how everything is costs nothing. The port is
`AllocationEngine`. What it may do there is in `deploy/kubernetes/rbac.yaml`, which a test compares with what it asks.
"""

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from muster.backends.allocations.adapter import EngineAdapter
from muster.backends.allocations.delivery import AgentDelivery
from muster.backends.allocations.engine import (
    AllocationId,
    AllocationPhase,
    AllocationRequest,
    EngineNode,
    EngineSilent,
    RequestRefused,
    SeenAllocation,
)
from muster.backends.kubernetes import objects
from muster.backends.kubernetes.api import KubernetesApi
from muster.backends.kubernetes.gangs import ENDED, IN_ORDER, Present, gangs_of, note_of, service_from
from muster.backends.kubernetes.nodes import down_nodes, gpu_resource, nodes_of
from muster.backends.kubernetes.pods import ALLOCATION, MARK, PodEnd, PodSeen, pod_from
from muster.backends.kubernetes.settings import KubernetesSettings
from muster.backends.kubernetes.watched import WatchedList
from muster.model.ids import NodeName

TRIES = 3
"""How often an object is asked for whose answer was lost. It has a name, so it is there once at the most."""
TRY_AGAIN_S = 0.5

LEAVE_S = 1
"""How long pods have to leave of which Muster wants nothing more."""

BEHIND_S = 0.2
"""How far a watch may be behind what the server knows. A look waits as long, so that it sees what was so before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeSeen:
    """A node, as the server shows it."""

    uid: str
    version: str
    body: Mapping[str, Any]


def node_from(body: Mapping[str, Any]) -> NodeSeen:
    """What is kept of a node."""
    about = {key: value for key, value in body["metadata"].items() if key != "managedFields"}
    status = {key: value for key, value in body.get("status", {}).items() if key != "images"}
    kept = {**body, "metadata": about, "status": status}
    return NodeSeen(uid=about["uid"], version=about["resourceVersion"], body=kept)


class KubernetesEngine(EngineAdapter[KubernetesSettings]):
    """One namespace of one cluster."""

    def __init__(
        self,
        settings: KubernetesSettings,
        *,
        mark: Callable[[], str],
        arrival: Callable[[], AgentDelivery],
    ) -> None:
        """`mark` tells the gangs of this Muster from those of others in the same namespace."""
        super().__init__(settings, arrival)
        self._mark = mark
        self._api = KubernetesApi(settings.kubeconfig, settings.context)
        self._nodes = WatchedList(self._api, "/api/v1/nodes", node_from)
        self._pods = WatchedList(self._api, "/api/v1/pods", pod_from)
        self._services = WatchedList(self._api, self._path("services"), service_from, selector=MARK)
        self._unable_s: dict[str, float] = {}
        """By allocation, since when one of its pods has been unable to run, by a monotonic clock."""
        self._ends: dict[str, PodEnd] = {}
        """By service, why its gang ends, as it was said last."""

    @property
    def runs_images(self) -> bool:
        """True: a pod runs in the image of its job."""
        return True

    def address(self, allocation: AllocationId, node: NodeName) -> str:
        """The name of the pod in DNS."""
        return objects.address_of(allocation, node, self._settings.namespace)

    def inventory(self) -> tuple[EngineNode, ...]:
        """The nodes that pods of jobs may be on."""
        return nodes_of((node.body for node in self._nodes.all()), self._pods.all(), self._settings)

    def submit(self, request: AllocationRequest) -> str:
        """Make the service of a gang, and what it owns. What cannot be whole is taken back."""
        mark, arrival = self._mark(), self._arrival()
        name = objects.gang_name(request.id)
        objects.check(request, self._settings)
        resources = self._gpu_resources()
        owner = self._made("services", objects.service(request, mark))
        self._services.learn(owner)
        try:
            self._made("secrets", objects.secret(request, arrival, mark, owner))
            for pod in objects.pods(request, arrival, self._settings, mark, owner, resources):
                made = self._made("pods", pod)
                if made:
                    self._pods.learn(made)
        except RequestRefused:
            self.cancel(name)
            raise
        return name

    def cancel(self, engine_id: str) -> None:
        """Delete a gang with everything in it. Why it ends, if that is not Muster's wish, is noted first.

        What Muster wants gone had the time to leave before. The rest of a gang that was broken has it now.
        """
        path, end = f"{self._path('services')}/{engine_id}", self._ends.get(engine_id, IN_ORDER)
        if not self._api.patch(path, {"metadata": {"annotations": {ENDED: note_of(end)}}}):
            return
        if end == IN_ORDER:
            self._api.delete_all(self._path("pods"), f"{ALLOCATION}={objects.allocation_in(engine_id)}", LEAVE_S)
        self._api.delete(path)

    def look(self) -> tuple[SeenAllocation, ...]:
        """All gangs of this Muster, and those that went in the last minutes."""
        time.sleep(BEHIND_S)
        mark = self._mark()
        services = Present.of(self._services, mark)
        pods = Present.of(self._pods, mark)
        down = down_nodes(node.body for node in self._nodes.all())
        seen = tuple(gang.seen() for gang in gangs_of(services, pods, down, self._waits_s(pods.there)))
        self._ends = {
            each.engine_id: PodEnd(cause=each.cause, because=each.because, is_mistake=each.is_mistake)
            for each in seen
            if each.phase in (AllocationPhase.ENDING, AllocationPhase.ENDED)
        }
        return seen

    def close(self) -> None:
        """Watch no more. Gangs go on."""
        for each in (self._nodes, self._pods, self._services):
            each.close()

    def _path(self, kind: str) -> str:
        return f"/api/v1/namespaces/{self._settings.namespace}/{kind}"

    def _gpu_resources(self) -> dict[NodeName, str]:
        """What the GPUs of each node are called."""
        wanted = self._settings.gpu_resources
        bodies = (node.body for node in self._nodes.all())
        return {
            NodeName(body["metadata"]["name"]): gpu_resource(body.get("status", {}).get("allocatable", {}), wanted)
            for body in bodies
        }

    def _made(self, kind: str, body: Mapping[str, Any]) -> Mapping[str, Any]:
        """An object that was made now, or by an earlier try."""
        path = self._path(kind)
        for tries in range(1, TRIES + 1):
            try:
                made = self._api.create(path, body)
                if made is None and kind == "services":
                    return self._api.read(f"{path}/{body['metadata']['name']}")
            except EngineSilent:
                if tries == TRIES:
                    raise
                time.sleep(TRY_AGAIN_S * tries)
            else:
                return made or {}
        raise AssertionError("unreachable")

    def _waits_s(self, pods: Iterable[PodSeen]) -> dict[str, float]:
        """For how long gangs have had a pod that is unable to run."""
        now_s = time.monotonic()
        unable = {pod.allocation for pod in pods if pod.waiting is not None}
        self._unable_s = {each: self._unable_s.get(each, now_s) for each in unable}
        return {each: now_s - since_s for each, since_s in self._unable_s.items()}
