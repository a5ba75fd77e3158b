"""The first moment of a worker: its process begins, and a successor of this supervisor would know."""

from muster.worker.launch.launch_spec import CannotStart, LaunchSpec
from muster.worker.launch.runtime_folder import remove
from muster.worker.output.budget import OutputBudget
from muster.worker.records.journal import Journal
from muster.worker.records.register import Seat
from muster.worker.training.worker_boards import FOLDER as BOARDS
from muster.worker.worker_process import WorkerContext, WorkerProcess


def begin_worker(
    seat: Seat, launch_spec: LaunchSpec, output: OutputBudget, journal: Journal, around: WorkerContext
) -> WorkerProcess:
    """Write to the journal that there is about to be a process, and start it. A successor finds it by its token."""
    folders = [] if launch_spec.cgroup is None else launch_spec.cgroup.folders
    journal.add("seat", seat.job, seat.rank, seat.token, list(folders))
    journal.flush(at_once=True)
    try:
        if journal.is_stale:
            raise CannotStart("its node cannot write its journal: is the disk full?")
        (launch_spec.folder / BOARDS).mkdir(mode=0o700, exist_ok=True)
        log = output.segments(seat.job, seat.attempt, seat.rank)
        return WorkerProcess(seat.token, launch_spec, log, around)
    except (CannotStart, OSError, ValueError) as problem:
        remove(launch_spec.folder / BOARDS)
        remove(launch_spec.folder)
        if launch_spec.cgroup is not None:
            launch_spec.cgroup.remove()
        raise CannotStart(f"the worker cannot be started: {problem}") from None
