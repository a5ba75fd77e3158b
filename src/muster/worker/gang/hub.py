"""The first worker of a gang: runs the script of the job, and is the post office of the gang.

A process asks it to run a command beside a worker (`run … on`), and hears how the command ended. `srun` first asks for
a step, which is granted when the allocation has room for it, and ends when `srun` is gone.
"""

import contextlib
import os
import selectors
import signal
import socket
from dataclasses import asdict, dataclass
from typing import Any

from muster.worker.gang.allocation import Allocation, StepUsage, read_allocation
from muster.worker.gang.companion import SIGNALS, note_finished
from muster.worker.gang.host_names import make_known
from muster.worker.gang.line import HUB, Line, Message, listening
from muster.worker.gang.mpi import MPIRUN, tell_ranks
from muster.worker.gang.process_list import group_is_alive, processes, send_signal
from muster.worker.gang.script import Script
from muster.worker.gang.started_commands import StartedCommands
from muster.worker.gang.step_layout import CannotPlace, StepPart, StepRequest, place_step
from muster.worker.gang.step_records import BATCH, StepRecords

LOOK_S = 0.1
"""How often the first worker looks whether what a script left has ended, and at its clock."""

STEPS_WAITING = 10_000
"""The most steps that wait for room: more than the processes that a node allows."""

SRUN = "srun"
SIGKILLED = 137


@dataclass(frozen=True, slots=True, kw_only=True)
class GrantedStep:
    """A step that runs, and what it has of the allocation."""

    number: str
    parts: list[StepPart]


def lead(box: str, gang: str, file: str, allocation: str = "") -> int:
    """Run the script in the first worker, and serve until it has ended."""
    granted = read_allocation(allocation) if allocation else None
    if granted is not None:
        make_known(granted.hosts)
    return GangHub(box, gang, granted).run(file)


class GangHub:
    """The post office. Everything happens in one thread."""

    def __init__(self, box: str, gang: str, allocation: Allocation | None = None) -> None:
        self._gang = gang
        self._box = box
        self._allocation = allocation
        self._own_rank = None if allocation is None else allocation.launch_worker.rank
        self._usage = None if allocation is None else StepUsage(allocation)
        self._steps = 0
        self._records = StepRecords() if allocation is None else StepRecords(allocation.script.steps)
        self._granted: dict[Line, GrantedStep] = {}
        """What steps have, by the connection of their `srun`."""
        self._waiting: dict[Line, tuple[StepRequest, str]] = {}
        """What steps ask for, and what they are called."""
        self._is_told = False
        self._workers: dict[int, Line] = {}
        self._callers: list[tuple[Line, int]] = []
        """Who asked for a command, and beside which worker, by the number of the command."""
        self._held: dict[int, list[Message]] = {}
        """Commands for workers that have not come up yet."""
        self._selector = selectors.DefaultSelector()
        self._started = StartedCommands(self._selector, self._command_ended)
        self._door = listening(os.path.join(box, HUB))
        self._selector.register(self._door, selectors.EVENT_READ, self._greet)

    def run(self, file: str) -> int:
        """Run the script, and serve until it has ended."""
        script = Script(file, self._allocation, self._selector, tell_steps=self._tell_steps)
        self._record_script()
        for each in SIGNALS:
            signal.signal(each, lambda number, _: self._pass_on(number, script))
        while script.is_running or (self._is_told and group_is_alive(script.pid)):
            for key, _ in self._selector.select(LOOK_S):
                key.data()
            script.look_at_clock()
        end = script.finish()
        code = end.code
        self._records.end(BATCH, code, {"max_rss_bytes": end.max_rss_bytes, "cpu_ms": end.cpu_ms})
        for worker in self._workers.values():
            worker.say(over=code, finished=script.has_finished)
        if script.has_finished:
            note_finished()
        with contextlib.suppress(OSError):
            for name in os.listdir(self._box):
                os.unlink(os.path.join(self._box, name))
            os.rmdir(self._box)
        return code

    def _pass_on(self, number: int, script: Script) -> None:
        """Tell the script and the processes of the program what the worker was told.

        Not `mpirun`: it would kill the processes a second later, and it ends when they have. Neither `srun`, whose
        tasks are told by themselves. The shell of the script dies, so that it does not go on with its next command.
        """
        if number == signal.SIGTERM and script.puts_off_leaving():
            return
        self._is_told = True
        if number == signal.SIGTERM:
            tell_ranks(os.getpid())  # first, because without the shell they are no descendants of this process
        self._tell_steps(number)
        spared = (*MPIRUN, SRUN)
        for each in processes():
            if each.group == script.pid and each.name not in (spared if number == signal.SIGTERM else (SRUN,)):
                send_signal(each.pid, number)

    def _tell_steps(self, number: int) -> None:
        """Send a signal to the tasks of all steps."""
        self._started.tell(number)
        for worker in self._workers.values():
            worker.say(tell=number)

    def _greet(self) -> None:
        line = Line(self._door.accept()[0])
        self._selector.register(line.connection, selectors.EVENT_READ, lambda: self._read(line))

    def _read(self, line: Line) -> None:
        messages = line.hear()
        if messages is None:
            self._selector.unregister(line.connection)
            line.connection.close()
            self._release(line)
            return
        for message in messages:
            match message:
                case {"worker": int(rank), "gang": self._gang}:
                    self._workers[rank] = line
                    for held in self._held.pop(rank, ()):
                        line.say(**held)
                case {"run": str(command), "on": int(rank), "gang": self._gang}:
                    hears = bool(message.get("hears"))
                    self._send(rank, {"command": command, "number": len(self._callers), "hears": hears})
                    self._callers.append((line, rank))
                case {"exit": int(code), "number": int(number)} if 0 <= number < len(self._callers):
                    self._command_ended(number, code)
                case {"step": dict(asked), "gang": self._gang} if len(self._waiting) < STEPS_WAITING:
                    self._waiting[line] = (_request(asked), str(message.get("name", "")))
                    self._grant(told=line)
                case {"over": int(code), "used": dict(used)} if line in self._granted:
                    self._records.end(self._granted[line].number, code, used)
                case _:  # of another gang that met here before
                    with contextlib.suppress(OSError):
                        line.connection.shutdown(socket.SHUT_RDWR)

    def _send(self, rank: int, message: Message) -> None:
        if rank == self._own_rank:
            self._started.start(message)
        elif rank in self._workers:
            self._workers[rank].say(**message)
        else:
            self._held.setdefault(rank, []).append(message)

    def _command_ended(self, number: int, code: int) -> None:
        caller, rank = self._callers[number]
        caller.say(exit=code, on=rank)

    def _grant(self, told: Line | None = None) -> None:
        """Begin the steps for which there is room, in the order in which they came. Those that wait hear so once."""
        if self._allocation is None or self._usage is None:
            return
        for line, (request, name) in tuple(self._waiting.items()):
            try:
                parts = place_step(self._allocation, self._usage, request)
            except CannotPlace as problem:
                del self._waiting[line]
                line.say(refused=str(problem))
                continue
            if parts is None:
                if line is told:
                    line.say(busy=True)
                continue
            del self._waiting[line]
            for part in parts:
                self._usage.take(part.rank, part.cpus, part.taken_gpus)
            self._granted[line] = GrantedStep(number=str(self._steps), parts=parts)
            self._record_step(name, request, parts)
            line.say(granted=self._steps, parts=[asdict(part) for part in parts])
            self._steps += 1

    def _release(self, line: Line) -> None:
        """An `srun` is gone: its step is over, or it does not wait any more."""
        self._waiting.pop(line, None)
        step = self._granted.pop(line, None)
        if step is not None and self._usage is not None:
            self._records.end(step.number, SIGKILLED, {})  # of an srun that could not say how its step ended
            for part in step.parts:
                self._usage.give_back(part.rank, part.cpus, part.taken_gpus)
            self._grant()

    def _record_script(self) -> None:
        if self._allocation is not None:
            worker = self._allocation.launch_worker
            own = [each for each in self._allocation.workers if each.node == worker.node]
            cpus, gpus = sum(map(self._allocation.cpus, own)), sum(len(each.gpus) for each in own)
            self._records.begin(BATCH, name=BATCH, tasks=1, cpus=cpus, gpus=gpus, nodes=[worker.node])

    def _record_step(self, name: str, request: StepRequest, parts: list[StepPart]) -> None:
        tasks = [(part.node, task) for part in parts for task in part.tasks]
        self._records.begin(
            str(self._steps),
            name=name,
            tasks=len(tasks),
            cpus=len(tasks) * request.cpus_per_task,
            gpus=len({(node, gpu) for node, task in tasks for gpu in task.gpus}),
            nodes=list(dict.fromkeys(part.node for part in parts)),
        )


def _request(asked: dict[str, Any]) -> StepRequest:
    lists = {name: tuple(asked.get(name, ())) for name in ("node_list", "exclude")}
    return StepRequest(**{**asked, **lists})
