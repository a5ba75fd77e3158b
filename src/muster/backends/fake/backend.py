"""The fake backend: carries out commands in virtual time, and reports the outcomes."""

import heapq
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import assert_never

from muster.backends.fake.pretended_nodes import PretendedNodes
from muster.backends.fake.process import FakeGang, Process
from muster.backends.fake.script import KILLED, GangScript
from muster.model.events import (
    CheckpointSaved,
    NodeChanged,
    NodeLost,
    ObservedEvent,
    StartFailed,
    WorkersExited,
    WorkersStarted,
)
from muster.model.ids import JobId, NodeName
from muster.model.instructions import AskCheckpoint, Command, KillWorkers, SignalStop, StartWorkers, ranks_named
from muster.model.job import Worker
from muster.model.limits import STOP_GRACE_MS
from muster.model.node import Node
from muster.model.spec import JobSpec
from muster.worker.launch.devices import conflict


class FakeBackend(PretendedNodes):
    """Runs scripted gangs in virtual time."""

    def __init__(self, scripts: Mapping[JobId, Sequence[GangScript]] | None = None, *, now_ms: int = 0) -> None:
        super().__init__()
        self.now_ms = now_ms
        self.refused: list[Command] = []
        """Commands that came with an older generation."""
        self._scripts = dict(scripts or {})
        self._gangs: dict[JobId, FakeGang] = {}
        self._reports: list[ObservedEvent] = []
        self._agenda: list[tuple[int, int, Callable[[], None]]] = []
        self._planned = 0
        self._on_node: dict[NodeName, list[Process]] = {}
        """Processes that may be alive on each node."""
        self._lost_nodes: dict[NodeName, None] = {}
        self._unnoticed: dict[NodeName, None] = {}

    def script(self, job: JobId, *scripts: GangScript) -> None:
        """Set how the attempts of a job behave. The last script is used for all further attempts."""
        self._scripts[job] = scripts

    @property
    def next_ms(self) -> int | None:
        """When something happens next by itself."""
        return self._agenda[0][0] if self._agenda else None

    def advance(self, to_ms: int) -> None:
        """Move the clock, and let everything happen that is planned until then."""
        while self._agenda and self._agenda[0][0] <= to_ms:
            self.now_ms, _, happen = heapq.heappop(self._agenda)
            happen()
        self.now_ms = max(self.now_ms, to_ms)

    def alive(self, job: JobId) -> tuple[int, ...]:
        """The ranks of a job that have a process now, or are about to."""
        return tuple(sorted(worker.rank for owner, worker in self.seated() if owner == job))

    def seated(self) -> tuple[tuple[JobId, Worker], ...]:
        """Every worker of every job that has a process now, or is about to."""
        return tuple(
            (job, process.worker)
            for job, gang in self._gangs.items()
            for process in gang.processes.values()
            if process.is_alive
        )

    def lose_node(self, node: NodeName, *, noticed_after_ms: int = 0) -> None:
        """Take a node away with all its processes. The loss is reported after `noticed_after_ms`."""
        self._lost_nodes[node] = None
        for gang in self._gangs.values():
            for process in gang.processes.values():
                process.is_lost = process.is_lost or process.worker.node == node
        self._unnoticed[node] = None
        self._plan(noticed_after_ms, partial(self._notice, node))

    def return_node(self, node: Node) -> None:
        """Bring a node back, empty. If its loss was not reported yet, it is reported now."""
        self._notice(node.name)
        self._lost_nodes.pop(node.name, None)
        self._report(NodeChanged(at_ms=self.now_ms, node=node, because="returned"))

    def poll(self) -> tuple[ObservedEvent, ...]:
        """Everything observed since the last call."""
        self.advance(self.now_ms)
        reports, self._reports = tuple(self._reports), []
        return reports

    def send(self, command: Command) -> None:
        """Carry out the command in virtual time, unless it is older than the newest one seen."""
        gang = self._gangs.setdefault(command.job, FakeGang())
        if command.generation < gang.generation:
            self.refused.append(command)
            return
        gang.generation = command.generation
        if command.attempt > gang.attempt:
            self._supersede(gang, command.attempt)
        elif command.attempt < gang.attempt:
            self._deny(command, ranks_named(command), "a newer attempt was heard of")
            return
        match command:
            case StartWorkers():
                gang.spec = command.spec
                self._start(gang, command)
            case SignalStop(grace_ms=grace_ms):
                self._to_each(gang, command, partial(self._tell, grace_ms=grace_ms))
            case KillWorkers():
                self._to_each(gang, command, self._kill)
            case AskCheckpoint():
                self._ask(gang)
            case _:
                assert_never(command)

    def _reaches(self, _node: NodeName) -> bool:
        """True when commands reach a node."""
        return True

    def _supersede(self, gang: FakeGang, attempt: int) -> None:
        """A newer attempt ends what is left of the older one, without a report."""
        for process in gang.processes.values():
            process.is_lost = True
        gang.attempt, gang.processes, gang.unheard = attempt, {}, {}

    def _start(self, gang: FakeGang, command: StartWorkers) -> None:
        scripts = self._scripts.get(command.job, ()) or (GangScript(),)
        script = scripts[min(command.attempt, len(scripts)) - 1]
        for worker in command.workers:
            known = gang.processes.get(worker.rank)
            if not self._reaches(worker.node):
                if known is None:
                    gang.unheard[worker.rank] = worker.node
            elif known is not None:
                self._report_again(known)
                self._limit(known, command.max_duration_ms)
            else:
                self._launch(gang, command, worker, script)

    def _launch(self, gang: FakeGang, command: StartWorkers, worker: Worker, script: GangScript) -> None:
        gang.unheard.pop(worker.rank, None)
        process = Process(
            job=command.job,
            attempt=command.attempt,
            worker=worker,
            script=script,
            grace_ms=grace_of(command.spec),
            is_lost=worker.node in self._lost_nodes,
        )
        gang.processes[worker.rank] = process
        living = [each for each in self._on_node.get(worker.node, ()) if each.is_alive]
        if problem := conflict(worker, ((each.job, each.worker) for each in living)):
            self._end(process, self._start_failure(process, problem))
            return
        self._on_node[worker.node] = [*living, process]
        self._limit(process, command.max_duration_ms)
        self._plan(script.start_ms, partial(self._come_up, process))

    def _limit(self, process: Process, max_duration_ms: int | None) -> None:
        """Let a process run this much longer."""
        if process.is_alive and not process.is_told:
            process.deadlines.limit(self.now_ms, max_duration_ms, process.grace_ms)

    def _come_up(self, process: Process) -> None:
        if not process.is_alive:
            return
        script = process.script
        if script.cannot_start:
            self._end(process, self._start_failure(process))
            return
        process.is_up = True
        self._say(process, self._start_report(process))
        if script.crash_rank == process.worker.rank:
            self._plan(script.crash_ms, partial(self._finish, process, code=1))
        elif script.run_ms is not None:
            self._plan(script.run_ms, partial(self._finish, process, code=script.exit_code, oom=script.oom))
        if script.save_every_ms is not None:
            self._plan(script.save_every_ms, partial(self._save_regularly, process))

    def _to_each(self, gang: FakeGang, command: SignalStop | KillWorkers, act: Callable[[Process], None]) -> None:
        """Act on living workers, report ended ones again, and report that unknown ones were never started."""
        for rank in command.ranks:
            process = gang.processes.get(rank)
            if process is None or not self._reaches(process.worker.node):
                continue
            if process.is_alive:
                act(process)
            else:
                self._report_again(process)
        self._deny(command, tuple(rank for rank in command.ranks if self._is_unknown(gang, rank)), "never started")

    def _deny(self, command: Command, ranks: tuple[int, ...], message: str) -> None:
        """Report that these workers do not exist."""
        if ranks:
            report = StartFailed(
                at_ms=self.now_ms,
                job=command.job,
                attempt=command.attempt,
                generation=command.generation,
                ranks=ranks,
                message=message,
            )
            self._report(report)

    def _is_unknown(self, gang: FakeGang, rank: int) -> bool:
        """True when it is certain that a worker was never started."""
        return rank not in gang.processes and (rank not in gang.unheard or self._reaches(gang.unheard[rank]))

    def _tell(self, process: Process, *, grace_ms: int) -> None:
        """Tell a process to leave. Telling it again changes nothing. Only another command kills it."""
        if process.is_told:
            return
        process.is_told = True
        process.deadlines.told(self.now_ms, grace_ms)
        script = process.script
        if script.stop_ms is None:
            return
        if script.saves and self._is_first(process):
            self._plan(min(script.save_cost_ms, script.stop_ms), partial(self._save, process))
        self._plan(script.stop_ms, partial(self._exit, process, code=script.stop_exit_code))

    def _kill(self, process: Process) -> None:
        process.is_told = True
        self._exit(process, code=KILLED)

    def _ask(self, gang: FakeGang) -> None:
        process = gang.first
        if process is not None and process.is_running and process.script.saves:
            self._plan(process.script.save_cost_ms, partial(self._save, process))

    def _is_first(self, process: Process) -> bool:
        """True for the present first worker of a gang: it tells what the gang has saved. A gang may be forgotten."""
        gang = self._gangs.get(process.job)
        return gang is not None and gang.first is process

    def _save_regularly(self, process: Process) -> None:
        if self._is_first(process):
            self._save(process)
        if process.script.save_every_ms is not None and process.is_alive:
            self._plan(process.script.save_every_ms, partial(self._save_regularly, process))

    def _save(self, process: Process) -> None:
        if process.is_alive:
            cost_ms = process.script.save_cost_ms
            saved = CheckpointSaved(at_ms=self.now_ms, job=process.job, attempt=process.attempt, cost_ms=cost_ms)
            self._say(process, saved)

    def _finish(self, process: Process, *, code: int, oom: bool = False) -> None:
        """A process ends by itself, as its script says."""
        self._exit(process, code=code, oom=oom)

    def _exit(self, process: Process, *, code: int, oom: bool = False) -> None:
        if process.is_alive:
            self._end(process, self._exit_report(process, code=code, oom=oom))

    def _end(self, process: Process, end: WorkersExited | StartFailed) -> None:
        process.end = end
        self._say(process, end)

    def _notice(self, node: NodeName) -> None:
        if node in self._unnoticed:
            del self._unnoticed[node]
            self._report(NodeLost(at_ms=self.now_ms, node=node, because="lost"))

    def _say(self, _process: Process, report: ObservedEvent) -> None:
        """The supervisor of a process reports something about it."""
        self._report(report)

    def _report(self, report: ObservedEvent) -> None:
        self._reports.append(report)

    def _report_again(self, process: Process) -> None:
        """Report what is known of a worker. A node that was lost and is back knows that nothing it ran has survived."""
        if process.is_lost and process.end is None and process.worker.node not in self._lost_nodes:
            process.end = self._exit_report(process, code=KILLED)
        if process.end is not None:
            self._report(process.end)
        elif process.is_running:
            self._report(self._start_report(process))

    def _start_report(self, process: Process) -> WorkersStarted:
        return WorkersStarted(
            at_ms=self.now_ms,
            job=process.job,
            attempt=process.attempt,
            generation=self._gangs[process.job].generation,
            ranks=(process.worker.rank,),
        )

    def _start_failure(self, process: Process, message: str = "scripted") -> StartFailed:
        return StartFailed(
            at_ms=self.now_ms,
            job=process.job,
            attempt=process.attempt,
            generation=self._gangs[process.job].generation,
            ranks=(process.worker.rank,),
            message=message,
        )

    def _exit_report(self, process: Process, *, code: int, oom: bool = False) -> WorkersExited:
        return WorkersExited(
            at_ms=self.now_ms,
            job=process.job,
            attempt=process.attempt,
            generation=self._gangs[process.job].generation,
            ranks=(process.worker.rank,),
            exit_code=code,
            oom=oom,
            told=process.is_told,
            timed_out=process.is_overdue,
        )

    def _plan(self, after_ms: int, happen: Callable[[], None]) -> None:
        """Let something happen later. What happens at the same time happens in the order planned."""
        self._planned += 1
        heapq.heappush(self._agenda, (self.now_ms + after_ms, self._planned, happen))


def grace_of(spec: JobSpec) -> int:
    """The time that a worker gets when its supervisor tells it to leave."""
    return spec.grace_ms(STOP_GRACE_MS)
