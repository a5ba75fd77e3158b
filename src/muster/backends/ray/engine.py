"""Ray as an engine underneath Muster, by a driver of its cluster. The port is `AllocationEngine`.

On each node of the cluster stands a keeper, an actor that holds all GPUs which were free there. So Ray's own accounting
gives none of them to anybody else, and the keeper gives them to Muster's allocations. It starts their agents in
milliseconds, and keeps its records on the node's disk, where the next one finds them.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from muster.backends.allocations.adapter import EngineAdapter
from muster.backends.allocations.delivery import AgentDelivery
from muster.backends.allocations.engine import AllocationId, AllocationRequest, EngineNode, SeenAllocation
from muster.backends.ray.driver import RayDriver
from muster.backends.ray.nodes import RayNode, engine_node, nodes_told
from muster.backends.ray.script import files_of
from muster.backends.ray.seen import seen_allocations, to_end
from muster.model.ids import EngineName, NodeName

LOOK_KEPT_S = 0.5
"""For how long what Ray has said is not asked again. Nodes and allocations are asked for one after the other."""

UNWANTED_MOST = 10_000
"""Of how many allocations it is remembered that they are to end. Later ones are told once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RaySettings:
    """How a Ray cluster is used."""

    name: EngineName
    level_labels: tuple[str, ...] = ()
    """Labels of nodes that say their domains, outermost first."""
    output: Path | None = None
    """The folder on the nodes for what agents say; None throws it away."""


class RayEngine(EngineAdapter[RaySettings]):
    """One Ray cluster."""

    def __init__(
        self,
        settings: RaySettings,
        driver: RayDriver,
        *,
        arrival: Callable[[], AgentDelivery],
        booked: Callable[[], Mapping[AllocationId, tuple[NodeName, ...]]],
    ) -> None:
        """`booked` are the allocations of this engine that Muster has written down, with their nodes."""
        super().__init__(settings, arrival)
        self._driver = driver
        self._booked = booked
        self._known: dict[NodeName, None] = {}
        """Nodes that were alive once."""
        self._unwanted: dict[AllocationId, None] = {}
        self._looked: tuple[float, Mapping[NodeName, RayNode]] = (float("-inf"), {})

    def inventory(self) -> tuple[EngineNode, ...]:
        """The nodes of the cluster: those that are alive, and those that were."""
        looked_s, nodes = self._looked
        if time.monotonic() - looked_s > LOOK_KEPT_S:
            nodes = self._look()
        self._known.update((name, None) for name, node in nodes.items() if node.is_alive)
        return tuple(
            engine_node(node, self.name, self._settings.level_labels)
            for name, node in nodes.items()
            if name in self._known
        )

    def submit(self, request: AllocationRequest) -> str:
        """Have the keepers of the nodes begin it, all of them or none."""
        arrival, whole = self._arrival(), [node for share in request.shares for node in share.nodes]
        output = "" if self._settings.output is None else str(self._settings.output)
        orders = {
            node: {
                "id": request.id,
                "node": node,
                "nodes": whole,
                "gpus": share.gpus,
                "limit_s": request.limit_s,
                "files": files_of(request, arrival, node, output),
            }
            for share in request.shares
            for node in share.nodes
        }
        self._driver.call("submit", orders=orders)
        return str(request.id)

    def cancel(self, engine_id: str) -> None:
        """Have all keepers end it. What could not be told is told with the next look."""
        if len(self._unwanted) >= UNWANTED_MOST:
            del self._unwanted[next(iter(self._unwanted))]
        self._unwanted[AllocationId(engine_id)] = None
        self._driver.call("end", id=engine_id)

    def look(self) -> tuple[SeenAllocation, ...]:
        """All allocations of this Muster on the nodes that Ray has, and those that it had on others."""
        nodes, booked = self._look(), self._booked()
        for allocation in tuple(to_end(nodes, self._unwanted)):
            self.cancel(str(allocation))
        return seen_allocations(nodes, booked)

    def close(self) -> None:
        """End the driver process. Keepers and what they run go on."""
        self._driver.close()

    def _look(self) -> Mapping[NodeName, RayNode]:
        nodes = nodes_told(self._driver.call("look"))
        self._looked = (time.monotonic(), nodes)
        return nodes
