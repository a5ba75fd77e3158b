"""A backend that only pretends: gangs live by a script on a virtual clock that the caller moves.

Deterministic: the same commands and the same moves of the clock give the same reports in the same order.
"""

import heapq
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import assert_never

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
from muster.model.instructions import AskCheckpoint, Command, KillWorkers, SignalStop, StartWorkers
from muster.model.job import Worker
from muster.model.node import Node

KILLED = 137
"""The exit code of a process that was killed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Script:
    """How the workers of one attempt behave."""

    start_ms: int = 0
    """From the command until the process is alive."""
    cannot_start: bool = False
    run_ms: int | None = 60_000
    """From being alive to exiting by itself; None means never."""
    exit_code: int = 0
    oom: bool = False
    crash_rank: int | None = None
    """This rank exits with code 1, and not as the others do."""
    crash_ms: int = 0
    """How long after being alive it crashes."""
    stop_ms: int | None = 0
    """From being told to stop to exiting; None means that it ignores the signal."""
    stop_exit_code: int = 1
    """torchrun exits 1 even after a clean save, so that is the rule."""
    saves: bool = False
    """Saves itself when asked, and before it leaves when told to."""
    save_every_ms: int | None = None
    """Saves itself without being asked."""
    save_cost_ms: int = 0


@dataclass(slots=True, kw_only=True)
class _Process:
    job: JobId
    attempt: int
    worker: Worker
    script: Script
    is_up: bool = False
    is_told: bool = False
    is_lost: bool = False
    """Its node is gone: nothing more is ever heard of it."""
    end: WorkersExited | StartFailed | None = None
    """How it ended, for as long as somebody may ask again."""

    @property
    def is_running(self) -> bool:
        return self.is_up and self.end is None and not self.is_lost


@dataclass(slots=True, kw_only=True)
class _Gang:
    """What is known of one job."""

    generation: int = 0
    attempt: int = 0
    processes: dict[int, _Process] = field(default_factory=dict)


class FakeBackend:
    """Runs scripted gangs on virtual time."""

    def __init__(self, scripts: Mapping[JobId, Sequence[Script]] | None = None, *, now_ms: int = 0) -> None:
        self.now_ms = now_ms
        self.refused: list[Command] = []
        """Commands that came with an older generation."""
        self._scripts = dict(scripts or {})
        self._gangs: dict[JobId, _Gang] = {}
        self._reports: list[ObservedEvent] = []
        self._agenda: list[tuple[int, int, Callable[[], None]]] = []
        self._planned = 0
        self._lost_nodes: dict[NodeName, None] = {}
        self._unnoticed: dict[NodeName, None] = {}

    def script(self, job: JobId, *scripts: Script) -> None:
        """Say how the attempts of a job behave; the last script goes for all further attempts."""
        self._scripts[job] = scripts

    @property
    def next_ms(self) -> int | None:
        """When something happens next by itself."""
        return self._agenda[0][0] if self._agenda else None

    def advance(self, to_ms: int) -> None:
        """Move the clock and let happen what happens until then."""
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
            if process.end is None and not process.is_lost
        )

    def lose_node(self, node: NodeName, *, noticed_after_ms: int = 0) -> None:
        """Take a node away with all its processes; it is reported once somebody has noticed."""
        self._lost_nodes[node] = None
        for gang in self._gangs.values():
            for process in gang.processes.values():
                process.is_lost = process.is_lost or process.worker.node == node
        self._unnoticed[node] = None
        self._plan(noticed_after_ms, partial(self._notice, node))

    def return_node(self, node: Node) -> None:
        """Bring a node back, empty. If nobody had noticed that it was gone, it is noticed now."""
        self._notice(node.name)
        self._lost_nodes.pop(node.name, None)
        self._report(NodeChanged(at_ms=self.now_ms, node=node, because="returned"))

    def poll(self) -> tuple[ObservedEvent, ...]:
        """Everything observed since the last call."""
        self.advance(self.now_ms)
        reports, self._reports = tuple(self._reports), []
        return reports

    def send(self, command: Command) -> None:
        """Carry the command out on virtual time, unless it is older than what was seen."""
        gang = self._gangs.setdefault(command.job, _Gang())
        if command.generation < gang.generation:
            self.refused.append(command)
            return
        gang.generation = command.generation
        if command.attempt > gang.attempt:
            gang.attempt, gang.processes = command.attempt, {}
        match command:
            case StartWorkers():
                self._start(gang, command)
            case SignalStop():
                self._to_each(gang, command, self._tell)
            case KillWorkers():
                self._to_each(gang, command, self._kill)
            case AskCheckpoint():
                self._ask(gang)
            case _:
                assert_never(command)

    def _start(self, gang: _Gang, command: StartWorkers) -> None:
        scripts = self._scripts.get(command.job, ()) or (Script(),)
        script = scripts[min(command.attempt, len(scripts)) - 1]
        for worker in command.workers:
            known = gang.processes.get(worker.rank)
            if known is not None:
                self._report_again(known)
                continue
            process = _Process(
                job=command.job,
                attempt=command.attempt,
                worker=worker,
                script=script,
                is_lost=worker.node in self._lost_nodes,
            )
            gang.processes[worker.rank] = process
            self._plan(script.start_ms, partial(self._come_up, process))

    def _come_up(self, process: _Process) -> None:
        if not self._is_there(process):
            return
        script = process.script
        if script.cannot_start:
            self._end(process, self._start_failure(process))
            return
        process.is_up = True
        self._report(self._start_report(process))
        if script.crash_rank == process.worker.rank:
            self._plan(script.crash_ms, partial(self._exit, process, code=1))
        elif script.run_ms is not None:
            self._plan(script.run_ms, partial(self._exit, process, code=script.exit_code, oom=script.oom))
        if script.save_every_ms is not None and process.worker.rank == 0:
            self._plan(script.save_every_ms, partial(self._save_regularly, process))

    def _to_each(self, gang: _Gang, command: SignalStop | KillWorkers, act: Callable[[_Process], None]) -> None:
        """Act on the living, report the ended again, and say of those never seen that there are none."""
        for rank in command.ranks:
            process = gang.processes.get(rank)
            if process is not None and self._is_there(process):
                act(process)
            elif process is not None:
                self._report_again(process)
        if unknown := tuple(rank for rank in command.ranks if rank not in gang.processes):
            report = StartFailed(
                at_ms=self.now_ms,
                job=command.job,
                attempt=command.attempt,
                generation=command.generation,
                ranks=unknown,
                message="never started",
            )
            self._report(report)

    def _tell(self, process: _Process) -> None:
        is_first = not process.is_told
        process.is_told = True
        script = process.script
        if not is_first or script.stop_ms is None:
            return
        if script.saves and process.worker.rank == 0:
            self._plan(min(script.save_cost_ms, script.stop_ms), partial(self._save, process))
        self._plan(script.stop_ms, partial(self._exit, process, code=script.stop_exit_code))

    def _kill(self, process: _Process) -> None:
        process.is_told = True
        self._exit(process, code=KILLED)

    def _ask(self, gang: _Gang) -> None:
        process = gang.processes.get(0)
        if process is not None and process.is_running and process.script.saves:
            self._plan(process.script.save_cost_ms, partial(self._save, process))

    def _save_regularly(self, process: _Process) -> None:
        self._save(process)
        if process.script.save_every_ms is not None and self._is_there(process):
            self._plan(process.script.save_every_ms, partial(self._save_regularly, process))

    def _save(self, process: _Process) -> None:
        if self._is_there(process):
            cost_ms = process.script.save_cost_ms
            self._report(CheckpointSaved(at_ms=self.now_ms, job=process.job, attempt=process.attempt, cost_ms=cost_ms))

    def _exit(self, process: _Process, *, code: int, oom: bool = False) -> None:
        if self._is_there(process):
            report = WorkersExited(
                at_ms=self.now_ms,
                job=process.job,
                attempt=process.attempt,
                generation=self._gangs[process.job].generation,
                ranks=(process.worker.rank,),
                exit_code=code,
                oom=oom,
                told=process.is_told,
            )
            self._end(process, report)

    def _end(self, process: _Process, end: WorkersExited | StartFailed) -> None:
        process.end = end
        self._report(end)

    def _notice(self, node: NodeName) -> None:
        if node in self._unnoticed:
            del self._unnoticed[node]
            self._report(NodeLost(at_ms=self.now_ms, node=node, because="lost"))

    def _report(self, report: ObservedEvent) -> None:
        self._reports.append(report)

    def _report_again(self, process: _Process) -> None:
        if process.end is not None:
            self._report(process.end)
        elif process.is_running:
            self._report(self._start_report(process))

    def _start_report(self, process: _Process) -> WorkersStarted:
        return WorkersStarted(
            at_ms=self.now_ms,
            job=process.job,
            attempt=process.attempt,
            generation=self._gangs[process.job].generation,
            ranks=(process.worker.rank,),
        )

    def _start_failure(self, process: _Process) -> StartFailed:
        return StartFailed(
            at_ms=self.now_ms,
            job=process.job,
            attempt=process.attempt,
            generation=self._gangs[process.job].generation,
            ranks=(process.worker.rank,),
            message="scripted",
        )

    def _is_there(self, process: _Process) -> bool:
        """False once it has ended, its node is lost, or a newer attempt has taken its place."""
        is_known = self._gangs[process.job].processes.get(process.worker.rank) is process
        return is_known and process.end is None and not process.is_lost

    def _plan(self, after_ms: int, happen: Callable[[], None]) -> None:
        """Let something happen later; at the same time, in the order planned."""
        self._planned += 1
        heapq.heappush(self._agenda, (self.now_ms + after_ms, self._planned, happen))
