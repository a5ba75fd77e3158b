"""What only MPI needs of a gang: `mpirun` runs in the first worker, its daemons in all of them.

run BOX GANG RANK HOST …    what `mpirun` calls instead of `ssh`, in the first worker, which has this rank
"""

import os
import shlex
import signal
import sys

from muster.worker.gang.line import HUB, connected
from muster.worker.gang.process_list import processes, send_signal
from muster.worker.gang.started_commands import SHELL

NO_WORKER = 255
MPIRUN = ("mpirun", "mpiexec", "orterun", "prterun")
_DAEMONS = ("orted", "prted")
_OWN_FOLDERS = (
    "btl_vader_backing_directory",
    "osc_rdma_backing_directory",
    "osc_sm_backing_directory",
    "orte_tmpdir_base",
)


def run(box: str, gang: str, own_rank: int, host: str, command: str) -> int:
    """Run a command beside the worker that the host stands for. Returns its exit code."""
    name = host.rpartition("-")[2]
    if not name.isdecimal():
        sys.stderr.write(f"muster: {host} is no worker of this gang: leave the hosts of mpirun to Muster\n")
        return NO_WORKER
    command = f"{_own_folders()} exec {SHELL} -c {shlex.quote(command)}"
    if int(name) == own_rank:
        os.execv(SHELL, [SHELL, "-c", command])
    line = connected(os.path.join(box, HUB))
    line.say(run=command, on=int(name), gang=gang)
    while (messages := line.hear()) is not None:
        for message in messages:
            return int(message["exit"])
    return NO_WORKER


def _own_folders() -> str:
    """What the shell of a daemon sets first: what its processes share in memory is in files of their worker.

    Open MPI names these files by host and local rank, and workers of one machine would write to each other's memory.
    `mpirun` itself must not have these variables, because it passes its own on to all daemons.
    """
    return " ".join(f'OMPI_MCA_{name}="${{MUSTER_BOARDS%/*}}"' for name in _OWN_FOLDERS)


def tell_ranks(root: int) -> None:
    """Tell the processes that daemons below this process have started to leave."""
    table = {each.pid: each for each in processes()}

    def is_below(pid: int) -> bool:
        while pid in table and pid != root:
            pid = table[pid].parent
        return pid == root

    for each in table.values():
        parent = table.get(each.parent)
        if parent is not None and parent.name in _DAEMONS and is_below(each.pid):
            send_signal(-each.pid if each.group == each.pid else each.pid, signal.SIGTERM)
