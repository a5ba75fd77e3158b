"""The command lines that the shell of a worker runs. Pure, but for very long ones, which are written to files."""

import os
import shlex
from collections.abc import Sequence
from pathlib import Path

from muster.model.node_limits import SCRIPT_VARIABLE_BYTES
from muster.worker.launch.frameworks import LIGHTHOUSE
from muster.worker.launch.runtime_folder import EXIT_RECORD
from muster.worker.launch.setup_records import STAMP, WAIT_S

SHELL = "/bin/sh"

CANNOT_ENTER = 125
"""The exit code of a worker that could not enter its control groups, its limits or its working directory."""

NO_FLOCK = 127
"""What a shell says of a program that is not there."""

TOLD = "told"
"""A file in the folder of a worker. It exists once the worker was told to leave."""

UNPACK, SETUP, RUN = "MUSTER_WORKER_UNPACK", "MUSTER_WORKER_SETUP", "MUSTER_WORKER_RUN"
"""The variables that pass scripts to the shell. The scripts themselves do not see them."""

_PREAMBLE = f"""\
own=$1 folder=$2 limits=$3 last=$4 once=$5 key=$6; shift 6
for group; do echo 0 >"$group" || exit {CANNOT_ENTER}; done
eval "$limits" && {{ [ "${UNPACK}" ] || cd "$folder"; }} || exit {CANNOT_ENTER}
begin='[ ! -e "$1/{TOLD}" ] || exit 143; shift; eval "unset {UNPACK} {SETUP} {RUN};'
become() {{ exec {SHELL} -c "$begin \\$$1\\"" {SHELL} "$own" 2>&3 3>&- 9>&-; }}
unchanged() {{
[ -z "${UNPACK}" ] || [ -z "$(find . -newer "$once/{STAMP}" -print | head -n 1)" ]
}}
prepare() {{
[ "${UNPACK}${SETUP}" ] || return 0
waited=0
until flock -w 1 9 || [ $? = {NO_FLOCK} ] || [ $waited = {WAIT_S} ]; do
[ ! -e "$own/{TOLD}" ] || return 143
waited=$((waited + 1))
done
if [ "${UNPACK}" ]; then
[ -d "$folder" ] || (become {UNPACK}) || return $?
cd "$folder" || return {CANNOT_ENTER}
fi
[ "${SETUP}" ] || return 0
for mark in "$once/attempt-$MUSTER_ATTEMPT-"*; do [ ! -e "$mark" ] || return "${{mark##*-}}"; done
[ -e "$once/done-$key" ] || (become {SETUP})
code=$?
[ "$code" = 0 ] && unchanged && : >"$once/done-$key"
[ -e "$own/{TOLD}" ] || : >"$once/attempt-$MUSTER_ATTEMPT-$code"
return $code
}}
exec 3>&2 2>/dev/null
[ "$last" ] || trap : HUP INT QUIT ALRM TERM USR1 USR2 XCPU
[ -z "$once" ] || exec 9>>"$once/lock"
if [ "$last" ]; then prepare; else prepare </dev/null; fi && exec 9>&- &&
if [ "$last" ]; then become {RUN}; else (become {RUN}); fi
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

`setup` runs under a lock in the folder `once` that the workers of one run on this node share (see setup_records). The
kernel takes the lock from a worker that is killed. No program inherits it. A worker that waits looks every second
whether it was told to leave. Where there is no `flock`, or it takes too long, each worker runs `setup` by itself.

A job with a bundle runs in a working copy (see working_copies), which the first worker unpacks under the same lock. A
`setup` that leaves something in the copy is run again in the next attempt, which has a new copy.

`setup` reads nothing, because what is sent to the worker is for its program, unless people type at its terminal.
`last` makes the program replace this process: a shell at a terminal wants to lead its session.
"""


def shell_command(
    *, own: str, folder: str, limits: str, has_terminal: bool, groups: Sequence[str], once: str = "", key: str = ""
) -> list[str]:
    """A process that enters its control groups, sets its limits, and runs the scripts in the working directory.

    `once` is the folder with the records of `setup`, and `key` stands for what `setup` depends on.
    """
    last = "last" if has_terminal else ""
    return [SHELL, "-c", _PREAMBLE, "muster", own, folder, limits, last, once, key, *groups]


def beside(command: Sequence[str]) -> list[str]:
    """The command of a worker, for another program in the same place: it enters, and leaves no record of its end.

    The worker's own folder tells it, as it tells the worker, when it must not begin any more.
    """
    shell, option, preamble, name, own, folder, limits, _last, _once, _key, *groups = command
    return [shell, option, preamble, name, own, folder, limits, "last", "", "", *groups]


def limits_line(umask: int, memory_bytes: int | None) -> str:
    """What the shell sets for itself: the umask, and a memory limit where no control group limits memory.

    It limits data and not address space, because frameworks reserve far more addresses than they use. The limit counts
    for each process alone.
    """
    memory = "" if memory_bytes is None else f" && ulimit -d {max(memory_bytes >> 10, 1)}"
    return f"umask {umask:04o}{memory}"


def with_lighthouse(line: str, program: str) -> str:
    """A line that does not begin without the program of the lighthouse, which `setup` may have installed."""
    return (
        f"command -v {shlex.quote(program)} >/dev/null || command -v {LIGHTHOUSE} >/dev/null || {{ "
        f"echo 'muster: launch: torchft needs {LIGHTHOUSE} beside the Python of the job or on its PATH:"
        f" pip install torchft-nightly' >&2; exit 127; }}\n{line}"
    )


def as_variable(text: str, file: Path) -> str:
    """The command as the value of a variable. A very long one is written to a file that the shell reads."""
    if len(text) * 4 < SCRIPT_VARIABLE_BYTES or len(os.fsencode(text)) < SCRIPT_VARIABLE_BYTES:
        return text
    file.write_bytes(os.fsencode(text))
    return f"exec {SHELL} '{file}'" if "'" not in str(file) else f'exec {SHELL} "{file}"'
