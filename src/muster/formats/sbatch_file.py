"""A batch script with `#SBATCH` lines -> a job file, and a note on everything that could not be taken over.

A task becomes a worker. What Slurm states per node is divided by the tasks of a node, so that a worker gets its part.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any

from muster.formats import sbatch_amounts as amounts
from muster.formats.document import Document, InvalidDocument
from muster.formats.sbatch_options import BadOption, Option, Script, take_apart
from muster.formats.sbatch_script import foreign_words, run_command
from muster.formats.units import BadValue, memory_value
from muster.model.errors import InvalidFile
from muster.model.limits import JOB_NAME_CHARS

_WHEN = {"afterok": "succeeded", "afterany": "finished", "afternotok": "failed", "aftercorr": "succeeded"}

_IGNORED = {
    **dict.fromkeys(("output", "error", "open-mode"), "`muster logs` shows what workers print"),
    **dict.fromkeys(("mail-type", "mail-user"), "nobody is written to"),
    **dict.fromkeys(("nodelist", "exclude", "nodefile"), "Muster chooses the nodes"),
    **dict.fromkeys(("exclusive", "oversubscribe"), "ask for all GPUs of a node to have it alone"),
    **dict.fromkeys(("quiet", "verbose", "parsable", "test-only"), "it is about sbatch itself"),
    **dict.fromkeys(("signal",), "SIGTERM announces the end; `checkpoint.grace` says how long before"),
    "requeue": "jobs are always started again after faults of the infrastructure",
    "wait": "use `muster submit --wait`",
    "begin": "use `--held` and `muster release`",
    "constraint": "put GPU types into resources.gpu_type",
    "reservation": "use a pool or a tier",
    "switches": "use `topology` in a job file",
    "nice": "use `muster update --priority`",
    "distribution": "ranks follow the topology",
    "kill-on-invalid-dep": "a job whose dependency fails is cancelled",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """Something in a script that did not become part of the job, and what happens instead."""

    line: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """A script as a job."""

    file: str
    job: dict[str, Any]
    held: bool
    notes: tuple[Note, ...]
    lines: Mapping[str, int]
    """On which line of the script a key of the job comes from."""

    @property
    def document(self) -> Document:
        """The job as a document that can be read as a job file."""
        return Document(file=self.file, value=self.job)

    def placed(self, error: InvalidDocument) -> InvalidDocument:
        """What is wrong with the job, on the lines of the script."""
        found = [
            InvalidFile(
                file=each.file, path=each.path, problem=each.problem, hint=each.hint, line=self._line(each.path)
            )
            for each in error.errors
        ]
        return InvalidDocument(tuple(found), more=error.more)

    def _line(self, path: str) -> int:
        return next((line for key, line in self.lines.items() if path.startswith(key)), 1)


@dataclass(slots=True)
class _Draft:
    """A job that is being put together."""

    tiers: Mapping[str, str]
    job: dict[str, Any] = field(default_factory=dict)
    lines: dict[str, int] = field(default_factory=dict)
    notes: list[Note] = field(default_factory=list)
    held: bool = False
    nodes: int | None = None
    tasks: int | None = None
    tasks_per_node: int | None = None
    gpu_type: str = ""
    gpus: dict[str, int] = field(default_factory=dict)
    """How many per `job`, `node` or `task`."""
    memory: dict[str, int] = field(default_factory=dict)
    """Bytes per `node`, `cpu` or `gpu`."""

    def put(self, key: str, value: object, line: int) -> None:
        self.job[key] = value
        self.lines[key] = line

    def note(self, line: int, text: str) -> None:
        self.notes.append(Note(line=line, text=text))


def import_sbatch(text: str, *, file: str, tiers: Mapping[str, str] | None = None) -> Imported:
    """The job that a batch script describes. `tiers` says which tier stands for a partition or a QOS."""
    draft = _Draft(tiers=tiers or {})
    try:
        script = take_apart(text)
        for option in script.options:
            _take(draft, option)
        _name(draft, file)
        _size(draft)
        known = _known_variables(draft)
        draft.put("run", _run(script, known), script.body_line)
    except BadOption as error:
        path = f"--{error.name}" if error.name else ""
        wrong = InvalidFile(file=file, line=error.line, path=path, problem=error.problem, hint=error.hint)
        raise InvalidDocument((wrong,)) from None
    for line, note in foreign_words(script, known):
        draft.note(line, note)
    notes = tuple(sorted(draft.notes, key=lambda each: each.line))
    return Imported(file=file, job=draft.job, held=draft.held, notes=notes, lines=draft.lines)


def _run(script: Script, known: Mapping[str, str]) -> str:
    try:
        return run_command(script, known)
    except BadValue as error:
        raise BadOption(1 if script.body.strip() else script.body_line, "", error.problem, error.hint) from None


def _take(draft: _Draft, option: Option) -> None:
    """Take one option over, or note that it is not."""
    take = _TAKEN.get(option.name)
    if take is None:
        why = _IGNORED.get(option.name, "it is not known here")
        draft.note(option.line, f"--{option.name} is ignored: {why}")
        return
    try:
        take(draft, option)
    except BadOption:
        raise
    except BadValue as error:
        raise BadOption(option.line, option.name, error.problem, error.hint) from None


def _take_name(draft: _Draft, option: Option) -> None:
    name = _as_name(option.value)
    if name != option.value:
        draft.note(option.line, f"the name {option.value!r} becomes {name!r}: a-z, 0-9 and - are allowed")
    draft.put("name", name, option.line)


def _take_nodes(draft: _Draft, option: Option) -> None:
    draft.nodes, is_range = amounts.fewest(option.value)
    draft.lines["workers"] = option.line
    if is_range:
        draft.note(
            option.line, f"--nodes={option.value}: {draft.nodes} are asked for; an elastic job has workers: 2..4"
        )


def _take_tasks(draft: _Draft, option: Option) -> None:
    draft.tasks = amounts.whole(option.value)
    draft.lines["workers"] = option.line


def _take_tasks_per_node(draft: _Draft, option: Option) -> None:
    draft.tasks_per_node = amounts.whole(option.value)
    draft.lines["workers"] = option.line


def _take_gpus(per: str) -> Callable[[_Draft, Option], None]:
    def take(draft: _Draft, option: Option) -> None:
        _put_gpus(draft, option, per, amounts.gpus(option.value))

    return take


def _take_gres(draft: _Draft, option: Option) -> None:
    found = amounts.gres_gpus(option.value)
    others = [part for part in option.value.split(",") if part.removeprefix("gres/").partition(":")[0] != "gpu"]
    if others:
        draft.note(option.line, f"--gres: {','.join(others)} is ignored: only GPUs are known here")
    if found is not None:
        _put_gpus(draft, option, "node", found)


def _put_gpus(draft: _Draft, option: Option, per: str, found: tuple[str, int]) -> None:
    kind, draft.gpus[per] = found
    draft.gpu_type = kind or draft.gpu_type
    draft.lines["resources.gpu"] = option.line


def _take_cpus(draft: _Draft, option: Option) -> None:
    draft.job.setdefault("resources", {})["cpus"] = amounts.whole(option.value)
    draft.lines["resources.cpus"] = option.line


def _take_memory(per: str) -> Callable[[_Draft, Option], None]:
    def take(draft: _Draft, option: Option) -> None:
        size = amounts.memory_bytes(option.value)
        draft.lines["resources.memory"] = option.line
        if size == 0:
            draft.note(option.line, "--mem=0 is ignored: say how much memory a worker needs, or nothing")
        else:
            draft.memory[per] = size

    return take


def _take_disk(draft: _Draft, option: Option) -> None:
    draft.job.setdefault("resources", {})["disk"] = memory_value(amounts.memory_bytes(option.value))
    draft.lines["resources.disk"] = option.line


def _take_time(draft: _Draft, option: Option) -> None:
    limit = amounts.time_limit(option.value)
    if limit is None:
        draft.note(option.line, "--time without a limit: the limit of the tier holds")
    else:
        draft.put("max_duration", limit, option.line)


def _take_dependency(draft: _Draft, option: Option) -> None:
    found: list[dict[str, str]] = []
    if "?" in option.value:
        raise BadValue("one of several dependencies is not possible here", "all of them are waited for; use , for ?")
    for part in option.value.split(","):
        kind, _, jobs = part.partition(":")
        if kind not in _WHEN or not jobs:
            draft.note(option.line, f"--dependency={part} is ignored: only {', '.join(_WHEN)} are known here")
            continue
        if kind == "aftercorr":
            draft.note(option.line, "aftercorr: the whole array is waited for, not task by task")
        found += [{"job": job.partition("+")[0], "when": _WHEN[kind]} for job in jobs.split(":")]
    if found:
        draft.put("depends_on", found, option.line)


def _take_partition(draft: _Draft, option: Option) -> None:
    named = [part for part in option.value.split(",") if part in draft.tiers]
    if named:
        draft.put("tier", draft.tiers[named[0]], option.line)
    else:
        draft.note(
            option.line, f"--{option.name}={option.value} is ignored: --tier-of {option.value}=TIER names a tier"
        )


def _take_export(draft: _Draft, option: Option) -> None:
    variables: dict[str, str | None] = {}
    for part in option.value.split(","):
        name, equals, value = part.partition("=")
        if name == "ALL" and not equals:
            draft.note(option.line, "--export=ALL is ignored: only variables that are named go along")
        elif name not in ("NONE", "NIL", "") or equals:
            variables[name] = value if equals else None
    if variables:
        draft.put("env", variables, option.line)


def _take_no_requeue(draft: _Draft, option: Option) -> None:
    draft.put("preemptible", False, option.line)
    draft.note(option.line, "--no-requeue: it is not preempted, but started again after faults of the infrastructure")


def _take_comment(draft: _Draft, option: Option) -> None:
    draft.put("tags", {"comment": option.value}, option.line)


def _take_hold(draft: _Draft, _: Option) -> None:
    draft.held = True


def _as_it_is(key: str) -> Callable[[_Draft, Option], None]:
    def take(draft: _Draft, option: Option) -> None:
        draft.put(key, option.value, option.line)

    return take


_TAKEN: dict[str, Callable[[_Draft, Option], None]] = {
    "job-name": _take_name,
    "nodes": _take_nodes,
    "ntasks": _take_tasks,
    "ntasks-per-node": _take_tasks_per_node,
    "gpus": _take_gpus("job"),
    "gpus-per-node": _take_gpus("node"),
    "gpus-per-task": _take_gpus("task"),
    "gres": _take_gres,
    "cpus-per-task": _take_cpus,
    "mem": _take_memory("node"),
    "mem-per-cpu": _take_memory("cpu"),
    "mem-per-gpu": _take_memory("gpu"),
    "tmp": _take_disk,
    "time": _take_time,
    "array": _as_it_is("array"),
    "dependency": _take_dependency,
    "account": _as_it_is("team"),
    "partition": _take_partition,
    "qos": _take_partition,
    "chdir": _as_it_is("workdir"),
    "export": _take_export,
    "no-requeue": _take_no_requeue,
    "comment": _take_comment,
    "hold": _take_hold,
}


def _name(draft: _Draft, file: str) -> None:
    if "name" not in draft.job:
        draft.put("name", _as_name(PurePath(file).stem), 1)
    draft.job = {"name": draft.job.pop("name"), **draft.job}


def _as_name(text: str) -> str:
    return re.sub(r"[^a-z0-9-]+", "-", text.lower()).strip("-")[:JOB_NAME_CHARS] or "job"


def _size(draft: _Draft) -> None:
    """How many workers, and what each of them gets."""
    nodes = draft.nodes or 1
    per_node = draft.tasks_per_node or (-(-draft.tasks // nodes) if draft.tasks else 1)
    workers = draft.tasks or nodes * per_node
    resources: dict[str, Any] = dict(draft.job.pop("resources", {}))
    gpus = _gpus_of_worker(draft, workers, per_node)
    if gpus:
        resources = {"gpus": gpus, **({"gpu_type": [draft.gpu_type]} if draft.gpu_type else {}), **resources}
    memory = _memory_of_worker(draft, per_node, gpus, resources.get("cpus", 1))
    if memory:
        resources["memory"] = memory_value(memory)
    draft.job["workers"] = workers
    if resources:
        draft.job["resources"] = resources


def _gpus_of_worker(draft: _Draft, workers: int, per_node: int) -> int:
    divisors = {"job": workers, "node": per_node, "task": 1}
    for per, count in draft.gpus.items():
        each, rest = divmod(count, divisors[per])
        if rest:
            problem = f"{count} GPUs do not come out even on {divisors[per]} tasks"
            raise BadOption(draft.lines["resources.gpu"], "gpus", problem, "use --gpus-per-task, or other numbers")
        return each
    return 0


def _memory_of_worker(draft: _Draft, per_node: int, gpus: int, cpus: int) -> int:
    factors = {"cpu": cpus, "gpu": gpus}
    for per, size in draft.memory.items():
        return size // per_node if per == "node" else size * factors[per]
    return 0


def _known_variables(draft: _Draft) -> dict[str, str]:
    """Variables of Slurm whose value the options say."""
    resources = draft.job.get("resources", {})
    nodes = str(draft.nodes or 1)
    return {
        "SLURM_JOB_NAME": draft.job["name"],
        "SLURM_NNODES": nodes,
        "SLURM_JOB_NUM_NODES": nodes,
        **({"SLURM_CPUS_PER_TASK": str(resources["cpus"])} if "cpus" in resources else {}),
        **({"SLURM_GPUS_ON_NODE": str(resources["gpus"])} if "gpus" in resources else {}),
    }
