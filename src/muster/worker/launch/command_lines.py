"""The command lines that the shell of a worker runs. Pure."""

import re
from collections.abc import Sequence

from muster.model.instructions import StartWorkers
from muster.model.job import Worker
from muster.model.spec import Launch
from muster.worker.launch.environment import WorkerPlace, place_in_gang, processes_per_worker
from muster.worker.launch.runtime_folder import EXIT_RECORD

SHELL = "/bin/sh"

CANNOT_ENTER = 125
"""The exit code of a worker that could not enter its control groups, its limits or its working directory."""

TOLD = "told"
"""A file in the folder of a worker. It exists once the worker was told to leave."""

SETUP, RUN = "MUSTER_WORKER_SETUP", "MUSTER_WORKER_RUN"
"""The variables that pass scripts to the shell. The scripts themselves do not see them."""

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
in variables, because every user may read the arguments of a process. They find `$0`, `$#` and their input as if the
text were an argument of the shell. The process then waits for its program, to leave a record of how that ended for a
supervisor that was not there to see it. So it survives the signals that its group is sent. A signal may arrive just
before the program is there. So the program is not started once the worker was told to leave. The shell's message about
a program that died of a signal is not shown.

`last` makes the program replace this process: a shell at a terminal wants to lead its session.
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
    """A process that enters its control groups, sets its limits, and runs the scripts in the working directory."""
    return [SHELL, "-c", _PREAMBLE, "muster", own, folder, limits, "last" if has_terminal else "", *groups]


def limits_line(umask: int, memory_bytes: int | None) -> str:
    """What the shell sets for itself: the umask, and a memory limit where no control group limits memory.

    It limits data and not address space, because frameworks reserve far more addresses than they use. The limit counts
    for each process alone.
    """
    memory = "" if memory_bytes is None else f" && ulimit -d {max(memory_bytes >> 10, 1)}"
    return f"umask {umask:04o}{memory}"


def run_line(start: StartWorkers, worker: Worker, place: WorkerPlace) -> str:
    """What the worker's role runs, under torchrun where the job file asks for that and does not do it itself."""
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
    """A single Python program is run by torchrun. Anything else stays, and finds the flags in its environment."""
    line = run.strip()
    found = _PYTHON.fullmatch(line)
    if found is None or _COMPOUND.search(line):
        return run
    return f"{found['before']}torchrun {flags} {found['script']}{found['arguments']}"
