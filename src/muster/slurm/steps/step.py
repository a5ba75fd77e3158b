"""The step of an `srun` inside an allocation: it asks for a place, starts its tasks there, and shows what they print.

A small process beside each worker runs the tasks and speaks to the socket that `srun` opens. What `srun` is told by a
signal, its tasks are told. It needs the standard library alone, because scripts call it often.
"""

import base64
import contextlib
import os
import selectors
import shlex
import signal
import sys
import termios
import tty
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from muster.slurm.steps.multi_prog import BadProgramFile, programs
from muster.slurm.steps.step_input import StepInput, StepReaders
from muster.slurm.steps.step_output import OutputRefused, StepOutput
from muster.slurm.steps.step_used import StepUsed
from muster.slurm.steps.step_variables import Part, step_variables, task_variables
from muster.worker.gang.allocation import Allocation
from muster.worker.gang.file_names import file_name
from muster.worker.gang.line import HUB, Line, Message, connected, listening
from muster.worker.gang.program import gang_program
from muster.worker.gang.step_layout import StepRequest

KILLED_S = 30.0
"""How long tasks that were told to end because another failed have before they are killed."""

FORWARDED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2)
SIGKILLED = 137


class StepRefused(Exception):
    """A step that cannot be run. The message says why, and `code` is the exit code."""

    def __init__(self, message: str, code: int = 1) -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True, slots=True, kw_only=True)
class StepOptions:
    """How a step runs its tasks."""

    command: tuple[str, ...]
    programs: str | None = None
    """The text that says which program each task runs, if the command names a file with it."""
    name: str
    """What the step is called where it is accounted."""
    request: StepRequest
    variables: dict[str, str]
    """Those of `srun`, as far as they go along."""
    folder: str
    output: str = ""
    error: str = ""
    append: bool = False
    label: bool = False
    unbuffered: bool = False
    kill_on_bad_exit: bool = False
    has_terminal: bool = False
    readers: StepReaders = StepReaders()
    """Which tasks read what `srun` reads, or a file."""
    quiet: bool = False


class RunningStep:
    """One step, until its tasks have ended."""

    def __init__(self, allocation: Allocation, options: StepOptions) -> None:
        self._allocation = allocation
        self._options = options
        self._selector = selectors.PollSelector()
        self._hub = _hub(allocation)
        self._parts: list[Part] = []
        self._lines: dict[int, Line] = {}
        """The process beside each worker, by the rank of the worker."""
        self._where: dict[int, dict[str, str]] = {}
        """The variables of each task."""
        self._running: dict[int, int] = {}
        """The worker of each task that has not ended."""
        self._programs: dict[int, list[str]] = {}
        """The command of each task, where they run different ones."""
        self._codes: dict[int, int] = {}
        self._usage = StepUsed()
        self._pending: list[Message] = []
        """What is to be told to processes that have not come up."""
        self._interrupts = 0
        self._door_path = ""
        self._input = StepInput(0, self._say_all)
        self._has_input = not _is_nothing(0)
        self._is_reading = False

    def run(self) -> int:
        """Run the step. Returns the highest exit code of its tasks."""
        step = self._granted()
        self._door_path = os.path.join(self._allocation.box, f"step-{step}")
        door = listening(self._door_path)
        output = self._begin(step)
        for number in FORWARDED:
            signal.signal(number, self._forward)
        self._selector.register(door, selectors.EVENT_READ, lambda: self._greet(Line(door.accept()[0]), output))
        self._selector.register(self._hub.connection, selectors.EVENT_READ, lambda: self._hear_hub(output))
        command = shlex.join((*gang_program(), "step", self._door_path))
        for part in self._parts:
            self._hub.say(run=f"exec {command} {part['rank']}", on=part["rank"], gang=self._allocation.gang, hears=True)
        try:
            with self._terminal():
                while self._running:
                    self._look_at_input()
                    for key, _ in self._selector.select():
                        key.data()
        except OutputRefused as error:
            self._hub.say(over=1, used=self._usage.told)
            raise StepRefused(str(error)) from None  # its tasks end with it
        finally:
            door.close()
            with contextlib.suppress(OSError):
                os.unlink(self._door_path)
        code = max(self._codes.values(), default=0)
        self._hub.say(over=code, used=self._usage.told)
        return code

    @contextlib.contextmanager
    def _terminal(self) -> Iterator[None]:
        """Pass on every key while the task has a terminal, and the size of the window when it changes."""
        if not self._options.has_terminal:
            yield
            return
        before = termios.tcgetattr(0)
        signal.signal(signal.SIGWINCH, lambda *_: self._say_all(size=_window_size()))
        tty.setraw(0, termios.TCSADRAIN)
        try:
            yield
        finally:
            termios.tcsetattr(0, termios.TCSADRAIN, before)

    def _look_at_input(self) -> None:
        """Read what comes while all tasks are there that read it, and take it."""
        if not self._has_input or (self._input.is_over and not self._is_reading):
            return
        workers = {rank for task, rank in self._running.items() if self._reads(task)}
        is_wanted = bool(workers) and workers <= set(self._lines) and not self._input.is_over
        may_read = is_wanted and self._input.has_room(workers)
        if may_read and not self._is_reading:
            self._selector.register(0, selectors.EVENT_READ, lambda: self._input.read(_encoded))
        elif self._is_reading and not may_read:
            self._selector.unregister(0)
        self._is_reading = may_read

    def _reads(self, task: int) -> bool:
        return self._has_input and (self._options.has_terminal or self._options.readers.has(task))

    def _granted(self) -> int:
        """Wait until there is room for the step. Returns its number."""
        asked = asdict(self._options.request)
        self._hub.say(step=asked, gang=self._allocation.gang, name=self._options.name)
        job = self._allocation.variables.get("SLURM_JOB_ID", "")
        while (messages := self._hub.hear()) is not None:
            for message in messages:
                match message:
                    case {"granted": int(step), "parts": list(parts)}:
                        self._parts = parts
                        return step
                    case {"refused": str(problem)}:
                        raise StepRefused(f"Unable to create step for job {job}: {problem}")
                    case _:
                        if not self._options.quiet:
                            text = "step creation temporarily disabled, retrying (Requested nodes are busy)"
                            sys.stderr.write(f"srun: Job {job} {text}\n")
        raise StepRefused(f"Unable to create step for job {job}: the job is over")

    def _begin(self, step: int) -> StepOutput:
        request = self._options.request
        common = step_variables(self._allocation, step, self._parts, request.cpus_per_task)
        for part in self._parts:
            for task in part["tasks"]:
                self._where[task["number"]] = {**common, **task_variables(part, task, self._parts)}
                self._running[task["number"]] = part["rank"]
        if self._options.programs is not None:
            try:
                self._programs = programs(self._options.programs, len(self._running))
            except BadProgramFile as error:
                raise StepRefused(str(error)) from None
        return StepOutput(
            output=self._options.output,
            error=self._options.error,
            append=self._options.append,
            label=self._options.label,
            unbuffered=self._options.unbuffered or self._options.has_terminal,
            tasks=len(self._running),
            folder=self._options.folder,
        )

    def _greet(self, line: Line, output: StepOutput) -> None:
        self._selector.register(line.connection, selectors.EVENT_READ, lambda: self._read(line, output))

    def _read(self, line: Line, output: StepOutput) -> None:
        messages = line.hear()
        if messages is None:
            self._selector.unregister(line.connection)
            line.connection.close()
            self._lose(self._rank_of(line), output)
            return
        for message in messages:
            match message:
                case {"part": int(rank)}:
                    self._lines[rank] = line
                    self._start(rank, line)
                case {"taken": int(taken_bytes)}:
                    self._input.taken(self._rank_of(line), taken_bytes)
                case {"task": int(task), "file": int(kind), "data": str(data)}:
                    output.take(task, kind, base64.b64decode(data), self._naming(task))
                case {"task": int(task), "exit": int(code)}:
                    self._usage.add(task, self._where[task]["SLURMD_NODENAME"], message)
                    self._end(task, code, output)
                case _:
                    pass

    def _rank_of(self, line: Line) -> int:
        """The worker beside which a process is that has connected; -1 before it has said so."""
        return next((rank for rank, each in self._lines.items() if each is line), -1)

    def _start(self, rank: int, line: Line) -> None:
        tasks = [task for part in self._parts if part["rank"] == rank for task in part["tasks"]]
        line.say(
            start=[self._told(task["number"]) for task in tasks],
            command=list(self._options.command),
            folder=self._options.folder,
            variables=self._options.variables,
            terminal=_window_size() if self._options.has_terminal else None,
        )
        for message in self._pending:
            line.say(**message)

    def _told(self, task: int) -> Message:
        """What the process beside a worker hears about a task."""
        own = {"command": self._programs[task]} if self._programs else {}
        file = self._options.readers.file
        read = {"file": file_name(file, self._naming(task))} if file else {"reads": self._reads(task)}
        return {"number": task, "variables": self._where[task], **own, **read}

    def _naming(self, task: int) -> Mapping[str, str]:
        """The variables that names of output files are made from."""
        return {**self._allocation.variables, **self._where[task]}

    def _end(self, task: int, code: int, output: StepOutput) -> None:
        if self._running.pop(task, None) is None:
            return
        output.end(task, self._naming(task))
        self._codes[task] = code
        if code == 0:
            return
        if not self._options.quiet:
            how = f"Exited with exit code {code}" if code <= 128 else _signal_words(code - 128)
            sys.stderr.write(f"srun: error: {self._where[task]['SLURMD_NODENAME']}: task {task}: {how}\n")
        if self._options.kill_on_bad_exit and self._running:
            sys.stderr.write(f"srun: Terminating StepId={self._name(task)}\n")
            self._say_all(tell=int(signal.SIGTERM))
            signal.signal(signal.SIGALRM, lambda *_: self._say_all(tell=int(signal.SIGKILL)))
            signal.setitimer(signal.ITIMER_REAL, KILLED_S)

    def _name(self, task: int) -> str:
        variables = self._naming(task)
        return f"{variables.get('SLURM_JOB_ID', '')}.{variables['SLURM_STEP_ID']}"

    def _lose(self, rank: int, output: StepOutput) -> None:
        """The process beside a worker is gone: so are its tasks."""
        for task in [task for task, worker in self._running.items() if worker == rank]:
            self._end(task, SIGKILLED, output)

    def _hear_hub(self, output: StepOutput) -> None:
        messages = self._hub.hear()
        if messages is None:
            self._selector.unregister(self._hub.connection)
            for rank in dict.fromkeys(self._running.values()):
                self._lose(rank, output)
            return
        for message in messages:
            if "exit" in message and message["exit"] != 0:
                self._lose(message.get("on", -1), output)

    def _say_all(self, **message: Any) -> None:
        if len(self._lines) < len(self._parts):
            self._pending.append(message)
        for line in self._lines.values():
            line.say(**message)

    def _forward(self, number: int, _: object) -> None:
        """Tell the tasks what `srun` was told. The third Ctrl-C kills them."""
        if number == signal.SIGINT:
            self._interrupts += 1
        self._say_all(tell=int(signal.SIGKILL if self._interrupts > 2 else number))


def _encoded(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _window_size() -> list[int]:
    """Rows and columns of the terminal."""
    columns, rows = os.get_terminal_size(0)
    return [rows, columns]


def _hub(allocation: Allocation) -> Line:
    try:
        return connected(os.path.join(allocation.box, HUB))
    except OSError as error:
        raise StepRefused(
            f"Unable to confirm allocation: {error.strerror}: the job is over, or another user's"
        ) from None


def _signal_words(number: int) -> str:
    words = {signal.SIGKILL: "Killed", signal.SIGTERM: "Terminated", signal.SIGSEGV: "Segmentation fault"}
    words |= {signal.SIGINT: "Interrupt", signal.SIGABRT: "Aborted", signal.SIGUSR1: "User defined signal 1"}
    known = {int(each): text for each, text in words.items()}
    return known.get(number, f"Signal {number}")


def _is_nothing(file: int) -> bool:
    """True when nothing can be read: the file is closed, or is /dev/null."""
    try:
        found, nothing = os.fstat(file), os.stat(os.devnull)
    except OSError:
        return True
    return found.st_rdev == nothing.st_rdev and found.st_rdev != 0
