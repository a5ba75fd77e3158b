"""Which process is which: a pid together with the time of its start. Reads `/proc`; Linux only."""

import os
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessEntry:
    """One process as the kernel knows it."""

    pid: int
    parent: int
    group: int
    session: int
    state: str
    start_ticks: int
    """When it was started, counted from boot. With the pid it names a process for good: pids are used again."""

    @property
    def is_alive(self) -> bool:
        """False for one that has ended and only waits to be looked at."""
        return self.state not in "ZX"


def entry(pid: int) -> ProcessEntry | None:
    """What the kernel says of a process, or None when there is none."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            text = file.read()
    except (FileNotFoundError, ProcessLookupError):
        return None
    # The name stands in brackets and may contain anything, also brackets.
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
    """True while the process that was started then lives under this pid, and not another one."""
    found = entry(pid)
    return found is not None and found.is_alive and found.start_ticks == start_ticks


def root_warning() -> str:
    """What to say to somebody who starts a server as root; empty to everybody else."""
    if os.geteuid() != 0:
        return ""
    return "running as root: every job runs as root too, and can do anything on this machine; use an account of its own"
