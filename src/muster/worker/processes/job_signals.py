"""Which processes of a worker get a signal that a user sends to a job.

As in Slurm, the processes of steps get it and the shell of the batch script does not, which would die of it. A script
without steps, and a job that is no batch script, is its programs: all that is neither a shell nor a part of Muster.
"""

import contextlib
from collections.abc import Callable, Iterable

from muster.processes import ProcessEntry
from muster.worker.processes.process_table import descendants, everybody, send_signal

STEP = b"SLURM_STEP_ID="
"""The variable that only processes of steps have."""

SHELLS = frozenset({b"sh", b"dash", b"bash", b"zsh", b"ksh", b"fish"})

OWN = (b"muster.worker", b"muster/worker/", b"muster.slurm")
"""What stands in the command line of a process that belongs to Muster."""

Read = Callable[[int, str], bytes]
"""What the kernel says in a file about a process."""


def signal_worker(main: int, number: int, *, script_only: bool) -> None:
    """Send a signal to the processes below the first one of a worker that are to get it."""
    below = [each for each in descendants([main], everybody()) if each.pid != main]
    for each in chosen(below, main, script_only=script_only):
        send_signal(each, number)


def chosen(
    below: Iterable[ProcessEntry], main: int, *, script_only: bool, read: Read | None = None
) -> list[ProcessEntry]:
    """The processes that are to get a signal, of all that are below the first one of a worker."""
    look = read or _from_kernel
    known = {each.pid: each for each in below}
    others = [each for each in known.values() if not _is_own(look(each.pid, "cmdline"))]
    if script_only:
        # The script is the first process that is not Muster's: all between it and the first process are.
        own = {main, *(each.pid for each in known.values() if each not in others)}
        return [each for each in others if each.parent in own and STEP not in look(each.pid, "environ")]
    steps = [each for each in others if _has_step(look(each.pid, "environ"))]
    return steps or [each for each in others if not _is_shell(look(each.pid, "cmdline"))]


def _has_step(environment: bytes) -> bool:
    return any(variable.startswith(STEP) for variable in environment.split(b"\0"))


def _is_own(command_line: bytes) -> bool:
    return any(part in command_line for part in OWN)


def _is_shell(command_line: bytes) -> bool:
    program = command_line.split(b"\0")[0].rpartition(b"/")[2].lstrip(b"-")
    return program in SHELLS


def _from_kernel(pid: int, name: str) -> bytes:
    with contextlib.suppress(OSError), open(f"/proc/{pid}/{name}", "rb") as file:
        return file.read()
    return b""
