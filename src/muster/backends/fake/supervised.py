"""A fake whose nodes have supervisors: they can die, and they enforce limits by themselves while they are alone.

What a supervisor ran goes on when it dies, but cannot be reached: no command arrives there, and no end is reported. A
successor ends what the journal lists, greets, and reports every end. If a worker had ended by itself, its exit record
says how; otherwise it is reported as killed. Where no successor can be started, the node is swept and is lost.
"""

from collections.abc import Iterable, Iterator
from functools import partial

from muster.backends.fake.process import FakeGang, Process
from muster.backends.fake.script import KILLED
from muster.backends.fake.supervision import Supervision
from muster.backends.fake.training import TrainingBackend
from muster.model.events import (
    GangsFound,
    NodeLost,
    NodeReturned,
    NodeUnreachable,
    ObservedEvent,
    StartFailed,
    WorkersExited,
)
from muster.model.ids import JobId, NodeName
from muster.model.job import Worker
from muster.model.machines.quarantine import FoundGang, SeenJob
from muster.model.node import Node
from muster.model.records import evolve


class SupervisedBackend(TrainingBackend):
    """Scripted gangs under supervisors that fail."""

    supervision: Supervision
    _orphans: list[Process]

    def __init__(self, *, now_ms: int = 0) -> None:
        super().__init__(now_ms=now_ms)
        self.supervision = Supervision()
        self._orphans = []
        """Processes of older attempts on nodes that could not hear of the newer attempts."""

    def seated(self) -> tuple[tuple[JobId, Worker], ...]:
        """Every worker of every job that has a process now, or is about to, also orphans."""
        return (*super().seated(), *((each.job, each.worker) for each in self._orphans if each.is_alive))

    def is_attended(self, node: NodeName) -> bool:
        """True while a node has a supervisor."""
        return node not in self.supervision.absences

    def lose_supervisor(self, node: NodeName, *, noticed_after_ms: int = 0) -> int:
        """The supervisor of a node dies, which is reported `noticed_after_ms` later. Returns the absence's number."""
        number = self.supervision.leave(node)
        self._plan(noticed_after_ms, partial(self._miss, node, number))
        return number

    def replace_supervisor(self, node: NodeName) -> None:
        """A successor ends what its predecessor left, greets, and reports how everything ended."""
        if self.is_attended(node):
            return
        self._miss(node, self.supervision.absences[node])
        self._end_leftovers(node)
        self.supervision.come(node)
        self._report(NodeReturned(at_ms=self.now_ms, node=node, because="its supervisor is back"))
        for process in self._on(node):
            if process.is_unsaid and process.end is not None:
                process.is_unsaid = False
                self._report(evolve(process.end, at_ms=self.now_ms))
        self.greet((node,))

    def return_node(self, node: Node) -> None:
        """Bring a node back, with a supervisor that says what it runs."""
        super().return_node(node)
        self.greet((node.name,))

    def sweep_node(self, node: NodeName) -> None:
        """No successor can be started: what the journal lists is ended from outside, and the node is lost."""
        if self.is_attended(node):
            return
        self._miss(node, self.supervision.absences[node])
        self._end_leftovers(node)
        for process in self._on(node):
            process.is_lost = True
        self._report(NodeLost(at_ms=self.now_ms, node=node, because="swept"))

    def change_home(self) -> None:
        """The nodes of another home replace these. These are fenced first, and the new ones know no job."""
        self._fence()
        self.files.lose_hot()
        self._orphans = [each for each in self._processes() if each.is_alive]
        self._gangs.clear()
        self._lost_nodes.clear()
        self._unnoticed.clear()
        self.supervision = Supervision()

    def _fence(self) -> None:
        """End what runs here without a report: no control plane listens to this home any more."""
        for process in self._processes():
            process.is_lost = True

    def greet(self, nodes: Iterable[NodeName]) -> None:
        """Each of these nodes that has a supervisor says what it runs, and which jobs it has seen."""
        seen = tuple(
            SeenJob(
                job=job,
                attempt=gang.attempt,
                generation=gang.generation,
                next_rank=max(gang.processes, default=-1) + 1,
            )
            for job, gang in self._gangs.items()
        )
        for node in nodes:
            if self.is_attended(node) and node not in self._lost_nodes:
                gangs = tuple(self._found_on(node))
                self._report(GangsFound(at_ms=self.now_ms, node=node, gangs=gangs, seen=seen))

    def _found_on(self, node: NodeName) -> Iterator[FoundGang]:
        for job, gang in self._gangs.items():
            alive = (each for each in gang.processes.values() if each.is_alive and each.worker.node == node)
            workers = tuple(each.worker for each in alive)
            if workers:
                yield FoundGang(
                    job=job,
                    attempt=gang.attempt,
                    generation=gang.generation,
                    workers=workers,
                    spec=gang.spec,
                    next_rank=max(gang.processes) + 1,
                )

    def end_everything(self) -> None:
        """Everything ends on every node. Supervisors report the ends at once; nodes without one report them later."""
        for process in self._processes():
            if process.is_alive:
                process.is_told = True
                self._exit(process, code=KILLED)

    def fall_silent(self, known_after_ms: int = 0) -> None:
        """The control plane is not heard any more. After `known_after_ms` the supervisors take it to be away."""
        number = self.supervision.fall_silent()
        self._plan(known_after_ms, partial(self._be_alone, number))

    def hear_again(self) -> None:
        """The control plane is back, and enforces the limits."""
        self.supervision.hear()

    def lose_node(self, node: NodeName, *, noticed_after_ms: int = 0) -> None:
        """Take a node away with all its processes and its supervisor, if it has one."""
        self.supervision.come(node)
        for process in self._orphans:
            process.is_lost = process.is_lost or process.worker.node == node
        super().lose_node(node, noticed_after_ms=noticed_after_ms)

    def _reaches(self, node: NodeName) -> bool:
        return self.is_attended(node)

    def _supersede(self, gang: FakeGang, attempt: int) -> None:
        """Processes that a newer attempt cannot reach live on."""
        unreached = [each for each in gang.processes.values() if not self._reaches(each.worker.node)]
        self._orphans = [each for each in (*self._orphans, *unreached) if each.is_alive]
        for process in unreached:
            del gang.processes[process.worker.rank]
        super()._supersede(gang, attempt)

    def _say(self, process: Process, report: ObservedEvent) -> None:
        """What happens on a node without a supervisor is not reported. An end leaves an exit record."""
        if self._reaches(process.worker.node):
            super()._say(process, report)
        elif isinstance(report, WorkersExited | StartFailed):
            process.is_unsaid = True

    def _miss(self, node: NodeName, number: int) -> None:
        """Report that a node has no supervisor, if this absence still lasts and was not reported yet."""
        if self.supervision.is_absence(node, number) and node in self.supervision.unnoticed:
            del self.supervision.unnoticed[node]
            self._report(NodeUnreachable(at_ms=self.now_ms, node=node, because="its supervisor has ended"))

    def _end_leftovers(self, node: NodeName) -> None:
        """End what a dead supervisor left, and record every end that was not reported."""
        for process in self._on(node):
            if process.is_alive:
                process.end, process.is_unsaid = self._exit_report(process, code=KILLED), True
            elif process.is_unsaid and process.end is not None:
                process.end = self._recorded(process, process.end)
        self._orphans = [each for each in self._orphans if each.is_alive]

    def _recorded(self, _process: Process, end: WorkersExited | StartFailed) -> WorkersExited | StartFailed:
        """How a worker ended while its node had no supervisor, as its exit record says."""
        return end

    def _on(self, node: NodeName) -> Iterator[Process]:
        return (process for process in self._processes() if process.worker.node == node)

    def _processes(self) -> Iterator[Process]:
        for gang in self._gangs.values():
            yield from gang.processes.values()
        yield from self._orphans

    def _be_alone(self, number: int) -> None:
        if self.supervision.is_silence(number):
            self.supervision.is_alone = True
            for process in self._processes():
                self._wind_clock(process)

    def _wind_clock(self, process: Process) -> None:
        delay_ms = process.deadlines.next_ms(self.now_ms) if process.is_alive else None
        if delay_ms is not None:
            self._plan(int(delay_ms), partial(self._look_at_clock, process))

    def _look_at_clock(self, process: Process) -> None:
        """Act on passed deadlines, as a supervisor that is alone does. What it began alone, it finishes."""
        may_act = self.supervision.is_alone or process.is_overdue
        if not may_act or not process.is_alive or not self._reaches(process.worker.node):
            return
        has_to_die = process.deadlines.has_to_die(self.now_ms)
        if not process.is_told and (has_to_die or process.deadlines.has_to_leave(self.now_ms)):
            process.is_overdue = True
            self._tell(process, grace_ms=process.grace_ms)
        if has_to_die:
            self._kill(process)
        self._wind_clock(process)
