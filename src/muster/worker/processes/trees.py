"""All processes that a worker started, found by its control group, by descent, and by what they inherited.

A supervisor is the reaper of all its descendants: a process whose parents are gone becomes its child. So a process that
left the control group, the process group, the session or the shell is still found below the supervisor, and what it
inherited (`signs`) says which worker it belongs to.
"""

import os
import signal
from collections.abc import Callable

from muster.processes import ProcessEntry, entry
from muster.worker.processes.cgroups import Cgroup
from muster.worker.processes.process_table import children, descendants, everybody, send_signal
from muster.worker.processes.signs import Signs, borne_by

FREEZING_ROUNDS = 20
"""How often one kill searches a tree that keeps forking. The next kill searches again."""


def kill_together(find: Callable[[], list[ProcessEntry]]) -> None:
    """Kill the processes that are found, and the processes that they start meanwhile."""
    frozen: dict[int, ProcessEntry] = {}
    for _ in range(FREEZING_ROUNDS):
        # Stopped first: if one process is killed while another forks, it would be replaced for ever.
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

    def __init__(
        self,
        *,
        token: str,
        main: int,
        cgroup: Cgroup | None,
        leader: Callable[[], int | None] | None = None,
        is_scattered: bool = False,
    ) -> None:
        """`leader` returns the first process of the worker's container, by its own word. It leads a group of its own.

        `is_scattered` says that processes need not be descendants of the supervisor: a service has started them.
        """
        self._signs = Signs(token=token, main=main)
        self._main = main
        self._cgroup = cgroup
        self._leader = leader
        self.is_scattered = is_scattered

    def is_gone(self, mains: frozenset[int]) -> bool:
        """True when no process of it is alive. `mains` are the first processes of all workers, which are no strays."""
        if self._cgroup is not None and self._living_members():
            return False
        return not self._strays(mains)

    @property
    def group(self) -> int | None:
        """The process group that gets the signals to leave; None while a container has not begun.

        What waits for a container is left alone: it would pass the signal on to one process only. A process that only
        says that it leads the container is left alone too.
        """
        if self._leader is None:
            return self._main
        leader = self._leader()
        return leader if leader is not None and leader > 1 and self.owns(leader) else None

    def group_is_alive(self) -> bool:
        """True while a process is left in the group that gets the signals to leave."""
        group = self.group
        if group is None or not self.signal_group(0):
            return False
        return any(each.group == group and each.is_alive for each in everybody().values())

    def signal_group(self, number: int) -> bool:
        """Signal the processes that have not left their process group. False when there are none."""
        group = self.group
        try:
            if group is not None:
                os.killpg(group, number)
        except (ProcessLookupError, PermissionError):
            return False
        return group is not None

    def kill(self, mains: frozenset[int]) -> None:
        """Kill everything that is found now. The next call finds what is forked meanwhile."""
        if self._cgroup is not None:
            self._cgroup.kill()
        kill_together(lambda: self._by_descent(mains))

    def has(self, pid: int, mains: frozenset[int]) -> bool:
        """True when this process belongs to the worker."""
        if self._cgroup is not None and pid in self._cgroup.members():
            return True
        return any(each.pid == pid for each in self._by_descent(mains))

    def owns(self, pid: int) -> bool:
        """True for a living orphan that belongs to the worker by anything it inherited, or by its control group."""
        found = entry(pid)
        if found is None or not found.is_alive:
            return False
        if self._signs.are_on(found, borne_by(pid)):
            return True
        return self._cgroup is not None and pid in self._cgroup.members()

    def _living_members(self) -> list[int]:
        members = [] if self._cgroup is None else self._cgroup.members()
        # Version 1 also lists processes that have ended and were not reaped yet.
        return [pid for pid in members if (found := entry(pid)) is not None and found.is_alive]

    def _by_descent(self, mains: frozenset[int]) -> list[ProcessEntry]:
        return descendants([self._main, *self._strays(mains)], everybody())

    def _strays(self, mains: frozenset[int]) -> list[int]:
        """Orphans of this worker: children of the supervisor, or of any process, that it did not start itself."""
        candidates = [pid for pid in everybody() if pid != self._main] if self.is_scattered else children()
        return [pid for pid in candidates if pid not in mains and self.owns(pid)]
