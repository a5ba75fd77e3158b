"""Ends supervisors of this machine with everything they run, also supervisors that hang or are dead."""

from collections.abc import Iterable
from pathlib import Path

from muster.home import Home
from muster.model.errors import TimedOut
from muster.model.node_limits import SUPERVISOR_END_S
from muster.model.reports import WorkersExited
from muster.processes import end_processes
from muster.worker.messages import CheckpointReport, WorkerReport, report
from muster.worker.processes.strays import supervised_nodes
from muster.worker.records.journal import JOURNAL, recorded
from muster.worker.records.orphan_cleanup import Unnoted, sweep
from muster.worker.supervisor_address import supervisor_address
from muster.worker.worker_reports import KILLED


def all_node_folders(home: Path) -> tuple[Path, ...]:
    """The folders of all nodes, also of nodes whose supervisors are alive although their folders are gone."""
    living = (Home(home).node(node) for node in supervised_nodes(home))
    return tuple(sorted({*node_folders(home), *living}))


def node_folders(home: Path) -> tuple[Path, ...]:
    """The folders that the supervisors of a home keep, one per node."""
    nodes = Home(home).nodes
    return tuple(sorted(path for path in nodes.iterdir() if path.is_dir())) if nodes.is_dir() else ()


def end_supervisors(folders: Iterable[Path], timeout_s: float = SUPERVISOR_END_S) -> None:
    """End the supervisors that keep these folders with everything they run, and wait until all of it is gone.

    A supervisor that does not end is killed. What it ran, or what one ran that had died before, is known from its
    journal and ended from here. Raises `TimedOut` with what is still alive.
    """
    known = tuple(folders)
    living = [found for folder in known if (found := supervisor_address(folder)) is not None]
    end_processes([(each.pid, each.start_ticks) for each in living], patience_s=timeout_s, then_kill=True)
    left = [f"{what} on {folder.name}" for folder in known for what in _swept(folder)]
    if left:
        raise TimedOut(f"these processes do not end: {', '.join(left)}; do they wait for a disk? Try again later")


def _swept(folder: Path) -> tuple[str, ...]:
    try:
        return sweep(folder)
    except Unnoted:  # nothing is alive; a successor reads the exit records once there is room
        return ()


def last_words(folder: Path) -> tuple[WorkerReport, ...]:
    """Reports of a dead supervisor about what workers did by themselves, as far as not acknowledged, in order."""
    if not (folder / JOURNAL).is_file():
        return ()
    unheard = (report(body) for _, body in sorted(recorded(folder / JOURNAL).reports.items()))
    return tuple(event for event in unheard if _is_of_itself(event))


def _is_of_itself(event: WorkerReport) -> bool:
    """True for saves, and for workers that were neither told to leave nor killed. The others are lost with the node."""
    if isinstance(event, WorkersExited):
        return not event.told and event.exit_code != KILLED
    return isinstance(event, CheckpointReport)
