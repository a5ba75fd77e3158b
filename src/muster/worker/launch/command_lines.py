"""The command lines: what the shell of a worker is given to run. Pure."""

import re
from collections.abc import Sequence

from muster.model.instructions import StartWorkers
from muster.model.job import Worker
from muster.model.spec import Launch
from muster.worker.launch.environment import WorkerPlace, place_in_gang, processes_per_worker
from muster.worker.launch.runtime_folder import EXIT_RECORD

SHELL = "/bin/sh"

CANNOT_ENTER = 125
"""The exit code of a worker that could not be put under its limits."""

TOLD = "told"
"""In the folder of a worker: is there once it was told to leave."""

SETUP, RUN = "MUSTER_WORKER_SETUP", "MUSTER_WORKER_RUN"
"""The variables by which scripts come to the shell. The scripts themselves do not find them."""

_PREAMBLE = f"""\
own=$1 folder=$2 limits=$3 last=$4; shift 4
for group; do echo 0 >"$group" || exit {CANNOT_ENTER}; done
eval "$limits" && cd "$folder" || exit {CANNOT_ENTER}
begin='[ ! -e "$1/{TOLD}" ] || exit 143; shift; eval "unset {SETUP} {RUN};'
become() {{ exec {SHELL} -c "$begin \\$$1\\"" {SHELL} "$own" 2>&3 3>&-; }}
exec 3>&2 2>/dev/null
[ "$last" ] || trap : HUP INT QUIT ALRM TERM USR1 USR2 XCPU
{{ [ -z "${SETUP}" ] || (become {SETUP}); }} && if [ "$last" ]; then become {RUN}; else (become {RUN}); fi
code=$?
: >"$own/{EXIT_RECORD}$code"
exit $code
"""
"""What the first process of a worker does.

It enters its control groups by itself: a process that is moved by another has already run outside of them. Scripts come
in variables, because everybody may read the arguments of a process; they find `$0`, `$#` and their input as if the text
were an argument of the shell. It then waits for its program, to leave a record of how that ended for a supervisor that
was not there to see it. So it outlives the signals that its group is sent; since one may arrive just before the program
is there, the program is not begun once the worker was told to leave. What the shell says of a program that died of a
signal is not shown.

`last` has the program take the place of this process: a shell at a terminal wants to lead its session.
"""

_PYTHON = re.compile(
    r"""(?P<before>(?:[A-Za-z_]\w*=[^\s'"$`\\]*\s+)*)  # variables for this command only
        (?:python[\d.]*\s+(?:-u\s+)?)?              # torchrun brings its own interpreter
        (?P<script>-m\s+(?!torch\.distributed\b)[\w.]+|[\w./~-]+\.py)
        (?P<arguments>(?:\s.*)?)""",
    re.VERBOSE,
)
_COMPOUND = re.compile(r"[;&|<>\n]|\$\(|`")


def shell_command(*, own: str, folder: str, limits: str, has_terminal: bool, groups: Sequence[str]) -> list[str]:
    """A process that enters its control groups, prepares, and runs the scripts in the worker's own folder."""
    return [SHELL, "-c", _PREAMBLE, "muster", own, folder, limits, "last" if has_terminal else "", *groups]


def limits_line(umask: int, memory_bytes: int | None) -> str:
    """What the shell sets for itself: permissions, and memory where no control group limits it.

    Data and not address space: frameworks reserve far more addresses than they use. It counts for each process alone.
    """
    memory = "" if memory_bytes is None else f" && ulimit -d {max(memory_bytes >> 10, 1)}"
    return f"umask {umask:04o}{memory}"


def run_line(start: StartWorkers, worker: Worker, place: WorkerPlace) -> str:
    """What the worker's role runs; with torchrun around it where the file asks for that and does not do it itself."""
    run = start.spec.role(worker.role).run
    if start.spec.launch is not Launch.TORCHRUN:
        return run
    return _with_torchrun(run, _torchrun_flags(start, worker, place))


def _torchrun_flags(start: StartWorkers, worker: Worker, place: WorkerPlace) -> str:
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
