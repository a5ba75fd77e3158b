"""Runs a command with a time limit, and keeps the beginning of what it prints.

It runs in a process group of its own, which is killed when the command has ended or its time is over. Nothing waits
for it.
"""

import contextlib
import os
import signal
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from muster.model.node_limits import PROBE_ERROR_BYTES
from muster.worker.loop import Loop
from muster.worker.processes.companions import Companions

READ_BYTES = 64 << 10

_IGNORED_HERE = (signal.SIGHUP, signal.SIGINT, signal.SIGPIPE)
"""Signals that a supervisor ignores and a command should not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandEnd:
    """How a command ended."""

    exit_code: int
    """128 plus the signal for a command that was killed."""
    output: bytes
    problem: str = ""
    """What is wrong with it: it took too long, printed too much, or failed with this last line of its errors."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandLimits:
    """What a command may take."""

    time_ms: int
    output_bytes: int


class BoundedCommand:
    """A command that runs. Calls `done` once, when it has ended."""

    def __init__(
        self,
        command: Sequence[str],
        variables: Mapping[str, str],
        limits: CommandLimits,
        *,
        loop: Loop,
        companions: Companions,
        done: Callable[[CommandEnd], None],
    ) -> None:
        """Raises `OSError` when it cannot be started."""
        self._loop = loop
        self._limits = limits
        self._done = done
        self._output, self._errors = bytearray(), bytearray()
        self._problem = ""
        reading, writing = os.pipe2(os.O_CLOEXEC)
        reading_errors, writing_errors = os.pipe2(os.O_CLOEXEC)
        try:
            self._pid = _spawned(command, variables, writing, writing_errors)
        except OSError:
            os.close(reading)
            os.close(reading_errors)
            raise
        finally:
            os.close(writing)
            os.close(writing_errors)
        companions.add(self._pid, self._ended)
        self._pipes = {reading: (self._output, limits.output_bytes), reading_errors: (self._errors, PROBE_ERROR_BYTES)}
        for pipe in self._pipes:
            os.set_blocking(pipe, False)
            loop.watch(pipe, readable=partial(self._take, pipe))
        self._timer = loop.after(limits.time_ms, self._time_out)

    def kill(self) -> None:
        """End it now."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._pid, signal.SIGKILL)

    def _time_out(self) -> None:
        self._problem = f"it took longer than {self._limits.time_ms // 1000} s"
        self.kill()

    def _pump(self, pipe: int) -> bool:
        """Take what it printed. False when there is no more now.

        Of its errors the end is kept, and of its output as much as is allowed.
        """
        try:
            data = os.read(pipe, READ_BYTES)
        except BlockingIOError:
            return False
        if not data:
            self._close(pipe)
            return False
        kept, most = self._pipes[pipe]
        kept += data
        if kept is self._errors:
            del kept[:-most]
        elif len(kept) > most and not self._problem:
            self._problem = f"it printed more than {most} bytes"
            del kept[most:]
            self.kill()
        return not self._problem

    def _take(self, pipe: int) -> None:
        self._pump(pipe)

    def _close(self, pipe: int) -> None:
        self._loop.watch(pipe)
        os.close(pipe)
        del self._pipes[pipe]

    def _ended(self, status: int) -> None:
        self._timer.cancel()
        for pipe in tuple(self._pipes):
            while self._pump(pipe):
                pass
            if pipe in self._pipes:
                self._close(pipe)
        self.kill()  # what it left in its process group
        code = os.waitstatus_to_exitcode(status)
        exit_code = 128 - code if code < 0 else code
        problem = self._problem or ("" if exit_code == 0 else self._failure(exit_code))
        self._done(CommandEnd(exit_code=exit_code, output=bytes(self._output), problem=problem))

    def _failure(self, exit_code: int) -> str:
        lines = self._errors.decode("utf-8", "replace").strip().splitlines()
        return f"exit code {exit_code}" + (f": {lines[-1][:200]}" if lines else "")


def _spawned(command: Sequence[str], variables: Mapping[str, str], output: int, errors: int) -> int:
    files = [
        (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
        (os.POSIX_SPAWN_DUP2, output, 1),
        (os.POSIX_SPAWN_DUP2, errors, 2),
    ]
    return os.posix_spawn(
        command[0], list(command), variables, file_actions=files, setpgroup=0, setsigdef=_IGNORED_HERE
    )
