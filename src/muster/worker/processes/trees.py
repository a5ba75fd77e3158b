"""Everything a worker started, wherever it went: known by its control group, by descent, and by what it inherited.

A supervisor is the reaper of all its descendants: a process whose parents are gone becomes its child. So a process that
left the control group, the process group, the session or the shell is still found below, and what it inherited
(`signs`) says whose it is.
"""

import os
import signal
from collections.abc import Callable

from muster.processes import ProcessEntry, entry
from muster.worker.processes.cgroups import Cgroup
from muster.worker.processes.process_table import children, descendants, everybody, send_signal
from muster.worker.processes.signs import Signs, borne_by

FREEZING_ROUNDS = 20
"""How often one look at a tree that keeps forking is repeated; the next round comes with the next attempt."""


def kill_together(find: Callable[[], list[ProcessEntry]]) -> None:
    """Kill the processes that are found, and those that they start meanwhile."""
    frozen: dict[int, ProcessEntry] = {}
    for _ in range(FREEZING_ROUNDS):
        # Stopped first: a process that is killed while another forks would be replaced for ever.
        fresh = [each for each in find() if each.pid not in frozen]
        if not fresh:
            break
        for each in fresh:
            send_signal(each, signal.SIGSTOP)
            frozen[each.pid] = each
    for each in frozen.values():
        send_signal(each, signal.SIGKILL)


class ProcessTree:
    """The processes of one worker."""

    def __init__(self, *, token: str, main: int, cgroup: Cgroup | None) -> None:
        self._signs = Signs(token=token, main=main)
        self._main = main
        self._cgroup = cgroup

    def is_gone(self, mains: frozenset[int]) -> bool:
        """True when nothing of it lives. `mains` are the first processes of all workers, which are no strays."""
        if self._cgroup is not None and self._living_members():
            return False
        return not self._strays(mains)

    def group_is_alive(self) -> bool:
        """True while somebody is left who was told when the worker's process group was."""
        try:
            os.killpg(self._main, 0)
        except (ProcessLookupError, PermissionError):
            return False
        return any(each.group == self._main and each.is_alive for each in everybody().values())

    def signal_group(self, number: int) -> None:
        """Signal those that have not left the group the worker was started in."""
        try:
            os.killpg(self._main, number)
        except (ProcessLookupError, PermissionError):
            return

    def kill(self, mains: frozenset[int]) -> None:
        """End everything that is found now. What is being forked meanwhile is found by the next call."""
        if self._cgroup is not None:
            self._cgroup.kill()
        kill_together(lambda: self._by_descent(mains))

    def has(self, pid: int, mains: frozenset[int]) -> bool:
        """True when this process is one of the worker's."""
        if self._cgroup is not None and pid in self._cgroup.members():
            return True
        return any(each.pid == pid for each in self._by_descent(mains))

    def owns(self, pid: int) -> bool:
        """True for a living orphan that shows by anything it inherited that it is the worker's."""
        found = entry(pid)
        if found is None or not found.is_alive:
            return False
        if self._signs.are_on(found, borne_by(pid)):
            return True
        return self._cgroup is not None and pid in self._cgroup.members()

    def _living_members(self) -> list[int]:
        members = [] if self._cgroup is None else self._cgroup.members()
        # Version 1 lists those that have ended and were not looked at yet.
        return [pid for pid in members if (found := entry(pid)) is not None and found.is_alive]

    def _by_descent(self, mains: frozenset[int]) -> list[ProcessEntry]:
        return descendants([self._main, *self._strays(mains)], everybody())

    def _strays(self, mains: frozenset[int]) -> list[int]:
        """Children of the supervisor that it did not start: orphans, of which some are this worker's."""
        return [pid for pid in children() if pid not in mains and self.owns(pid)]
