"""Commands that people run beside a worker: with its environment, devices, limits and working directory.

Such a command is no worker: how it ends says nothing about the job. It bears the mark of the worker and is in its
control group, so whatever ends the worker ends the command too, also under the next supervisor. When the connection to
the person who runs it is closed, it is ended.
"""

import contextlib
import os
import signal
from binascii import b2a_base64
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass

from muster.model.node_limits import PUMP_BYTES, SIDE_COMMANDS_PER_WORKER
from muster.worker.launch.command_lines import RUN, SETUP, UNPACK, beside
from muster.worker.loop import Loop
from muster.worker.messages import BadMessage, typed
from muster.worker.output.masking import Mask
from muster.worker.output.terminal import PseudoTerminal
from muster.worker.processes.companions import Companions
from muster.worker.processes.spawning import spawn
from muster.worker.service import Conversation, Message
from muster.worker.terminals.piped_input import PipedInput
from muster.worker.worker_process import WorkerProcess

ROOM_LOOK_MS = 20
"""How often a reader that has fallen behind is looked at. Meanwhile the command waits to print."""

LAST_READS = 32
"""How often the output is read at most after the end. A pipe is empty after one; a terminal gives a page at a time."""

END_OF_INPUT = b"\x04"
"""What a user types at a terminal to end the input."""

LEAVE_MS = 2_000
"""How long a command that nobody watches any more gets between SIGTERM and SIGKILL."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SideRequest:
    """What to run beside a worker."""

    line: str
    has_terminal: bool


class SideCommands:
    """Starts them, and counts those of each worker."""

    def __init__(self, loop: Loop, companions: Companions) -> None:
        self._loop = loop
        self._companions = companions
        self._running: dict[str, int] = {}
        """By the token of the worker."""

    def begin(self, connection: Conversation, process: WorkerProcess | None, asked: SideRequest) -> None:
        """Run a command beside a worker. The connection gets its output and its end, or why it was not started."""
        if process is None or process.is_told or process.exit_code is not None:
            _refuse(connection, "no such worker of this job runs on this node")
            return
        token = process.token
        if self._running.get(token, 0) >= SIDE_COMMANDS_PER_WORKER:
            _refuse(connection, f"{SIDE_COMMANDS_PER_WORKER} commands run beside this worker already; end one of them")
            return

        def ended() -> None:
            self._running[token] -= 1
            if not self._running[token]:
                del self._running[token]

        try:
            _SideCommand(connection, process, asked, self._loop, self._companions, ended)
        except OSError as error:
            _refuse(connection, f"the command cannot be started: {error.strerror}")
            return
        except ValueError as error:  # a null byte, or half of a character: no process can be given these
            _refuse(connection, f"the command cannot be started: {error}")
            return
        self._running[token] = self._running.get(token, 0) + 1


class _SideCommand:
    """One of them: its process, its input and its output."""

    def __init__(
        self,
        connection: Conversation,
        process: WorkerProcess,
        asked: SideRequest,
        loop: Loop,
        companions: Companions,
        ended: Callable[[], None],
    ) -> None:
        self._connection = connection
        self._loop = loop
        self._ended = ended
        self._is_over = False
        self._mask = Mask(process.launch_spec.secrets)
        self._terminal = PseudoTerminal() if asked.has_terminal else None
        self._input: PipedInput | None = None
        with ExitStack() as opened:
            self._output = self._open(process, asked, opened)
        companions.add(self._pid, self._exited)
        connection.listen(self._hear)
        connection.closed = self._left
        loop.watch(self._output, readable=self._pump)

    def _open(self, process: WorkerProcess, asked: SideRequest, opened: ExitStack) -> int:
        """Start the process, and return the file with its output. Files that only the process needs are closed."""
        output, given = self._terminal.ends if self._terminal else os.pipe2(os.O_CLOEXEC)
        with ExitStack() as on_failure:
            opened.callback(os.close, given)
            on_failure.callback(os.close, output)
            reading = -1
            if self._terminal is None:
                self._input = PipedInput(self._loop, hold=self._connection.hold, ended=lambda _: None)
                reading = self._input.reading
                opened.callback(os.close, reading)
                on_failure.callback(self._input.close)
            os.set_blocking(output, False)
            launch_spec = process.launch_spec
            line = launch_spec.line_beside(asked.line, has_terminal=asked.has_terminal)
            self._pid = spawn(
                beside(launch_spec.command),
                {**launch_spec.variables, RUN: line, SETUP: "", UNPACK: ""},
                token=process.token,
                output=given,
                terminal=self._terminal.device if self._terminal else "",
                given=reading,
            )
            on_failure.pop_all()
        return output

    def _hear(self, _: Conversation, message: Message) -> None:
        match message:
            case {"input": str(text)}:
                self._type(typed(text))
            case {"resize": [int(rows), int(columns)]} if self._terminal is not None:
                self._terminal.resize(rows, columns)
            case {"resize": _}:
                pass
            case {"end_input": True}:
                self._end_input()
            case _:
                raise BadMessage("not a message to a command")

    def _type(self, data: bytes) -> None:
        if self._terminal is not None:
            self._terminal.type(data)
        elif self._input is not None:
            self._input.type(data)

    def _end_input(self) -> None:
        if self._terminal is not None:
            self._terminal.type(END_OF_INPUT)
        elif self._input is not None:
            self._input.end()

    def _pump(self) -> None:
        if not self._connection.has_room:
            self._loop.watch(self._output)
            self._loop.after(ROOM_LOOK_MS, self._go_on)
            return
        data = self._read()
        if data == b"":
            self._loop.watch(self._output)
        elif data:
            self._say(self._mask.feed(data))

    def _go_on(self) -> None:
        if not self._is_over:
            self._loop.watch(self._output, readable=self._pump)

    def _read(self) -> bytes | None:
        """Some of the output; None when there is none now, and empty when there will be none."""
        try:
            return os.read(self._output, PUMP_BYTES)
        except BlockingIOError:
            return None
        except OSError:  # what reading a terminal gives when no process has the other end open
            return b""

    def _say(self, text: bytes) -> None:
        if text and self._connection.is_open:
            self._connection.say({"output": b2a_base64(text, newline=False).decode()})
            self._connection.flush()

    def _exited(self, status: int) -> None:
        """The command has ended. What it left in the background may have its output open, and ends with the worker."""
        for _ in range(LAST_READS):
            data = self._read() if self._connection.is_open else None
            if not data:
                break
            self._say(self._mask.feed(data))
        self._say(self._mask.close())
        self._is_over = True
        if self._input is not None:
            self._input.close()
        self._loop.watch(self._output)
        os.close(self._output)
        self._ended()
        if self._connection.is_open:
            code = os.waitstatus_to_exitcode(status)
            self._connection.say({"over": "the command has ended", "code": 128 - code if code < 0 else code})
            self._connection.finish()

    def _left(self, _: Conversation) -> None:
        """Nobody watches any more: end the command, and what is in its process group."""
        self._signal(signal.SIGTERM)
        self._loop.after(LEAVE_MS, lambda: self._signal(signal.SIGKILL))

    def _signal(self, number: int) -> None:
        if not self._is_over:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._pid, number)


def _refuse(connection: Conversation, why: str) -> None:
    connection.say({"over": why})
    connection.finish()
