"""What is run in a container: files in the folder of its worker, which the container sees at the same path.

variables   what the worker has in its environment, with its secrets, readable by its user alone
start       what the shell of the container runs
setup, run  the commands of the job
oom         exists when something in it was killed for want of memory
leader      the process that runs `start`, written by itself. It leads the group that is signalled
"""

import os
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path

from muster.worker.containers.runtime import Container, Runtime
from muster.worker.launch.command_lines import CANNOT_ENTER, SHELL, TOLD

LEADER = "leader"
OUT_OF_MEMORY = "oom"

PREFERENCE = 100
"""By how many thousandths of its memory the kernel rather kills a program than the shell that waits for it."""

_BEGIN = """\
exec 3>&2 2>/dev/null
echo $$ >{own}/{leader}
umask {umask:04o}
. {own}/variables || exit {cannot_enter}
cd {folder} || {{
echo "muster: the working directory "{folder}" is neither on the node nor in the image" >&3
exit {cannot_enter}
}}
begin() {{ [ ! -e {own}/{told} ] || exit 143; exec {shell} "$1" 2>&3 3>&-; }}
"""

_RUN = """\
trap : HUP INT QUIT ALRM TERM USR1 USR2 XCPU
if [ -e {own}/setup ]; then (begin {own}/setup) </dev/null || exit $?; fi
(echo {preference} >/proc/self/oom_score_adj; begin {own}/run)
code=$?
[ $code = 0 ] || for file in /sys/fs/cgroup/memory.events /sys/fs/cgroup/memory/memory.oom_control; do
while read -r name count; do [ "$name" != oom_kill ] || [ "$count" = 0 ] || : >{own}/{oom}; done <"$file"
done
exit $code
"""
"""The shell waits for the program and survives what its group is sent, as the shell of a worker without a container.
A control group is gone with its container, and not every runtime says whether something in it ran out of memory. So the
shell looks, and is the last that the kernel would kill.
"""

_AT_TERMINAL = """\
if [ -e {own}/setup ]; then (begin {own}/setup) || exit $?; fi
begin {own}/run
"""

_BESIDE = """\
echo $$ >{file}.leader
. {own}/variables
cd {folder} && exec {shell} {file}
"""

_WATCH = """\
end() {{
read -r leader <{file}.leader && kill -s TERM -- "-$leader" && sleep {patience_s} && kill -s KILL -- "-$leader"
exit 143
}}
trap end TERM HUP
exec 5<&0
{enter} <&5 5<&- &
wait $!
"""
"""What waits for a command beside a worker. It passes on that nobody watches any more, which runtimes do not."""

BESIDE_PATIENCE_S = 1
"""How long such a command may take to leave. Its supervisor kills what waits for it a second later."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Inside:
    """What a container of a worker is to run."""

    variables: Mapping[str, str]
    python_path: str
    """What goes in front of what the image has on Python's path."""
    folder: str
    """Where commands run; empty means where the image says."""
    setup: str
    run: str
    umask: int
    has_terminal: bool


class WorkerContainer:
    """The container of a worker, whether it runs or not."""

    def __init__(self, runtime: Runtime, container: Container, own: Path, folder: str) -> None:
        self.runtime = runtime
        self.container = container
        self._own = own
        self._folder = folder
        self._beside = count()

    @property
    def line(self) -> str:
        """What the shell of the worker runs."""
        return f"exec {shlex.join(self.runtime.run(self.container))}"

    def found_leader(self) -> int | None:
        """The first process in it, by its own word; None before it runs."""
        try:
            return int((self._own / LEADER).read_text())
        except (OSError, ValueError):
            return None

    @property
    def ran_out_of_memory(self) -> bool:
        """True when it has written down that something in it was killed for want of memory."""
        return (self._own / OUT_OF_MEMORY).exists()

    def line_beside(self, line: str, *, has_terminal: bool) -> str:
        """What the shell beside a worker runs, for a command beside the program in the container."""
        file = self._own / f"beside-{next(self._beside)}"
        _write(file, line)
        begin = _BESIDE.format(own=_quoted(self._own), folder=_place(self._folder), shell=SHELL, file=_quoted(file))
        script = file.with_suffix(".start")
        _write(script, begin)
        seen = replace(self.container, has_terminal=has_terminal)
        enter = shlex.join(self.runtime.enter(seen, str(script)))
        return _WATCH.format(file=_quoted(file), enter=enter, patience_s=BESIDE_PATIENCE_S)


def write_inside(own: Path, inside: Inside) -> Path:
    """Write down what a container runs. Returns the file for its shell."""
    _write(own / "variables", _exports(inside))
    if inside.setup:
        _write(own / "setup", inside.setup)
    _write(own / "run", inside.run)
    words = {
        "own": _quoted(own),
        "folder": _place(inside.folder),
        "umask": inside.umask,
        "shell": SHELL,
        "told": TOLD,
        "leader": LEADER,
        "oom": OUT_OF_MEMORY,
        "preference": PREFERENCE,
        "cannot_enter": CANNOT_ENTER,
    }
    script = own / "start"
    _write(script, (_BEGIN + (_AT_TERMINAL if inside.has_terminal else _RUN)).format(**words))
    return script


def _exports(inside: Inside) -> str:
    """The variables as a shell reads them."""
    lines = [f"export {name}={shlex.quote(value)}" for name, value in inside.variables.items()]
    path = f'export PYTHONPATH={shlex.quote(inside.python_path)}"${{PYTHONPATH:+:$PYTHONPATH}}"'
    return "\n".join([path, *lines, ""])


def _place(folder: str) -> str:
    return shlex.quote(folder) if folder else "."


def _quoted(path: Path) -> str:
    return shlex.quote(str(path))


def _write(file: Path, text: str) -> None:
    """For the user of the worker alone."""
    handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    with os.fdopen(handle, "wb") as opened:
        opened.write(os.fsencode(text))
