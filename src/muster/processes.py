"""Identifies processes by pid and start time, and ends them. Reads `/proc`; Linux only."""

import os
import select
import signal
import time
from collections.abc import Iterable, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from enum import StrEnum

KILL_WAIT_S = 5.0
"""How long to wait until a killed process is gone. A process that waits for a disk may take for ever."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessEntry:
    """One process as the kernel knows it."""

    pid: int
    parent: int
    group: int
    session: int
    state: str
    start_ticks: int
    """When it was started, in clock ticks since boot. Needed to identify a process, because pids are reused."""

    @property
    def is_alive(self) -> bool:
        """False for a process that has ended and only waits to be reaped."""
        return self.state not in "ZX"


def entry(pid: int) -> ProcessEntry | None:
    """What the kernel says about a process, or None when there is no such process."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            text = file.read()
    except (FileNotFoundError, ProcessLookupError):
        return None
    # The name is in parentheses and may contain anything, also parentheses.
    values = text[text.rindex(b")") + 2 :].split()
    return ProcessEntry(
        pid=pid,
        state=values[0].decode(),
        parent=int(values[1]),
        group=int(values[2]),
        session=int(values[3]),
        start_ticks=int(values[19]),
    )


def is_same(pid: int, start_ticks: int) -> bool:
    """True while this pid belongs to the living process that was started then, and not to a later one."""
    found = entry(pid)
    return found is not None and found.is_alive and found.start_ticks == start_ticks


class Ending(StrEnum):
    """How a process reacted when it was told to end."""

    LEFT = "left"
    KILLED = "killed"
    STAYS = "stays"


def end_process(pid: int, start_ticks: int, *, patience_s: float, then_kill: bool) -> Ending:
    """Tell exactly this process to end, and wait until it is gone. With `then_kill`, kill it after `patience_s`."""
    return end_processes([(pid, start_ticks)], patience_s=patience_s, then_kill=then_kill)[pid]


def end_processes(processes: Iterable[tuple[int, int]], *, patience_s: float, then_kill: bool) -> Mapping[int, Ending]:
    """The same for several processes at once, each a pid with its start ticks. Returns the outcomes by pid."""
    outcome: dict[int, Ending] = {}
    with ExitStack() as opened:
        handles: dict[int, int] = {}
        for pid, start_ticks in processes:
            outcome[pid] = Ending.LEFT
            handle = _handle(pid, start_ticks)
            if handle is not None:
                opened.callback(os.close, handle)
                handles[handle] = pid
        staying = _signalled(handles, signal.SIGTERM, patience_s)
        outcome.update((handles[handle], Ending.KILLED) for handle in staying if then_kill)
        left = _signalled(staying, signal.SIGKILL, KILL_WAIT_S) if then_kill else staying
        outcome.update((handles[handle], Ending.STAYS) for handle in left)
    return outcome


def _handle(pid: int, start_ticks: int) -> int | None:
    """A pidfd of this living process; None when it is gone, also when another process has its pid now."""
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return None
    if is_same(pid, start_ticks):  # checked last: from now on the handle means that process, even if its pid is reused
        return handle
    os.close(handle)
    return None


def _signalled(handles: Iterable[int], number: signal.Signals, wait_s: float) -> tuple[int, ...]:
    """Signal processes, and wait until they are gone. Returns the handles of processes that are still there."""
    left, waiting = set(handles), select.poll()
    for handle in left:
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(handle, number)
        waiting.register(handle, select.POLLIN)
    give_up_s = time.monotonic() + wait_s
    while left and (wait_s := give_up_s - time.monotonic()) > 0:
        for handle, _ in waiting.poll(wait_s * 1000):
            waiting.unregister(handle)
            left.discard(handle)
    return tuple(left)


def root_warning() -> str:
    """The warning for a user who starts a server as root; empty for other users."""
    if os.geteuid() != 0:
        return ""
    return "running as root: every job runs as root too, and can do anything on this machine; use an account of its own"
