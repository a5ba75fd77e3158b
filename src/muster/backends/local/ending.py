"""Ending the supervisors of this machine with everything that they run, also those that hang or are dead."""

import os
import select
import signal
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from muster.backends.local.whereabouts import Whereabouts, whereabouts
from muster.home import Home
from muster.model.errors import TimedOut
from muster.model.node_limits import SUPERVISOR_END_S
from muster.model.reports import CheckpointSaved, WorkersExited
from muster.processes import is_same
from muster.worker.crew import KILLED
from muster.worker.inheritance import Unnoted, sweep
from muster.worker.journal import JOURNAL, recorded
from muster.worker.messages import WorkerReport, report

KILL_WAIT_S = 5.0
"""How long a killed supervisor may take to be gone: what waits for a disk may take for ever."""


def node_folders(home: Path) -> tuple[Path, ...]:
    """What the supervisors of a home keep, by node."""
    nodes = Home(home).nodes
    return tuple(sorted(path for path in nodes.iterdir() if path.is_dir())) if nodes.is_dir() else ()


def end_supervisors(folders: Iterable[Path], timeout_s: float = SUPERVISOR_END_S) -> None:
    """End the supervisors that keep these folders with everything that they run, and wait until all of it is gone.

    One that does not end, or has died before, is done without: what it ran is known from its journal. Raises
    `TimedOut` with what is still alive.
    """
    known = tuple(folders)
    living = _tell_to_end(known)
    give_up_s = time.monotonic() + timeout_s
    while living and time.monotonic() < give_up_s:
        time.sleep(0.005)
        living = {name: each for name, each in living.items() if is_same(each.pid, each.start_ticks)}
    for each in living.values():
        _kill_for_good(each)
    left = [f"{what} on {folder.name}" for folder in known for what in _swept(folder)]
    if left:
        raise TimedOut(f"these processes do not end: {', '.join(left)}; do they wait for a disk? Try again later")


def _swept(folder: Path) -> tuple[str, ...]:
    try:
        return sweep(folder)
    except Unnoted:  # nothing is alive; a successor reads how it ended once there is room
        return ()


def last_words(folder: Path) -> tuple[WorkerReport, ...]:
    """What workers did by themselves and nobody has acknowledged, from a supervisor that is gone, in order."""
    if not (folder / JOURNAL).is_file():
        return ()
    unheard = (report(body) for _, body in sorted(recorded(folder / JOURNAL).reports.items()))
    return tuple(event for event in unheard if _is_of_itself(event))


def _is_of_itself(event: WorkerReport) -> bool:
    """False for workers that were told to leave or killed: those are lost with the node."""
    if isinstance(event, WorkersExited):
        return not event.told and event.exit_code != KILLED
    return isinstance(event, CheckpointSaved)


def _tell_to_end(folders: Iterable[Path]) -> dict[str, Whereabouts]:
    """The supervisors that were told, by the names of their nodes."""
    living = {folder.name: found for folder in folders if (found := whereabouts(folder)) is not None}
    for found in living.values():
        with suppress(ProcessLookupError):  # it may end at any moment by itself
            os.kill(found.pid, signal.SIGTERM)
    return living


def _kill_for_good(supervisor: Whereabouts) -> None:
    """End a supervisor that hangs. Its lock is free once it is gone."""
    with suppress(ProcessLookupError):
        handle = os.pidfd_open(supervisor.pid)
        try:
            if is_same(supervisor.pid, supervisor.start_ticks):
                signal.pidfd_send_signal(handle, signal.SIGKILL)
                select.select([handle], [], [], KILL_WAIT_S)
        finally:
            os.close(handle)
