"""An engine whose nodes are folders of this machine: it starts agents, and says whether they run."""

import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

from muster.backends.allocations.delivery import AgentDelivery, kept_running
from muster.backends.allocations.engine import (
    AllocationId,
    AllocationPhase,
    AllocationRequest,
    EngineNode,
    SeenAllocation,
)
from muster.model.ids import EngineName, NodeName
from muster.model.node import Node
from muster.worker.agent.packing import agent_file

NODES = ("n0", "n1")


class ProcessEngine:
    """Runs the script of every engine as a child of the tests."""

    name = EngineName("here")
    runs_images = False

    def __init__(self, folder: Path, url: str) -> None:
        self.folder = folder
        self.cancelled: list[str] = []
        self._arrival = AgentDelivery(urls=url, python=sys.executable, mark="m", agent=agent_file())
        self._running: dict[AllocationId, dict[NodeName, subprocess.Popen[bytes]]] = {}

    def inventory(self) -> tuple[EngineNode, ...]:
        nodes = (Node(name=NodeName(name), gpus=8, engine=self.name) for name in NODES)
        return tuple(EngineNode(node=node, address="127.0.0.1") for node in nodes)

    def address(self, allocation: AllocationId, node: NodeName) -> str:  # noqa: ARG002
        return ""

    def submit(self, request: AllocationRequest) -> str:
        nodes = [node for share in request.shares for node in share.nodes]
        self._running[request.id] = {node: self._begun(request, node) for node in nodes}
        return str(request.id)

    def cancel(self, engine_id: str) -> None:
        self.cancelled.append(engine_id)
        for process in self._running.get(AllocationId(engine_id), {}).values():
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)

    def look(self) -> tuple[SeenAllocation, ...]:
        return tuple(self._seen(allocation) for allocation in self._running)

    def close(self) -> None:
        pass

    @property
    def runs(self) -> bool:
        """True while something of an allocation runs."""
        return any(process.poll() is None for nodes in self._running.values() for process in nodes.values())

    def agents(self) -> list[int]:
        """The processes of agents, without the supervisors, which are their children."""
        shells = {process.pid for nodes in self._running.values() for process in nodes.values()}
        found = []
        for stat in Path("/proc").glob("[0-9]*/stat"):
            with suppress(OSError):
                if int(stat.read_text(errors="replace").rpartition(")")[2].split()[1]) in shells:
                    found.append(int(stat.parent.name))
        return found

    def end(self) -> None:
        """End whatever is left."""
        for allocation in self._running:
            self.cancel(str(allocation))
            for process in self._running[allocation].values():
                process.wait()

    def _begun(self, request: AllocationRequest, node: NodeName) -> "subprocess.Popen[bytes]":
        home = self.folder / f"muster-{request.id}-{node}"
        code = self.folder / "code"
        for each in (home, code):
            each.mkdir(mode=0o700, exist_ok=True)
        (home / "token").write_text(request.token or "none is asked for")
        (home / "agent.pyz").write_bytes(self._arrival.agent)
        script = kept_running(request, self._arrival, node=str(node), folder=str(home), code=str(code))
        with (home / "said").open("ab") as said:
            return subprocess.Popen(["sh", "-c", script], stdout=said, stderr=said, start_new_session=True)

    def _seen(self, allocation: AllocationId) -> SeenAllocation:
        nodes = self._running[allocation]
        alive = tuple(node for node, process in nodes.items() if process.poll() is None)
        phase = AllocationPhase.RUNNING if alive else AllocationPhase.ENDED
        over = tuple(node for node in nodes if node not in alive)
        return SeenAllocation(id=allocation, engine_id=str(allocation), phase=phase, nodes=alive, over=over)
