"""What a batch job needs on its node: the file with its allocation, and the commands of Slurm on its path."""

import os
import pwd
import shlex
import signal
import socket
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from muster.model.instructions import StartWorkers
from muster.model.limits import STOP_GRACE_MS
from muster.model.spec import BatchSignal
from muster.worker.gang.allocation import Allocation, EndSignal, ScriptRun, allocation_text
from muster.worker.gang.program import SOURCE
from muster.worker.gang.script import FALLBACK
from muster.worker.launch.frameworks import MeetingPlace
from muster.worker.launch.runtime_folder import claim, remove

SCRIPT = "slurm_script"
"""The file with the script, as Slurm names it."""

ALLOCATION = "MUSTER_ALLOCATION"
"""The variable with the file that `srun` reads."""

COMMANDS = (
    "sbatch",
    "srun",
    "sbcast",
    "salloc",
    "squeue",
    "sacct",
    "sinfo",
    "scancel",
    "scontrol",
    "sacctmgr",
    "sshare",
)

MODULES = ("/etc/profile.d/lmod.sh", "/etc/profile.d/modules.sh", "/usr/share/lmod/lmod/init/bash")
"""Where environment modules are set up, on machines that have them."""

_NO_MODULES = """\
#!/bin/sh
echo "muster: there are no environment modules here, so nothing happened: module $*" >&2
"""


def command_text(name: str) -> str:
    """A file that is one of the commands of Slurm. It is isolated like the program of a gang.

    `srun` is called without what the others load first, because scripts call it often.
    """
    begin = (
        f"import sys; sys.path.append({str(SOURCE)!r}); from muster.slurm.{'srun' if name == 'srun' else '__main__'}"
    )
    call = "sys.exit(main(sys.argv[1:]))" if name == "srun" else f"sys.argv[1:1] = [{name!r}]; sys.exit(main())"
    words = (sys.executable, "-I", "-c", f"{begin} import main; {call}")
    return f'#!/bin/sh\nexec {shlex.join(words)} "$@"\n'


def provide_commands(workers: Path) -> Path:
    """Make the folder with the commands, if it is not there yet. Whoever finds the folder finds all of it."""
    folder = commands_path(workers)
    if not folder.is_dir():
        new = folder.with_name(f"{folder.name}.new")
        remove(new)
        claim(new)
        for name in COMMANDS:
            _write_program(new / name, command_text(name))
        (new / FALLBACK).mkdir()
        for name in ("module", "ml"):
            _write_program(new / FALLBACK / name, _NO_MODULES)
        new.rename(folder)
    return folder


def commands_path(workers: Path) -> Path:
    """The folder with the commands for the workers of a node."""
    return workers.with_name(f".slurm-{workers.name}")


def withdraw_commands(workers: Path) -> None:
    """Remove the folder: no worker uses it, or another version of Muster takes over."""
    remove(commands_path(workers))


def with_commands(variables: dict[str, str], commands: Path) -> dict[str, str]:
    """The variables of a batch job with the commands on its path.

    A script that calls `module` finds the modules of this machine. Where there are none, it is told so and goes on.
    """
    path = variables.get("PATH") or os.defpath
    found = next((file for file in MODULES if os.path.exists(file)), None)
    if found is None:
        return {**variables, "PATH": f"{commands}:{path}:{commands / FALLBACK}"}
    module = {"BASH_FUNC_module%%": f'() {{ unset -f module; . {found} && module "$@"; }}'}
    return {**module, **variables, "PATH": f"{commands}:{path}"}


def allocation_file(box: Path) -> Path:
    """Where `srun` finds what the job was given."""
    return box / "allocation"


def account_variables() -> dict[str, str]:
    """What every login has, for scripts to which the environment of their submission did not come along."""
    try:
        account = pwd.getpwuid(os.geteuid())
    except KeyError:
        return {}
    name = account.pw_name
    return {"HOME": account.pw_dir, "USER": name, "LOGNAME": name, "SHELL": account.pw_shell or "/bin/sh"}


def user_variables() -> dict[str, str]:
    """Who runs the job."""
    user = os.geteuid()
    try:
        name = pwd.getpwuid(user).pw_name
    except KeyError:
        name = str(user)
    return {"SLURM_JOB_USER": name, "SLURM_JOB_UID": str(user), "SLURM_JOB_GID": str(os.getegid())}


def virtual_hosts(start: StartWorkers, meeting: MeetingPlace) -> tuple[str, ...]:
    """The nodes of a gang that are this machine under another name."""
    if not meeting.is_loopback:
        return ()
    own = socket.gethostname().split(".")[0].lower()
    return tuple(dict.fromkeys(str(each.node) for each in start.gang if each.node != own))


def write_allocation(
    allocation: Allocation,
    start: StartWorkers,
    meeting: MeetingPlace,
    variables: Mapping[str, str],
    *,
    told: Path,
    steps: Path,
) -> None:
    """Write down what the job was given, for its first worker and for `srun`."""
    batch = start.spec.batch
    limit_ms = start.max_duration_ms
    grace_ms = start.spec.grace_ms(STOP_GRACE_MS)
    commands = variables["PATH"].split(":")[0]
    script = ScriptRun(
        arguments=batch.arguments,
        output=batch.output,
        error=batch.error,
        append=batch.append,
        signal=None if batch.signal is None else _end_signal(batch.signal),
        grace_ms=grace_ms if limit_ms is None else min(grace_ms, limit_ms // 2),
        told=str(told),
        commands=commands,
        steps=str(steps),
    )
    shown = {name: value for name, value in variables.items() if name.startswith(("SLURM", "CUDA_VISIBLE"))}
    whole = replace(allocation, hosts=virtual_hosts(start, meeting), script=script, variables=shown)
    allocation_file(Path(allocation.box)).write_text(allocation_text(whole))


def _end_signal(asked: BatchSignal) -> EndSignal:
    name = asked.name
    number = int(name) if name.isdecimal() else int(signal.Signals[f"SIG{name}"])
    return EndSignal(number=number, script_only=asked.script_only)


def _write_program(path: Path, text: str) -> None:
    path.write_text(text)
    path.chmod(0o755)
