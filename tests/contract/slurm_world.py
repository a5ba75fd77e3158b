"""The local backend on a real Slurm, as a world that a test can move.

Each gang is a job of Slurm on exactly the nodes that were chosen. Its agents are the one file that Slurm brings along.
"""

import os
import sys
from contextlib import suppress
from pathlib import Path

from muster.backends.allocations.book import AllocationBook
from muster.backends.allocations.delivery import AgentDelivery
from muster.backends.allocations.engine import AllocationEngine
from muster.backends.local.backend import LocalBackend
from muster.backends.slurm.engine import SlurmEngine, SlurmSettings
from muster.backends.slurm.programs import SlurmPrograms
from muster.model.events import GangsFound, NodeChanged, NodeReturned, NodeUnreachable
from muster.model.ids import EngineName, NodeName
from muster.model.node import Node
from muster.worker.agent.packing import agent_file
from muster.worker.launch.runtime_folder import runtime_folder
from tests.contract.agent_server import AgentServer
from tests.contract.local_world import LocalWorld
from tests.slurm_cluster import Cluster, power_off

ENGINE = EngineName("hpc")
PYTHON = sys.executable
"""It is run so that it finds nothing that is installed."""


def an_engine(cluster: Cluster, home: Path, url: str) -> SlurmEngine:
    """The partition of a cluster of the tests."""
    return SlurmEngine(
        SlurmSettings(name=ENGINE, partition="train", output=home),
        SlurmPrograms(variables={"SLURM_CONF": str(cluster.configuration)}),
        mark=lambda: AllocationBook(home).mark,
        arrival=lambda: AgentDelivery(urls=url, python=PYTHON, mark=AllocationBook(home).mark, agent=agent_file()),
    )


class SlurmWorld(LocalWorld):
    """Runs scripted gangs as real processes in jobs of Slurm."""

    unshadowed = (NodeChanged, NodeReturned, NodeUnreachable, GangsFound)

    def __init__(self, home: Path, cluster: Cluster) -> None:
        self._cluster = cluster
        self._off: list[NodeName] = []
        super().__init__(home)

    def lose_node(self, node: NodeName) -> None:
        """Switch a machine off, and have Slurm see that."""
        self._cluster.kill(node)
        power_off(lambda: self._processes_on(node))
        self._cluster.run("scontrol", "update", f"nodename={node}", "state=down", "reason=lost")
        self._off.append(node)
        self._shadow.lose_node(node)

    def close(self) -> None:
        self._cluster.run("scancel", "--me")
        self._wait(lambda: not self._cluster.run("squeue", "--me", "-h", "-o", "%i"))
        self._real.close()
        self._server.close()
        for node in self._off:
            self._cluster.start_node(node)
            self._cluster.run("scontrol", "update", f"nodename={node}", "state=resume")
        self._cluster.await_idle()

    def _is_up(self) -> bool:
        return self._real.has_caught_up

    def _backend(self, home: Path) -> LocalBackend:
        self._server = AgentServer()
        engine = self._engine(home, self._server.url)
        nodes = [Node(name=NodeName(name), gpus=8, engine=engine.name) for name in self._cluster.nodes[:2]]
        backend = LocalBackend(home, nodes, engines=[engine])
        self._server.serve(home, backend)
        return backend

    def _engine(self, home: Path, url: str) -> AllocationEngine:
        return an_engine(self._cluster, home, url)

    def _runtime_folders(self) -> tuple[str, ...]:
        return tuple(
            str(runtime_folder(home))
            for allocation in self._real._allocations._register.by_id.values()
            for node in allocation.nodes
            if (home := _home_on(allocation.id, node)).is_dir()
        )

    def _processes_on(self, node: NodeName) -> list[int]:
        """Everything that the machine would run, if it were one."""
        folders = [str(_home_on(each.id, node)) for each in self._real._allocations._register.by_id.values()]
        workers = [str(runtime_folder(Path(folder))) for folder in folders if Path(folder).is_dir()]
        found = []
        for process in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                text = (process / "cmdline").read_bytes() + (process / "environ").read_bytes()
                if any(folder.encode() in text for folder in (*folders, *workers)):
                    found.append(int(process.name))
        return found


def _home_on(allocation: str, node: NodeName) -> Path:
    """Where the agent of an allocation keeps its files on a node."""
    return Path(os.environ.get("TMPDIR", "/tmp")) / f"muster-{os.getuid()}-{allocation}-{node}"
