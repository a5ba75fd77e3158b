"""`srun`: run a command. In an allocation it is a step of the job; elsewhere it is a job of its own, which is followed.

Inside an allocation only the standard library is loaded, because scripts call it often.
"""

import os
import sys
from collections.abc import Mapping, Sequence

from muster.formats.sbatch.options import SRUN, BadOption, Option, read_options
from muster.slurm.steps.step import RunningStep, StepOptions, StepRefused
from muster.slurm.steps.step_input import ALL, StepReaders
from muster.worker.gang.allocation import read_allocation
from muster.worker.gang.step_layout import StepRequest

ALLOCATION = "MUSTER_ALLOCATION"
WRONG_USE = 2
INTERRUPTED = 130

HELP = """\
Usage: srun [OPTIONS...] command [args...]

Runs a command on the nodes of an allocation, or submits it as a job. The options are those of Slurm 22.05;
docs/guides/slurm-commands.md says what each does here.
"""


def main(arguments: Sequence[str]) -> int:
    """Run the command, and return its exit code."""
    try:
        return _run(arguments)
    except BadOption as error:
        sys.stderr.write(f"srun: {error.problem}\n{error.hint}\n")
        return WRONG_USE
    except StepRefused as error:
        sys.stderr.write(f"srun: error: {error}\n")
        return error.code
    except KeyboardInterrupt:
        return INTERRUPTED


def _run(words: Sequence[str]) -> int:
    options, command = read_options(words, SRUN)
    said = {option.name: option.value for option in options}
    if {"help", "usage", "version"} & set(said):
        sys.stdout.write("slurm 22.05.9\n" if "version" in said else HELP)
        return 0
    if "het-group" in said or ":" in command:
        raise StepRefused("heterogeneous steps (--het-group) are not known here", WRONG_USE)
    if not command:
        raise StepRefused("No command given to execute.", WRONG_USE)
    path = os.environ.get(ALLOCATION)
    if not path or not os.path.exists(path):
        return _run_job(options, command)
    _take_name()
    return RunningStep(read_allocation(path), step_options(said, command, os.environ)).run()


def step_options(said: Mapping[str, str], command: Sequence[str], variables: Mapping[str, str]) -> StepOptions:
    """How the step runs. Options win over `SRUN_*` and `SLURM_*` variables."""
    said = {**_variable_options(variables), **said}
    return StepOptions(
        command=tuple(command),
        programs=_read(command[0]) if "multi-prog" in said else None,
        name=said.get("job-name") or os.path.basename(command[0]),
        request=step_request(said),
        variables=exported(said.get("export", ""), variables),
        folder=os.path.join(os.getcwd(), said.get("chdir", "")),
        output=said.get("output", ""),
        error=said.get("error", ""),
        append=said.get("open-mode", "").startswith("a"),
        label="label" in said,
        unbuffered="unbuffered" in said,
        kill_on_bad_exit=said.get("kill-on-bad-exit", "0") != "0",
        has_terminal="pty" in said and os.isatty(0),
        readers=StepReaders(option=said.get("input", ALL)),
        quiet="quiet" in said,
    )


def step_request(said: Mapping[str, str]) -> StepRequest:
    """What the step asks of its allocation."""
    per_task = _gpus(said, "gpus-per-task")
    bound = said.get("gpu-bind", "").partition(":")
    if per_task is None and bound[0] == "per_task" and bound[2].isdecimal():
        per_task = max(int(bound[2]), 1)
    elif per_task is None and bound[0] == "single" and bound[2] == "1":
        per_task = 1  # with more tasks to a GPU, all see all GPUs of their node
    gres = said.get("gres", "")
    per_node = _gpus(said, "gpus-per-node")
    if gres:
        per_node = sum(_count(part) for part in gres.split(",") if part.split(":")[0].removeprefix("gres/") == "gpu")
    tasks = _number(said, "ntasks")
    if "pty" in said:
        tasks = tasks or 1
    return StepRequest(
        tasks=tasks,
        nodes=_number(said, "nodes"),
        tasks_per_node=_number(said, "ntasks-per-node"),
        cpus_per_task=_number(said, "cpus-per-task") or 1,
        gpus_per_task=per_task,
        gpus_per_node=per_node,
        gpus=_gpus(said, "gpus"),
        node_list=_node_names(said.get("nodelist", "")),
        exclude=_node_names(said.get("exclude", "")),
        overlap="overlap" in said,
    )


def exported(export: str, variables: Mapping[str, str]) -> dict[str, str]:
    """The variables that go along, as `--export` says."""
    named: dict[str, str] = {}
    is_all = not export
    for part in export.split(","):
        name, equals, value = part.partition("=")
        is_all = is_all or part == "ALL"
        if equals:
            named[name] = value
        elif name in variables:
            named[name] = variables[name]
    kept = ("PATH", "HOME", "USER", "LANG", "PYTHONPATH")
    base = {name: value for name, value in variables.items() if is_all or name in kept or name.startswith("SLURM")}
    return {name: value for name, value in {**base, **named}.items() if not name.startswith("MUSTER_")}


def _variable_options(variables: Mapping[str, str]) -> dict[str, str]:
    """Options in variables. Sizes of the job are in its allocation, and so not among them."""
    names = {"SRUN_CPUS_PER_TASK": "cpus-per-task", "SLURM_KILL_BAD_EXIT": "kill-on-bad-exit"}
    names |= {"SLURM_OPEN_MODE": "open-mode", "SRUN_EXPORT_ENV": "export", "SLURM_STDOUTMODE": "output"}
    names |= {"SLURM_STDERRMODE": "error", "SLURM_STDINMODE": "input", "SLURM_GPU_BIND": "gpu-bind"}
    return {name: variables[variable] for variable, name in names.items() if variable in variables} | (
        {"label": ""} if variables.get("SLURM_LABELIO", "0") not in ("", "0") else {}
    )


def _number(said: Mapping[str, str], name: str) -> int | None:
    if name not in said:
        return None
    text = said[name].partition("-")[0]
    if not text.isdecimal() or int(text) < 1:
        raise StepRefused(f'Invalid numeric value "{said[name]}" for --{name}.', WRONG_USE)
    return int(text)


def _gpus(said: Mapping[str, str], name: str) -> int | None:
    return _count(f"gpu:{said[name]}") if name in said else None


def _count(gres: str) -> int:
    """The number in `gpu`, `gpu:2` or `gpu:h100:2`."""
    last = gres.rsplit(":", maxsplit=1)[-1]
    if last.isdecimal():
        return int(last)
    return 0 if last == "none" else 1


def _node_names(text: str) -> tuple[str, ...]:
    if not text:
        return ()
    from muster.formats.text.ranges import comma_separated, node_names  # noqa: PLC0415

    return tuple(name for word in comma_separated(text) for name in node_names(word))


def _read(path: str) -> str:
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except (OSError, UnicodeDecodeError) as error:
        raise StepRefused(f"Configuration file {path} cannot be read: {error}", WRONG_USE) from None


def _take_name() -> None:
    """Be called `srun` among processes, so that the first worker recognises it."""
    with open("/proc/self/comm", "w") as file:
        file.write("srun")


def _run_job(options: Sequence[Option], command: Sequence[str]) -> int:
    from muster.slurm.srun_job import run_job  # noqa: PLC0415 (it loads the client)

    return run_job(options, command)
