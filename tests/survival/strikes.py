"""One small function for each way to kill a part of a training: it returns what it killed, or None."""

import os
import random
import shutil
import signal
import time
from collections.abc import Callable
from pathlib import Path

from muster.train.board import SAVING, Board
from muster.worker.launch.runtime_folder import hot_folder
from tests.chaos import processes
from tests.chaos.cluster import Cluster
from tests.chaos.processes import Marked

PATIENCE_S = 40.0
"""How long a strike waits for its moment."""
LOOK_S = 0.005

Strike = Callable[[Cluster, random.Random], str | None]


def worker(cluster: Cluster, chance: random.Random) -> str | None:
    """A training process dies."""
    found = _trainers(cluster)
    return _kill(cluster, chance.choice(found)) if found else None


def supervisor(cluster: Cluster, chance: random.Random) -> str | None:
    """The supervisor of a node dies, and its workers stay for a moment."""
    found = chance.choice(cluster.supervisors())
    processes.send(found.pid, found.ticks, cluster.mark, signal.SIGKILL)
    return found.node


def node(cluster: Cluster, chance: random.Random) -> str | None:
    """A node dies with everything that runs there and with its disk."""
    found = chance.choice(cluster.supervisors())
    processes.send(found.pid, found.ticks, cluster.mark, signal.SIGKILL)
    for each in processes.find(cluster.mark):
        if _variable(each.pid, "MUSTER_NODE") == found.node:
            processes.send(each.pid, each.ticks, cluster.mark, signal.SIGKILL)
    shutil.rmtree(hot_folder(cluster.home, os.environ) / found.node, ignore_errors=True)
    return found.node


def control(cluster: Cluster, chance: random.Random) -> str | None:
    """The control plane dies, and comes back after a while."""
    if not cluster.kill_control():
        return None
    time.sleep(chance.uniform(0, 5))
    started = cluster.start()
    return "it is back" if started.is_up else f"it does not come back: {started.said}"


def saving(cluster: Cluster, chance: random.Random) -> str | None:
    """A training process dies while it saves."""

    def moment() -> Marked | None:
        boards = {pid for pid, flags in _boards(cluster) if flags & SAVING}
        found = [each for each in _trainers(cluster) if each.pid in boards]
        return chance.choice(found) if found else None

    found = _awaited(moment)
    return None if found is None else _kill(cluster, found)


def restoring(cluster: Cluster, chance: random.Random) -> str | None:
    """A training process dies shortly after its start, while it loads or restores."""
    begun = _trainers(cluster)
    if not begun:
        return None
    _kill(cluster, chance.choice(begun))
    old = {each.pid for each in begun}

    def moment() -> Marked | None:
        fresh = [each for each in _trainers(cluster) if each.pid not in old]
        return chance.choice(fresh) if fresh else None

    found = _awaited(moment)
    if found is None:
        return None
    time.sleep(chance.uniform(0, 4))
    return _kill(cluster, found)


def upload(cluster: Cluster, chance: random.Random) -> str | None:
    """An uploader dies."""
    found = [each for each in processes.find(cluster.mark) if "muster.train.uploader" in each.command]
    return _kill(cluster, chance.choice(found)) if found else None


STRIKES: dict[str, Strike] = {
    "worker": worker,
    "supervisor": supervisor,
    "node": node,
    "control": control,
    "saving": saving,
    "restoring": restoring,
    "upload": upload,
}
INTERRUPTS = ("worker", "supervisor", "node", "saving", "restoring")
"""Those after which the training has to be started again."""


def _trainers(cluster: Cluster) -> list[Marked]:
    """The processes that train: those that have a rank of their own."""
    found = [each for each in processes.find(cluster.mark) if each.job and "train.py" in each.command]
    return [each for each in found if _variable(each.pid, "RANK") and "torch.distributed.run" not in each.command]


def _kill(cluster: Cluster, process: Marked) -> str:
    processes.send(process.pid, process.ticks, cluster.mark, signal.SIGKILL)
    return f"pid {process.pid} on {_variable(process.pid, 'MUSTER_NODE') or 'a node'}"


def _awaited(moment: Callable[[], Marked | None]) -> Marked | None:
    until_s = time.monotonic() + PATIENCE_S
    while time.monotonic() < until_s:
        if (found := moment()) is not None:
            return found
        time.sleep(LOOK_S)
    return None


def _boards(cluster: Cluster) -> list[tuple[int, int]]:
    """The process and the flags of each board of this trial."""
    folders = {_variable(each.pid, "MUSTER_BOARDS") for each in _trainers(cluster)}
    found = []
    for path in (path for folder in folders if folder for path in Path(folder).glob("*.board")):
        board = Board.open(os.fspath(path))
        if board is not None:
            found.append((board.pid, board.flags))
            board.close()
    return found


def _variable(pid: int, name: str) -> str:
    try:
        variables = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return ""
    wanted = f"{name}=".encode()
    return next((each[len(wanted) :].decode() for each in variables if each.startswith(wanted)), "")
