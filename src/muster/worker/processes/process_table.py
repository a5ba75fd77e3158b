"""The kernel's table of processes, with their parents. Reads `/proc`; Linux only."""

import contextlib
import ctypes
import os
import signal
import threading

from muster.processes import ProcessEntry, entry, is_same

_SUBREAPER = 36  # PR_SET_CHILD_SUBREAPER


def everybody() -> dict[int, ProcessEntry]:
    """All processes, by pid."""
    found = (entry(int(name)) for name in os.listdir("/proc") if name.isdecimal())
    return {each.pid: each for each in found if each is not None}


def children() -> list[int]:
    """The children of this process, if possible without looking at every process."""
    try:
        with open(f"/proc/self/task/{threading.get_native_id()}/children", "rb") as file:
            return [int(pid) for pid in file.read().split()]
    except FileNotFoundError:  # a kernel without this file
        return [each.pid for each in everybody().values() if each.parent == os.getpid()]


def ended_children() -> list[tuple[int, int]]:
    """Reap the children that have ended since the last call. Returns their pids and wait statuses."""
    found = []
    with contextlib.suppress(ChildProcessError):
        while (ended := os.waitpid(-1, os.WNOHANG))[0] != 0:
            found.append(ended)
    return found


def descendants(roots: list[int], table: dict[int, ProcessEntry]) -> list[ProcessEntry]:
    """These processes and all their descendants that are alive."""
    below: dict[int, list[int]] = {}
    for each in table.values():
        below.setdefault(each.parent, []).append(each.pid)
    found: dict[int, ProcessEntry] = {}
    waiting = list(roots)
    while waiting:
        pid = waiting.pop()
        if pid in found or pid not in table:
            continue
        found[pid] = table[pid]
        waiting += below.get(pid, [])
    return [each for each in found.values() if each.is_alive]


def send_signal(process: ProcessEntry, number: int) -> None:
    """Signal exactly this process, never one that got its pid later."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        handle = os.pidfd_open(process.pid)
        try:
            if is_same(process.pid, process.start_ticks):
                signal.pidfd_send_signal(handle, number)
        finally:
            os.close(handle)


def become_subreaper() -> None:
    """Make every orphan among the descendants a child of this process, so that it is not lost."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_SUBREAPER, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "cannot become a subreaper")


def boot_id() -> str:
    """The id of the current boot of the machine. Pids from another boot mean nothing."""
    with open("/proc/sys/kernel/random/boot_id") as file:
        return file.read().strip()
