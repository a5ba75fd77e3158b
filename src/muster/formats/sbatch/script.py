"""The commands of a batch script -> the command that every worker runs.

A batch script runs once and calls `srun` to start its tasks. A worker of Muster is a task: it runs the whole script,
and `srun` in it only runs what it is given. Variables that Slurm would set are set from Muster's where they are used.
"""

import re
from collections.abc import Iterator, Mapping

from muster.formats.sbatch.options import BatchScript
from muster.formats.text.units import BadValue

_SHELLS = ("sh", "dash")
_TAKE_A_SCRIPT = ("bash", "zsh", "ksh", "python", "python3")
"""Interpreters that take a script after `-c`."""
END = "END_OF_SCRIPT"

VARIABLES = {
    "SLURM_JOB_ID": "$MUSTER_JOB",
    "SLURM_JOBID": "$MUSTER_JOB",
    "SLURM_ARRAY_JOB_ID": "${MUSTER_JOB%.*}",
    "SLURM_ARRAY_TASK_ID": "${MUSTER_JOB##*.}",
    "SLURM_PROCID": "$MUSTER_RANK",
    "SLURM_NODEID": "$MUSTER_NODE_RANK",
    "SLURM_NTASKS": "$MUSTER_WORLD",
    "SLURM_NPROCS": "$MUSTER_WORLD",
    "SLURM_LOCALID": "0",  # A worker sees only its own GPUs, so the first of them is its own.
    "SLURM_RESTART_COUNT": "$((MUSTER_ATTEMPT - 1))",
    "SLURM_SUBMIT_DIR": "$PWD",
    "SLURMD_NODENAME": "$MUSTER_NODE",
    "SLURM_JOB_GPUS": "$MUSTER_GPUS",
}
_USED = re.compile(r"\bSLURMD?_[A-Z_]+\b")
_TOOLS = re.compile(r"^[^#\n]*?\b(scontrol|sbatch|sbcast|squeue|scancel|sattach)\b", re.MULTILINE)

_SRUN = (
    'srun() { while :; do case "$1" in --*=*|-[a-zA-Z]?*|-[QHkKlOuvX]) shift;; --exclusive|--label|--overlap|--quiet'
    "|--unbuffered|--verbose|--kill-on-bad-exit|--no-kill|--overcommit|--pty|--preserve-env) shift;; "
    '-*) shift 2;; *) break;; esac; done; "$@"; }'
)
"""Drops the options of srun, and runs the rest."""


def run_command(script: BatchScript, known: Mapping[str, str]) -> str:
    """The command of a worker. `known` are variables whose values follow from the options."""
    if not script.body.strip():
        raise BadValue("the script has no commands")
    values = {**VARIABLES, **known}
    used = [name for name in dict.fromkeys(_USED.findall(script.body)) if name in values]
    prelude = [f'export {name}="{values[name]}"' for name in used]
    interpreter = script.interpreter.removeprefix("/usr/bin/env ").strip() or "/bin/sh"
    program = interpreter.split()[0].rsplit("/", 1)[-1]
    if re.search(r"^[^#\n]*\bsrun\b", script.body, re.MULTILINE) and not program.startswith("python"):
        body = f"{_SRUN}\n{script.body}"
    else:
        body = script.body
    if program in _SHELLS:
        return "\n".join([*prelude, body])
    if program.rstrip("0123456789.") not in _TAKE_A_SCRIPT and program not in _TAKE_A_SCRIPT:
        raise BadValue(f"#!{script.interpreter} is not an interpreter that is known", "a shell, or Python")
    # The script is an argument, because the programs in it may want to read standard input.
    return "\n".join([*prelude, f"exec {interpreter} -c \"$(cat <<'{END}'", body, END, ')"'])


def foreign_words(script: BatchScript, known: Mapping[str, str]) -> Iterator[tuple[int, str]]:
    """What the commands use that only Slurm has: its line, and what happens instead."""
    reported: set[str] = set()
    for number, line in enumerate(script.body.splitlines(), start=script.body_line):
        if line.lstrip().startswith("#"):
            continue
        for name in _USED.findall(line):
            if name not in VARIABLES and name not in known and name not in reported:
                reported.add(name)
                yield number, f"{name} will be empty; MASTER_ADDR, MASTER_PORT and MUSTER_* say who and where"
        tool = _TOOLS.match(line)
        if tool is not None and tool[1] not in reported:
            reported.add(tool[1])
            yield number, f"{tool[1]} speaks to Slurm and will not work here"
        if re.match(r"[^#]*\bsrun\b", line) and "srun" not in reported:
            reported.add("srun")
            yield number, "srun only runs its command: every worker runs the whole script"
