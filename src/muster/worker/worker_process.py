"""One worker: its process, what it prints, what it reports about its checkpoints, and its end.

It ends when everything it started is gone, and not before: processes that a job leaves behind hold its GPUs.
"""

import contextlib
import fcntl
import os
import signal
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from enum import Enum

from muster.model.job import Cause
from muster.model.node_limits import PUMP_BYTES
from muster.worker.deadlines import Deadlines
from muster.worker.gang.companion import FINISHED
from muster.worker.launch.launch_spec import LaunchSpec
from muster.worker.launch.runtime_folder import remove
from muster.worker.loop import Loop, Timer
from muster.worker.notices import NoticeReader, Saved, SignalTarget, TrainingNotice
from muster.worker.output.masking import Mask
from muster.worker.output.segments import Segments
from muster.worker.output.terminal import PseudoTerminal
from muster.worker.processes.job_signals import signal_worker
from muster.worker.processes.spawning import spawn
from muster.worker.processes.trees import ProcessTree
from muster.worker.terminals.worker_input import WorkerInput
from muster.worker.training.worker_boards import FOLDER as BOARDS

LEFTOVER_LOOK_MS = 20
"""How often processes that were told to leave and have outlived the first process are checked."""

KILL_AGAIN_MS = (2, 5, 10, 20, 50, 100, 200, 500)
"""Pauses before a kill is repeated; the last one is used for all further kills. Most trees are gone with the first
kill. A process that waits for a disk is gone when the disk answers."""

SAVES_APART_MS = 1_000
"""Saves that follow each other faster are reported as one."""

SHORT_GRACE_MS = 10_000
SIGNAL_PART = 4
SIGNAL_LEAST_MS = 5_000
"""A worker that has not left at an agreed step is signalled when one part in this many of its grace period is left, at
least so long. Of a short grace period, half is left: a program needs some seconds to save because of a signal."""

IDLE_NOTE = b"\r\n[muster: stopped, nobody typed and nothing was printed for %d s]\r\n"
LIMIT_NOTE = b"\n[muster: told to stop, its maximum duration is over]\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerContext:
    """What a worker needs from its supervisor."""

    loop: Loop
    mains: Callable[[], frozenset[int]]
    """The first processes of all workers."""
    is_away: Callable[["WorkerProcess"], bool]
    """True while no control plane is there, or it hangs: then limits are enforced here."""
    saved: Callable[["WorkerProcess", Saved], None]
    noticed: Callable[["WorkerProcess", TrainingNotice], None]
    """Called for everything else that the program reports about its training."""
    end_container: Callable[["WorkerProcess", Callable[[bool], None]], None]
    """Removes its container, and says whether that had run out of memory."""
    overdue: Callable[["WorkerProcess"], None]
    """Called before the worker is ended because its maximum duration is over."""
    gone: Callable[["WorkerProcess"], None]


class Removal(Enum):
    """What has to be done about the container of a worker before the worker is gone."""

    NONE = "none"
    DUE = "due"
    UNDER_WAY = "under way"


class WorkerProcess:
    """A worker that was started."""

    def __init__(self, token: str, launch_spec: LaunchSpec, segments: Segments, around: WorkerContext) -> None:
        self.token = token
        self.is_told = False
        self.exit_code: int | None = None
        """Of its first process. It is set before the other processes are gone."""
        self.oom = False
        self._launch_spec = launch_spec
        self._segments = segments
        self._around = around
        self._mask = Mask(launch_spec.secrets)
        self._deadlines = Deadlines()
        self._clock: Timer | None = None
        self._clearing: Timer | None = None
        self._is_killed = False
        self._is_signalled = False
        self._hastening: Timer | None = None
        self._is_idle = False
        self._is_overdue = False
        self._kills = 0
        self._listener: int | None = None
        self._saved: Saved | None = None
        self._saved_timer: Timer | None = None
        self._active_s = time.monotonic()
        with ExitStack() as opened:
            self._notices = NoticeReader(launch_spec.notice)
            opened.callback(os.close, self._notices.file)
            self._terminal = PseudoTerminal() if launch_spec.idle_timeout_ms is not None else None
            self._output, given = self._terminal.ends if self._terminal else os.pipe2(os.O_CLOEXEC)
            os.set_blocking(self._output, False)
            opened.callback(os.close, self._output)
            self.input = WorkerInput(around.loop, self._note) if launch_spec.has_input else None
            """What it reads, if a user sends it."""
            if self.input is not None:
                opened.callback(self.input.close)
            try:
                self.pid = self._spawn(given)
            finally:
                os.close(given)
                if self.input is not None:
                    os.close(self.input.reading)
            opened.pop_all()
        container = launch_spec.container
        self._removal = Removal.NONE if container is None else Removal.DUE
        self._tree = ProcessTree(
            token=token,
            main=self.pid,
            cgroup=launch_spec.cgroup,
            leader=None if container is None else container.found_leader,
            is_scattered=container is not None and container.runtime.is_daemon,
        )
        around.loop.watch(self._output, readable=self._pump)
        around.loop.watch(self._notices.file, readable=self._read_notices)
        self._watch_idleness()

    @property
    def launch_spec(self) -> LaunchSpec:
        """What it was started with."""
        return self._launch_spec

    @property
    def terminal(self) -> PseudoTerminal | None:
        """The terminal where a user may type to it, if it has one."""
        return self._terminal

    @property
    def has_finished(self) -> bool:
        """True when a batch script finished after it had heard that its time ends."""
        return self.exit_code == 0 and (self._launch_spec.folder / FINISHED).exists()

    def limit(self, max_duration_ms: int | None) -> None:
        """Let the worker run this much longer."""
        if self.is_told:
            return
        self._deadlines.limit(_now_ms(), max_duration_ms, self._launch_spec.grace_ms)
        self._wind_clock()

    def stop(self, grace_ms: int, *, cause: str = "", by_agreement: bool = False) -> None:
        """Tell the worker to leave. Telling it again changes nothing.

        A worker whose ranks agree with others on a step at which they leave is signalled only if that takes too long.
        The cause is written down, because a batch script is told differently that its time is over.
        """
        if self.is_told:
            return
        self.is_told = True
        self._deadlines.told(_now_ms(), grace_ms)
        self._wind_clock()
        # Before the signal: a signal sent while the program is about to begin would not reach it.
        with contextlib.suppress(OSError):
            self._launch_spec.told.write_text(cause)
        if by_agreement:
            self._hastening = self._around.loop.after(agreement_ms(grace_ms), self.hasten)
        else:
            self.hasten()

    def hasten(self) -> None:
        """Signal a worker that was told to leave, once."""
        if not self.is_told or self._is_signalled or self._is_killed:
            return
        self._is_signalled = True
        # A shell at a terminal ignores SIGTERM.
        for number in (signal.SIGTERM, signal.SIGHUP) if self._terminal else (signal.SIGTERM,):
            self._tree.signal_group(number)
        self._tree.signal_group(signal.SIGCONT)

    def kill(self) -> None:
        """Kill the worker with everything it started."""
        self.is_told = self._is_killed = True
        self._clear()

    def ask(self) -> None:
        """Ask the program to save a checkpoint: by a file, and by a signal if it said that it listens for one."""
        with contextlib.suppress(OSError):
            self._launch_spec.ask.touch()
        if self._listener is not None and self._tree.has(self._listener, self._around.mains()):
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._listener, signal.SIGUSR1)

    def pass_on(self, number: int, *, script_only: bool) -> None:
        """Send the program a signal that its user has sent to the job."""
        first = self._tree.group
        if first is not None:
            signal_worker(first, number, script_only=script_only)

    def type(self, data: bytes) -> None:
        """A user typed this at its terminal."""
        if self._terminal is not None:
            self._active_s = time.monotonic()
            self._terminal.type(data)

    def owns(self, pid: int) -> bool:
        """True when this orphan, a child of the supervisor, is known to belong to the worker."""
        return self._tree.owns(pid)

    def tidy_up(self) -> None:
        """Remove its control group, and its folder with the exit record. For when its end is in the journal on disk."""
        if self._launch_spec.cgroup is not None:
            self._launch_spec.cgroup.remove()
        remove(self._launch_spec.folder / BOARDS)
        remove(self._launch_spec.folder)

    def first_process_ended(self, status: int) -> None:
        """The first process has ended. What it left behind is ended next."""
        code = os.waitstatus_to_exitcode(status)
        self.exit_code = 128 - code if code < 0 else code
        self._clear()

    def _spawn(self, output: int) -> int:
        device = "" if self._terminal is None else self._terminal.device
        spec, reading = self._launch_spec, -1 if self.input is None else self.input.reading
        return spawn(spec.command, spec.variables, token=self.token, output=output, terminal=device, given=reading)

    def _pump(self) -> None:
        """Read what the worker printed. Bounded, so that a worker that prints without end does not delay the others."""
        try:
            data = os.read(self._output, PUMP_BYTES)
        except BlockingIOError:
            return
        except OSError:  # what reading a terminal gives when no process has the other end open
            data = b""
        if not data:
            self._around.loop.watch(self._output)
            return
        self._active_s = time.monotonic()
        self._note(self._mask.feed(data))

    def _note(self, text: bytes) -> None:
        self._segments.write(text)
        if self._terminal is not None:
            self._terminal.show(text)

    def _drain(self) -> None:
        """Read what is still in the pipe and no more. The worker's processes are gone, but others may have it open."""
        left = _held_by(self._output)
        with contextlib.suppress(OSError):
            while left > 0 and (data := os.read(self._output, min(PUMP_BYTES, left))):
                left -= len(data)
                self._note(self._mask.feed(data))

    def _read_notices(self) -> None:
        for notice in self._notices.read():
            if isinstance(notice, SignalTarget):
                self._listener = notice.pid
            elif not isinstance(notice, Saved):
                self._around.noticed(self, notice)
            elif self._launch_spec.tells_saves:
                self._saved = notice
        if self._saved_timer is None:
            self._report_save()

    def _report_save(self) -> None:
        self._saved_timer = None
        if self._saved is not None:
            self._around.saved(self, self._saved)
            self._saved = None
            self._saved_timer = self._around.loop.after(SAVES_APART_MS, self._report_save)

    def has(self, pid: int) -> bool:
        """True when this process belongs to the worker."""
        return self._tree.has(pid, self._around.mains())

    def _clear(self) -> None:
        """End what the first process left behind. When nothing is left, the worker is gone."""
        if self._clearing is not None:
            self._clearing.cancel()
        mains = self._around.mains()
        is_gone = self.exit_code is not None and self._tree.is_gone(mains)
        if is_gone and self._removal is Removal.NONE:
            self._finish()
            return
        if is_gone:
            self._remove_container(is_last=True)
            return
        if self._may_still_save():
            self._clearing = self._around.loop.after(LEFTOVER_LOOK_MS, self._clear)
            return
        if self._tree.is_scattered:
            self._remove_container(is_last=False)  # only the service may be able to kill it
        self._tree.kill(mains)
        delay_ms = KILL_AGAIN_MS[min(self._kills, len(KILL_AGAIN_MS) - 1)]
        self._kills += 1
        self._clearing = self._around.loop.after(delay_ms, self._clear)

    def _remove_container(self, *, is_last: bool) -> None:
        """Have its container removed, for good when its processes are gone. Goes on when that is done."""
        if self._removal is not Removal.DUE:
            return
        self._removal = Removal.UNDER_WAY

        def removed(oom: bool) -> None:
            self._removal, self.oom = Removal.NONE if is_last else Removal.DUE, self.oom or oom
            self._clear()

        self._around.end_container(self, removed)

    def _may_still_save(self) -> bool:
        """True while a program may be saving because of the signal that its shell has died of."""
        return self.is_told and not self._is_killed and self._tree.group_is_alive()

    def _finish(self) -> None:
        if self._hastening is not None:
            self._hastening.cancel()
        self._read_notices()
        self._report_save()
        if self._saved_timer is not None:
            self._saved_timer.cancel()
        self._drain()
        self._note(self._mask.close())
        self._close_files()
        if self._clock is not None:
            self._clock.cancel()
        if self._launch_spec.cgroup is not None:
            self.oom = self.exit_code != 0 and (self.oom or self._launch_spec.cgroup.ran_out_of_memory())
        if self._is_idle:
            self.exit_code = 0  # ending an idle terminal was agreed, and is no failure
        self._segments.close()
        if self._terminal is not None:
            self._terminal.close()
        if self.input is not None:
            self.input.close()
        self._around.gone(self)

    def _close_files(self) -> None:
        for file in (self._output, self._notices.file):
            self._around.loop.watch(file)
            os.close(file)

    def _wind_clock(self) -> None:
        if self._clock is not None:
            self._clock.cancel()
        delay_ms = self._deadlines.next_ms(_now_ms())
        self._clock = None if delay_ms is None else self._around.loop.after(delay_ms, self._look_at_clock)

    def _look_at_clock(self) -> None:
        """Act on passed deadlines, if no control plane does. What the supervisor began alone, it finishes."""
        if self._around.is_away(self) or self._is_idle or self._is_overdue:
            now_ms = _now_ms()
            has_to_die = self._deadlines.has_to_die(now_ms)
            if not self.is_told and (has_to_die or self._deadlines.has_to_leave(now_ms)):
                self._note(LIMIT_NOTE)
                self._is_overdue = True
                self._around.overdue(self)
                self.stop(self._launch_spec.grace_ms, cause=Cause.TIMEOUT)
            if has_to_die:
                self.kill()
        self._wind_clock()

    def _watch_idleness(self) -> None:
        timeout_ms = self._launch_spec.idle_timeout_ms
        if timeout_ms is None or self.is_told:
            return
        left_ms = timeout_ms - (time.monotonic() - self._active_s) * 1000
        if left_ms > 0:
            self._around.loop.after(left_ms, self._watch_idleness)
            return
        self._is_idle = True
        self._note(IDLE_NOTE % (timeout_ms // 1000))
        self.stop(self._launch_spec.grace_ms)


def agreement_ms(grace_ms: int) -> int:
    """How long a worker that was told to leave may take to agree on a step and leave there before it is signalled."""
    if grace_ms < SHORT_GRACE_MS:
        return grace_ms // 2
    return grace_ms - max(grace_ms // SIGNAL_PART, SIGNAL_LEAST_MS)


def _held_by(file: int) -> int:
    """How many bytes a pipe holds at most; for a terminal, `PUMP_BYTES`."""
    try:
        return fcntl.fcntl(file, fcntl.F_GETPIPE_SZ)
    except OSError:
        return PUMP_BYTES


def _now_ms() -> float:
    return time.monotonic() * 1000
