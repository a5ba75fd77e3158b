"""Patterns in the names of output files, as `sbatch` and `srun` have them, and the files."""

import os
import re
import time
from collections.abc import Mapping

_PATTERN = re.compile(r"%(%|([0-9]{0,2})([AaJjNnstuxb]))")

ARRAY_WORDS = {"A": "SLURM_ARRAY_JOB_ID", "a": "SLURM_ARRAY_TASK_ID"}
_VARIABLES = {
    "j": "SLURM_JOB_ID",
    "N": "SLURMD_NODENAME",
    "n": "SLURM_NODEID",
    "s": "SLURM_STEP_ID",
    "t": "SLURM_PROCID",
    "u": "SLURM_JOB_USER",
    "x": "SLURM_JOB_NAME",
}


def file_name(pattern: str, variables: Mapping[str, str]) -> str:
    """The name that a pattern stands for. A backslash in it turns patterns off, as in Slurm."""
    if "\\" in pattern:
        return pattern.replace("\\", "")

    def value(match: re.Match[str]) -> str:
        if match[1] == "%":
            return "%"
        text = _value(match[3], variables)
        return text.zfill(int(match[2])) if match[2] and text.isdecimal() else text

    return _PATTERN.sub(value, pattern)


def _value(letter: str, variables: Mapping[str, str]) -> str:
    job = variables.get("SLURM_JOB_ID", "0")
    match letter:
        case "A":
            return variables.get(ARRAY_WORDS["A"], job)
        case "a":
            return variables.get(ARRAY_WORDS["a"], "4294967294")
        case "b":
            return str(int(variables.get(ARRAY_WORDS["a"], "4")) % 10)
        case "J":
            step = variables.get("SLURM_STEP_ID")
            return job if step is None else f"{job}.{step}"
        case _:
            return variables.get(_VARIABLES[letter], "batch" if letter == "s" else "0")


FOLDER_S = 2.0
"""How long the folder of an output file is waited for: submitit makes it once it knows the id of its job."""
LOOK_S = 0.05


def opened_in_time(path: str, *, append: bool) -> int:
    """The same as `opened`, but a folder that is not there yet is waited for."""
    deadline_s = time.monotonic() + FOLDER_S
    while True:
        try:
            return opened(path, append=append)
        except FileNotFoundError:
            if time.monotonic() >= deadline_s:
                raise
        time.sleep(LOOK_S)


def opened(path: str, *, append: bool) -> int:
    """The file, made if it is not there. What several processes write to it is appended and never overwritten."""
    truncate = 0 if append else os.O_TRUNC
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | truncate, 0o666)
