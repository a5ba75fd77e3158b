"""The processes of a trial, known by a mark in their environment: nothing else is ever signalled."""

import os
import signal
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from tests.chaos.job import start_ticks

MARK = "CHAOS_MARK"
PATIENCE_S = 20.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Marked:
    """A living process of a trial."""

    pid: int
    ticks: int
    command: str
    job: str
    """The job that it belongs to; empty for Muster's own processes."""

    @property
    def name(self) -> str:
        """For people."""
        return f"pid {self.pid} {self.job or self.command[:80]}"


def find(mark: str) -> list[Marked]:
    """Every living process with this mark."""
    wanted = f"{MARK}={mark}".encode()
    pids = (int(name) for name in os.listdir("/proc") if name.isdigit())
    return [found for pid in pids if (found := _look(pid, wanted)) is not None]


def _look(pid: int, wanted: bytes) -> Marked | None:
    try:
        variables = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
        if wanted not in variables:
            return None
        command = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        if not command:  # it has ended, and waits to be looked at
            return None
    except (OSError, ValueError):
        return None
    job = next((each[len(b"MUSTER_JOB=") :] for each in variables if each.startswith(b"MUSTER_JOB=")), b"")
    return Marked(pid=pid, ticks=start_ticks(pid), command=command, job=job.decode())


def send(pid: int, ticks: int, mark: str, number: int) -> bool:
    """Signal a process if it is still the one that was meant, and carries the mark."""
    try:
        handle = os.pidfd_open(pid)
    except OSError:
        return False
    try:
        found = _look(pid, f"{MARK}={mark}".encode())
        if found is None or found.ticks != ticks:
            return False
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(handle, number)
            return True
        return False
    finally:
        os.close(handle)


def sweep(mark: str) -> None:
    """Kill everything with the mark, again and again until nothing is left. Stopped processes die of it too."""
    until_s = time.monotonic() + PATIENCE_S
    while (left := find(mark)) and time.monotonic() < until_s:
        for process in left:
            send(process.pid, process.ticks, mark, signal.SIGKILL)
        time.sleep(0.02)
