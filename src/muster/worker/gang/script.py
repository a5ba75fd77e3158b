"""The script that the first worker runs: its interpreter, its output files, and the signal that announces its end."""

import contextlib
import os
import selectors
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable

from muster.worker.gang.allocation import Allocation, EndSignal, ScriptRun
from muster.worker.gang.companion import note_problem
from muster.worker.gang.file_names import file_name, opened_in_time
from muster.worker.gang.process_list import send_signal
from muster.worker.gang.process_usage import ProcessEnd, ended
from muster.worker.gang.started_commands import SHELL, with_own_pid

PIPE_BYTES = 65536

LEAVE_MS = 5_000
LEAVE_PART = 4
"""Of the grace period of a job that hears its own signal first, what is left when it is told to leave like any other:
enough for programs that save themselves only then. Of a short one, one part in four: a handler of the signal that asks
the server for something needs seconds too."""

CANNOT_WRITE = 1
"""The exit code of a job whose output file cannot be made, as in Slurm."""

FALLBACK = "fallback"
"""The folder beside the commands with what stands in for programs that this machine does not have."""

PREEMPTED, TIMED_OUT = "preempted", "timeout"
"""Why a job has to leave, as its supervisor writes it down."""


class Script:
    """The running script."""

    def __init__(
        self,
        file: str,
        allocation: Allocation | None,
        selector: selectors.BaseSelector,
        tell_steps: Callable[[int], None],
    ) -> None:
        self._run = ScriptRun() if allocation is None else allocation.script
        self._selector = selector
        self._tell_steps = tell_steps
        self._signal: EndSignal | None = self._run.signal
        """The signal that announces the end, until it was sent."""
        self._leave_s: float | None = None
        """When a job that was told to leave is signalled like any other."""
        self._copies: dict[int, tuple[int, int]] = {}
        """Where what the script prints goes: its file and the log, by pipe."""
        out, err = self._outputs()
        command = [SHELL, file] if allocation is None else [*interpreter(file), *self._run.arguments]
        self._child = subprocess.Popen(
            command if allocation is None else with_own_pid(command),
            process_group=0,
            stdout=out,
            stderr=err,
            env=_environment(command, self._run, file),
        )
        for given in {out, err}:
            if given is not None:
                os.close(given)
        if os.isatty(0):
            _bring_to_front(self._child.pid)
        self._handle = os.pidfd_open(self._child.pid)
        selector.register(self._handle, selectors.EVENT_READ, self._ended)
        self.is_running = True

    @property
    def pid(self) -> int:
        """The process of the script, and its group."""
        return self._child.pid

    def look_at_clock(self) -> None:
        """Tell a job that has heard its own signal to leave like any other, when it is time."""
        if self._leave_s is not None and time.monotonic() >= self._leave_s:
            self._leave_s = None
            os.kill(os.getpid(), signal.SIGTERM)

    def puts_off_leaving(self) -> bool:
        """True when the job hears its own signal first, and is told to leave like any other later.

        That is so when its time is nearly over or another job needs the place, and not when a user cancels it.
        """
        end, self._signal = self._signal, None
        if end is None or _text(self._run.told) not in (PREEMPTED, TIMED_OUT):
            return False
        if end.script_only:
            send_signal(self._child.pid, end.number)
        else:
            self._tell_steps(end.number)
        grace_ms = self._run.grace_ms
        self._leave_s = time.monotonic() + (grace_ms - min(LEAVE_MS, grace_ms // LEAVE_PART)) / 1000
        return True

    def finish(self) -> ProcessEnd:
        """Copy what is left of its output. Returns how it ended."""
        for pipe in tuple(self._copies):
            os.set_blocking(pipe, False)
            with contextlib.suppress(BlockingIOError):
                while self._copy(pipe):
                    pass
        return ended(self._child)

    @property
    def has_finished(self) -> bool:
        """True when the script ended by itself after it had heard that its time ends, and before it was told to go."""
        return self._leave_s is not None and _text(self._run.told) == TIMED_OUT

    def _ended(self) -> None:
        self._selector.unregister(self._handle)
        os.close(self._handle)
        self.is_running = False

    def _outputs(self) -> tuple[int | None, int | None]:
        """The pipes for what the script prints; None for the log alone."""
        if not self._run.output:
            return None, None
        name = file_name(self._run.output, os.environ)
        error = file_name(self._run.error or self._run.output, os.environ)
        out = self._pipe(name, log=1)
        return out, out if error == name else self._pipe(error, log=2)

    def _pipe(self, name: str, *, log: int) -> int:
        try:
            file = opened_in_time(name, append=self._run.append)
        except OSError as error:
            sys.stderr.write(f"slurmstepd: error: Could not open stdout file {name}: {error.strerror}\n")
            sys.stderr.flush()
            note_problem(f"its output cannot be written to {name}: {_lacking(name, error)}")
            sys.exit(CANNOT_WRITE)
        pipe, given = os.pipe2(os.O_CLOEXEC)
        self._copies[pipe] = (file, log)
        self._selector.register(pipe, selectors.EVENT_READ, lambda: self._copy(pipe))
        return given

    def _copy(self, pipe: int) -> bool:
        """Copy what came from a pipe; False at its end."""
        data = os.read(pipe, PIPE_BYTES)
        if not data:
            self._selector.unregister(pipe)
            os.close(pipe)
            os.close(self._copies.pop(pipe)[0])
            return False
        for target in self._copies[pipe]:
            with contextlib.suppress(OSError):  # a full disk does not end the job
                _write_all(target, data)
        return True


def _lacking(name: str, error: OSError) -> str:
    """What is wrong with the file for the output."""
    folder = os.path.dirname(os.path.abspath(name))
    missing = (
        "" if os.path.isdir(folder) else f"there is no folder {folder} on this node; make it before the job starts"
    )
    return missing or str(error.strerror)


def interpreter(file: str) -> list[str]:
    """The command for a script, by its first line. The kernel is not asked: files here may not be executable."""
    with open(file, "rb") as script:
        first = script.readline().decode("utf-8", "replace").strip()
    words = first.removeprefix("#!").strip().split(maxsplit=1) if first.startswith("#!") else []
    return [*(words or [SHELL]), file]


def _environment(command: list[str], run: ScriptRun, file: str) -> dict[str, str]:
    """The variables of the script. A login shell sets PATH anew, and finds the commands all the same."""
    words = [word for each in command[:2] for word in each.split()]
    is_login = any(word.endswith("bash") for word in words) and any(
        word == "--login" or (word.startswith("-") and not word.startswith("--") and "l" in word) for word in words
    )
    if not is_login or not run.commands:
        return {**os.environ}
    folder, fallback = shlex.quote(run.commands), shlex.quote(os.path.join(run.commands, FALLBACK))
    again = f'case ":$PATH:" in *:{folder}:*) ;; *) PATH={folder}:"$PATH":{fallback} ;; esac'
    own = os.environ.get("BASH_ENV", "")
    restore = f"BASH_ENV={shlex.quote(own)}; . {shlex.quote(own)}" if own else "unset BASH_ENV"
    with open(f"{file}.login", "w") as text:
        text.write(f"{again}\n{restore}\n")
    return {**os.environ, "BASH_ENV": f"{file}.login"}


def _bring_to_front(group: int) -> None:
    """Let a group read from the terminal."""
    before = signal.signal(signal.SIGTTOU, signal.SIG_IGN)
    with contextlib.suppress(OSError):
        os.tcsetpgrp(0, group)
    signal.signal(signal.SIGTTOU, before)


def _text(path: str) -> str:
    try:
        with open(path) as file:
            return file.read().strip()
    except OSError:
        return ""


def _write_all(target: int, data: bytes) -> None:
    while data:
        data = data[os.write(target, data) :]
