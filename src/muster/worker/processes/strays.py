"""Living processes of a node that its files do not know.

A home may be restored from a copy, or the folders of its nodes deleted, while supervisors and workers are alive. No
control plane can reach these any more, and their GPUs would be given out again. So the process that holds the node's
lock ends them first.
"""

import hashlib
import signal
import time
from collections.abc import Container
from pathlib import Path

from muster.processes import ProcessEntry, end_processes
from muster.worker.processes.process_table import everybody, send_signal
from muster.worker.processes.signs import borne_by

SUPERVISOR_PATIENCE_S = 5.0
"""How long a supervisor that cannot be reached may take to end with what it runs."""

WORKER_PATIENCE_S = 5.0

BADGE_CHARS = 8


def badge(home: Path, node: str) -> str:
    """The prefix of the tokens of a node's workers, whatever its files say."""
    return hashlib.sha256(f"{home}\0{node}".encode("utf-8", "surrogateescape")).hexdigest()[:BADGE_CHARS]


def badge_of(token: str) -> str:
    """The badge that a token begins with."""
    return token[:BADGE_CHARS]


def end_strays(home: Path, node: str, known: Container[str], *, but: int = 0) -> tuple[str, ...]:
    """End supervisors of a node, except the process `but`, and workers with unknown tokens. Returns what is left."""
    others = [each for each in everybody().values() if each.pid != but and _node_of(each.pid, home) == node]
    end_processes([(each.pid, each.start_ticks) for each in others], patience_s=SUPERVISOR_PATIENCE_S, then_kill=True)
    give_up_s = time.monotonic() + WORKER_PATIENCE_S
    while (left := _workers(badge(home, node), known)) and time.monotonic() < give_up_s:
        for number in (signal.SIGSTOP, signal.SIGKILL):
            for process in left:
                send_signal(process, number)
        time.sleep(0.01)
    return tuple(f"process {process.pid}, which its files do not know" for process in left)


def supervised_nodes(home: Path) -> tuple[str, ...]:
    """The nodes of a home that have a living supervisor, by the command lines of processes."""
    found = (_node_of(pid, home) for pid in everybody())
    return tuple(sorted({node for node in found if node}))


def _workers(mine: str, known: Container[str]) -> list[ProcessEntry]:
    found = ((process, borne_by(process.pid).token) for process in everybody().values() if process.is_alive)
    return [process for process, token in found if token.startswith(mine) and token not in known]


def _node_of(pid: int, home: Path) -> str:
    """The node that a process supervises; empty for every other process."""
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().decode("utf-8", "surrogateescape").split("\0")
    except OSError:
        return ""
    if "muster.worker" not in words or "--home" not in words[:-1] or "--node" not in words[:-1]:
        return ""
    is_ours = words[words.index("--home") + 1] == str(home)
    return words[words.index("--node") + 1] if is_ours else ""
