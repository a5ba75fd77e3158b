"""The tasks of one step beside one worker. They belong to an `srun` that listens on a socket in the box.

It says who it is, hears which tasks to start, and from then on sends what they print and how they end. A signal that
this process gets, its tasks get. When the `srun` is gone, they are killed.
"""

import base64
import contextlib
import errno
import fcntl
import os
import selectors
import shutil
import signal
import struct
import subprocess
import termios
from collections.abc import Callable

from muster.worker.gang.companion import SIGNALS
from muster.worker.gang.line import Message, connected
from muster.worker.gang.process_usage import ended
from muster.worker.gang.started_commands import with_own_pid
from muster.worker.gang.task_input import TaskInput

PIECE_BYTES = 65536

TAKEN_BYTES = 16 << 10
"""After so much that its tasks have taken, an `srun` is told of it."""

CANNOT_RUN = 2
"""How a task ends whose program is not there, or whose folder is not, as in Slurm."""

FORWARDED = (*SIGNALS, signal.SIGCONT, signal.SIGALRM)


class StepTaskProcess:
    """One task: its process, and the files that it reads and prints to."""

    def __init__(self, number: int, message: Message, variables: dict[str, str]) -> None:
        self.number = number
        self.input: TaskInput | None = None
        self.terminal: int | None = None
        self.pipes: dict[int, int] = {}
        """What is read from it: 1 or 2 by file."""
        if shutil.which(message["command"][0], path=variables.get("PATH", os.defpath)) is None:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
        if message.get("terminal"):
            self._start_on_terminal(message, variables)
        else:
            self._start(message, variables)

    def type(self, data: bytes | None) -> None:
        """Pass on what `srun` read; None at its end."""
        if self.terminal is not None and data:
            with contextlib.suppress(OSError):
                os.write(self.terminal, data)
        elif self.input is not None:
            self.input.type(data)

    def feed(self, selector: selectors.BaseSelector, taken: Callable[[], None]) -> None:
        """Pass on what `srun` reads from now on, if the task reads it."""
        if self.process.stdin is not None:
            self.input = TaskInput(self.process.stdin.fileno(), selector, taken)

    def tell(self, number: int) -> None:
        """Send a signal to the task and what it started."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, number)

    def _start(self, message: Message, variables: dict[str, str]) -> None:
        pipe = subprocess.PIPE
        stdin = pipe if message.get("reads") else subprocess.DEVNULL
        if name := message.get("file"):
            stdin = os.open(os.path.join(message["folder"], name), os.O_RDONLY | os.O_CLOEXEC)
        self.process = subprocess.Popen(
            with_own_pid(message["command"]),
            cwd=message["folder"],
            env=variables,
            stdin=stdin,
            stdout=pipe,
            stderr=pipe,
            start_new_session=True,
        )
        if message.get("file"):
            os.close(stdin)
        assert self.process.stdout is not None
        assert self.process.stderr is not None
        self.pipes = {self.process.stdout.fileno(): 1, self.process.stderr.fileno(): 2}

    def _start_on_terminal(self, message: Message, variables: dict[str, str]) -> None:
        self.terminal, given = os.openpty()
        _resize(given, message["terminal"])
        self.process = subprocess.Popen(
            with_own_pid(message["command"]),
            cwd=message["folder"],
            env=variables,
            stdin=given,
            stdout=given,
            stderr=given,
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),  # noqa: PLW1509 (no thread has begun yet)
        )
        os.close(given)
        self.pipes = {self.terminal: 1}


class StepDaemon:
    """All tasks of a step beside this worker."""

    def __init__(self, path: str, rank: int) -> None:
        self._line = connected(path)
        self._selector = selectors.DefaultSelector()
        self._tasks: dict[int, StepTaskProcess] = {}
        self._is_begun = False
        self._received_bytes = self._told_bytes = 0
        """What has come for its tasks to read, and how much of it they are known to have taken."""
        for each in FORWARDED:
            signal.signal(each, lambda number, _: self._tell(number))
        self._line.say(part=rank)
        self._selector.register(self._line.connection, selectors.EVENT_READ, self._read)

    def serve(self) -> int:
        """Run until all tasks have ended."""
        while self._tasks or not self._is_begun:
            for key, _ in self._selector.select():
                key.data()
        return 0

    def _read(self) -> None:
        messages = self._line.hear()
        if messages is None:
            self._selector.unregister(self._line.connection)
            self._is_begun = True
            self._tell(signal.SIGKILL)
        for message in messages or ():
            self._take(message)

    def _take(self, message: Message) -> None:
        match message:
            case {"start": list(tasks)}:
                for task in tasks:
                    self._start(task, message)
                self._is_begun = True
            case {"tell": int(number)}:
                self._tell(number)
            case {"input": str(data)}:
                self._feed(base64.b64decode(data))
            case {"input_over": True}:
                self._feed(None)
            case {"size": list(size)}:
                for task in self._tasks.values():
                    if task.terminal is not None:
                        _resize(task.terminal, size)
            case _:
                pass  # from a newer srun

    def _feed(self, data: bytes | None) -> None:
        self._received_bytes += len(data or b"")
        for task in self._tasks.values():
            task.type(data)
        self._tell_taken()

    def _tell_taken(self) -> None:
        """Say how much all tasks have taken. A task that has ended, or does not read, keeps nothing waiting."""
        kept = max((task.input.kept_bytes for task in self._tasks.values() if task.input is not None), default=0)
        taken_bytes = self._received_bytes - kept
        if taken_bytes - self._told_bytes >= TAKEN_BYTES or (kept == 0 and taken_bytes > self._told_bytes):
            self._told_bytes = taken_bytes
            self._line.say(taken=taken_bytes)

    def _tell(self, number: int) -> None:
        for task in self._tasks.values():
            task.tell(number)

    def _start(self, task: Message, message: Message) -> None:
        number = int(task["number"])
        message = {**message, **{key: task[key] for key in ("command", "reads", "file") if key in task}}
        try:
            started = StepTaskProcess(number, message, own_variables(message["variables"], task["variables"]))
        except OSError as error:
            what = error.filename if error.filename and message.get("file") else message["command"][0]
            text = f"slurmstepd: error: execve(): {what}: {error.strerror}\n"
            self._say_piece(number, 2, text.encode())
            self._line.say(exit=CANNOT_RUN, task=number)
            return
        self._tasks[number] = started
        started.feed(self._selector, self._tell_taken)
        for pipe, kind in started.pipes.items():
            self._selector.register(pipe, selectors.EVENT_READ, lambda f=pipe, k=kind: self._copy(started, f, k))
        handle = os.pidfd_open(started.process.pid)
        self._selector.register(handle, selectors.EVENT_READ, lambda: self._ended(started, handle))

    def _copy(self, task: StepTaskProcess, pipe: int, kind: int) -> bool:
        try:
            data = os.read(pipe, PIECE_BYTES)
        except BlockingIOError:
            return False
        except OSError:  # a terminal that no process has open any more
            data = b""
        if not data:
            self._selector.unregister(pipe)
            del task.pipes[pipe]
            return False
        self._say_piece(task.number, kind, data)
        return True

    def _ended(self, task: StepTaskProcess, handle: int) -> None:
        """A task has ended: send what it printed and how it ended. What it left behind is ended."""
        self._selector.unregister(handle)
        os.close(handle)
        end = ended(task.process)
        task.tell(signal.SIGKILL)
        for pipe, kind in tuple(task.pipes.items()):
            os.set_blocking(pipe, False)
            while self._copy(task, pipe, kind):
                pass
            if pipe in task.pipes:
                self._selector.unregister(pipe)
        del self._tasks[task.number]
        if task.input is not None:
            task.input.close()
        self._tell_taken()
        self._line.say(exit=end.code, task=task.number, max_rss_bytes=end.max_rss_bytes, cpu_ms=end.cpu_ms)

    def _say_piece(self, number: int, kind: int, data: bytes) -> None:
        self._line.say(task=number, file=kind, data=base64.b64encode(data).decode())


def serve(path: str, rank: int) -> int:
    """Run the tasks of a step beside this worker."""
    return StepDaemon(path, rank).serve()


def own_variables(given: dict[str, str], task: dict[str, str]) -> dict[str, str]:
    """The variables of a task: those of the step, with what is true beside this worker, and what is true of the task.

    Which worker a process belongs to is recognised by its variables.
    """
    mine = {name: value for name, value in os.environ.items() if name.startswith("MUSTER_")}
    return {**given, **mine, "SLURMD_NODENAME": os.environ.get("SLURMD_NODENAME", ""), **task}


def _resize(terminal: int, size: list[int]) -> None:
    with contextlib.suppress(OSError):
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", size[0], size[1], 0, 0))
