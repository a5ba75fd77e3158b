"""Which worker a process belongs to, by what it inherited. Any one sign is enough.

A supervisor, its successor and a sweep use it. A process group or a session is a sign only while it is certain that
the number still means the worker's own. A number is reused once no process has it, and a successor may come days later.
"""

import os
from dataclasses import dataclass

from muster.processes import ProcessEntry, entry
from muster.worker.launch.environment import TOKEN_VARIABLE
from muster.worker.processes.marks import is_changed, mark_of, marks_on

_PREFIX = f"{TOKEN_VARIABLE}=".encode()


@dataclass(frozen=True, slots=True)
class Borne:
    """What a process has inherited."""

    token: str
    """The token of the worker that its environment names; empty without one."""
    marks: tuple[int, ...]
    is_changed: bool
    """True when it bears a mark, or has changed the limit that held one."""


def borne_by(pid: int) -> Borne:
    """What this process has inherited."""
    return Borne(_token_of(pid), marks_on(pid), is_changed(pid))


@dataclass(frozen=True, slots=True, kw_only=True)
class Signs:
    """What the processes of one worker inherit."""

    token: str
    main: int | None
    """The first process, which leads its own session and process group."""
    start_ticks: int = 0
    """Of the first process; 0 while it is the caller's own child, because then it is not needed."""

    def are_on(self, process: ProcessEntry, borne: Borne) -> bool:
        """True when the process belongs to the worker."""
        return borne.token == self.token or mark_of(self.token) in borne.marks or self._is_in_session(process, borne)

    def _is_in_session(self, process: ProcessEntry, borne: Borne) -> bool:
        if self.main is None or self.main not in (process.pid, process.group, process.session):
            return False
        if process.parent == os.getpid():
            return True  # an orphan of a worker: only processes of workers become children of a supervisor
        leader = entry(self.main)
        if leader is not None:
            return leader.start_ticks == self.start_ticks
        # The first process is gone. Its number may have led another session since, but the processes of that session
        # have the usual limit. A process of the worker that bears no mark has lowered its limit.
        return borne.is_changed


def _token_of(pid: int) -> str:
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            variables = file.read().split(b"\0")
    except OSError:
        return ""
    return next((os.fsdecode(each.removeprefix(_PREFIX)) for each in variables if each.startswith(_PREFIX)), "")
