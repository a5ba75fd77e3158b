"""The command lines: what the shell of a worker is given to run. Pure."""

import re
from collections.abc import Sequence

from muster.model.instructions import StartWorkers
from muster.model.job import Worker
from muster.model.spec import Launch
from muster.worker.environment import Place, place_in_gang, processes_per_worker

SHELL = "/bin/sh"

CANNOT_ENTER = 125
"""The exit code of a worker that could not be put under its limits."""

_PREAMBLE = """\
folder=$1 limits=$2 setup=$3 run=$4; shift 4
for group; do echo 0 >"$group" || exit 125; done
eval "$limits" && cd "$folder" || exit 125
[ -z "$setup" ] || /bin/sh -c "$setup" || exit $?
exec /bin/sh -c "$run"
"""
"""Enters its control groups by itself: a process that is moved by another has already run outside of them."""

_PYTHON = re.compile(
    r"""(?P<before>(?:[A-Za-z_]\w*=[^\s'"$`\\]*\s+)*)  # variables for this command only
        (?:python[\d.]*\s+(?:-u\s+)?)?              # torchrun brings its own interpreter
        (?P<script>-m\s+(?!torch\.distributed\b)[\w.]+|[\w./~-]+\.py)
        (?P<arguments>(?:\s.*)?)""",
    re.VERBOSE,
)
_COMPOUND = re.compile(r"[;&|<>\n]|\$\(|`")


def shell_command(*, folder: str, limits: str, setup: str, run: str, groups: Sequence[str]) -> list[str]:
    """A process that enters its control groups, prepares, and then is what the file says it runs."""
    return [SHELL, "-c", _PREAMBLE, "muster", folder, limits, setup, run, *groups]


def limits_line(umask: int, memory_bytes: int | None) -> str:
    """What the shell sets for itself: permissions, and memory where no control group limits it.

    Data and not address space: frameworks reserve far more addresses than they use. It counts for each process alone.
    """
    memory = "" if memory_bytes is None else f" && ulimit -d {max(memory_bytes >> 10, 1)}"
    return f"umask {umask:04o}{memory}"


def run_line(start: StartWorkers, worker: Worker, place: Place) -> str:
    """What the worker's role runs; with torchrun around it where the file asks for that and does not do it itself."""
    run = start.spec.role(worker.role).run
    if start.spec.launch is not Launch.TORCHRUN:
        return run
    return _with_torchrun(run, _torchrun_flags(start, worker, place))


def _torchrun_flags(start: StartWorkers, worker: Worker, place: Place) -> str:
    return (
        f"--nnodes {len(start.gang)} --node-rank {place_in_gang(start, worker)} "
        f"--nproc-per-node {processes_per_worker(worker)} "
        f"--master-addr {place.master_host} --master-port {place.master_port}"
    )


def _with_torchrun(run: str, flags: str) -> str:
    """One Python program becomes torchrun's; anything else stays, and finds the flags in its environment."""
    line = run.strip()
    found = _PYTHON.fullmatch(line)
    if found is None or _COMPOUND.search(line):
        return run
    return f"{found['before']}torchrun {flags} {found['script']}{found['arguments']}"
