"""The local backend on a real Ray, as a world that a test can move.

Each gang is an allocation of the keepers on exactly the nodes that were chosen. It is in the namespace of the cluster,
and so has to be the test.
"""

from pathlib import Path

from muster.backends.allocations.book import AllocationBook
from muster.backends.allocations.delivery import AgentDelivery
from muster.backends.allocations.engine import AllocationEngine
from muster.backends.ray.driver import RayDriver, RayPlace
from muster.backends.ray.engine import RayEngine, RaySettings
from muster.model.ids import EngineName, NodeName
from muster.worker.agent.packing import agent_file
from muster.worker.launch.runtime_folder import runtime_folder
from tests.contract.slurm_world import PYTHON, SlurmWorld
from tests.ray_cluster import ADDRESS, RayCluster

ENGINE = EngineName("ray")


class RayWorld(SlurmWorld):
    """Runs scripted gangs as real processes beside the nodes of Ray."""

    _cluster: RayCluster  # type: ignore[assignment]

    def __init__(self, home: Path, cluster: RayCluster) -> None:
        super().__init__(home, cluster)  # type: ignore[arg-type]

    def lose_node(self, node: NodeName) -> None:
        """Switch a machine off, and have Ray see that."""
        self._cluster.switch_off(node)
        self._off.append(node)
        self._shadow.lose_node(node)

    def close(self) -> None:
        for allocation in self._real._allocations._register.by_id.values():
            if not allocation.is_over:
                self._ray.cancel(allocation.id)
        self._wait(lambda: not any(self._cluster.processes_on(node) for node in self._cluster.nodes))
        self._real.close()
        self._server.close()
        self._cluster.repair()

    def _runtime_folders(self) -> tuple[str, ...]:
        return tuple(str(runtime_folder(script.parent)) for script in self._cluster.scratch.glob("muster-*/run.sh"))

    def _engine(self, home: Path, url: str) -> AllocationEngine:
        book = AllocationBook(home)
        place = RayPlace(address=ADDRESS, python=self._cluster.python, mark=lambda: book.mark, agent=agent_file)
        self._ray = RayEngine(
            RaySettings(name=ENGINE, output=home),
            RayDriver(place),
            arrival=lambda: AgentDelivery(urls=url, python=PYTHON, mark=book.mark, agent=agent_file()),
            booked=lambda: {each.id: each.nodes for each in book.read()},
        )
        return self._ray
