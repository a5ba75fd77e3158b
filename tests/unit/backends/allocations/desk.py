"""A desk of allocations over an engine that is pretended. No agent ever comes."""

from collections.abc import Sequence
from pathlib import Path

from muster.backends.allocations.allocations import Allocations, BackendParts
from muster.backends.allocations.calls import EngineCalls
from muster.backends.allocations.engine import (
    AllocationId,
    AllocationPhase,
    AllocationRequest,
    EngineNode,
    RequestRefused,
    SeenAllocation,
)
from muster.backends.local.link import Listener
from muster.backends.local.node_links import NodeLinks
from muster.backends.local.reporting import Reporting
from muster.backends.local.worker_routing import WorkerRouting
from muster.model.events import (
    ObservedEvent,
)
from muster.model.ids import EngineName, NodeName
from muster.model.instructions import KillWorkers, StartWorkers
from muster.model.job import Cause
from muster.model.machines.ownership import Leadership
from muster.model.node import Node, NodeState
from muster.model.records import evolve
from muster.worker.loop import Loop
from tests.unit.core.lifecycle.builders import JOB, a_gang, a_spec

HPC = EngineName("hpc")
NODES = tuple(Node(name=NodeName(name), gpus=8, engine=HPC) for name in ("n0", "n1"))


class PretendedEngine:
    """Takes every request, and says what a test wants."""

    name = HPC
    runs_images = False

    def __init__(self) -> None:
        self.requests: list[AllocationRequest] = []
        self.cancelled: list[str] = []
        self.seen: list[SeenAllocation] = []
        self.states = dict.fromkeys(("n0", "n1"), NodeState.READY)
        self.because = "fan is loud"
        self.more: list[Node] = []
        """Nodes that it got later."""
        self.problem: Exception | None = None
        """What the next request meets, after the engine has taken it."""
        self.is_deaf = False
        """True for an engine that has not taken it."""

    def inventory(self) -> tuple[EngineNode, ...]:
        return tuple(
            EngineNode(node=evolve(node, state=self.states[node.name]), address="10.0.0.1", because=self.because)
            for node in (*NODES, *self.more)
        )

    def submit(self, request: AllocationRequest) -> str:
        if isinstance(self.problem, RequestRefused) or (self.is_deaf and self.problem is not None):
            raise self.problem
        self.requests.append(request)
        self.says(AllocationPhase.WAITING)
        if self.problem is not None:
            raise self.problem
        return str(len(self.requests))

    def address(self, allocation: AllocationId, node: NodeName) -> str:  # noqa: ARG002
        return f"pod-of-{node}" if self.runs_images else ""

    def close(self) -> None:
        pass

    def cancel(self, engine_id: str) -> None:
        self.cancelled.append(engine_id)

    def look(self) -> tuple[SeenAllocation, ...]:
        return tuple(self.seen)

    def says(
        self, phase: AllocationPhase, cause: Cause | None = None, because: str = "", *, needs_cancel: bool = False
    ) -> None:
        """From now on, the last allocation is in this phase."""
        number = str(len(self.requests))
        self.seen = [each for each in self.seen if each.engine_id != number]
        nodes = (NodeName("n0"), NodeName("n1")) if phase is AllocationPhase.RUNNING else ()
        last = self.requests[-1].id
        self.seen.append(
            SeenAllocation(
                id=last,
                engine_id=number,
                phase=phase,
                nodes=nodes,
                cause=cause,
                because=because,
                needs_cancel=needs_cancel,
            )
        )


class PromptCalls(EngineCalls):
    """Calls without a thread: each is answered at once."""

    def start(self) -> None:
        pass

    def close(self) -> None:
        pass

    def prompt(self) -> None:
        self._asked.put(None)
        self._run()


class Desk:
    """The allocations of one control plane, and what they report."""

    def __init__(self, home: Path, engine: PretendedEngine) -> None:
        self.engine = engine
        self.loop = Loop(settle=lambda: None)
        listener = Listener(greeted=_nothing, heard=_nothing, lost=_nothing, swept=_nothing, refused=_nothing)
        nodes = NodeLinks(home, NODES, self.loop, listener, Leadership(), (), {HPC}, lambda: None)
        self.reports = Reporting()
        self.directory = WorkerRouting(lambda *_: 1)
        around = BackendParts(
            loop=self.loop,
            ring=lambda: None,
            leads=lambda: True,
            nodes=nodes,
            reports=self.reports,
            directory=self.directory,
            looked=lambda: None,
        )
        self.allocations = Allocations(home, [engine], around, admit=self._admit)
        self.directory.post_of = self.allocations.post_of
        self.allocations.open(nodes.elsewhere)
        self.found = self.round()
        """What was reported as soon as everything was looked at."""

    @staticmethod
    def _admit(nodes: Sequence[Node]) -> Sequence[Node]:
        """Take in what is not called after somebody else."""
        return [evolve(node, domains=("r1",)) for node in nodes if node.name != "taken"]

    def round(self, *, nodes: bool = False) -> list[ObservedEvent]:
        """Let everything be asked and answered; what is reported then."""
        for _ in range(3):
            for calls in self.allocations._calls.values():
                assert isinstance(calls, PromptCalls)
                calls.look(with_nodes=nodes)
                calls.prompt()
            self.allocations.settle()
        return list(self.reports.take())

    def start(self, attempt: int = 1, generation: int = 1) -> dict[int, str]:
        gang = a_gang(2)
        command = StartWorkers(job=JOB, attempt=attempt, generation=generation, spec=a_spec(), workers=gang, gang=gang)
        refusals = self.allocations.provide(command)
        self.directory.route(command)
        return refusals

    def kill(self) -> None:
        command = KillWorkers(job=JOB, attempt=1, generation=2, ranks=(0, 1))
        self.directory.route(command)
        self.allocations.sent(command)


def _nothing(*_: object) -> None:
    pass
