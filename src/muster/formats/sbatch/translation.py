"""Options of a batch script -> parts of a job: what each becomes, and why some become nothing.

What depends on several options, such as how many workers there are, is worked out in `sbatch_file`.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from muster.formats.sbatch import amounts
from muster.formats.sbatch.options import BadOption, Option
from muster.formats.text.units import BadValue, memory_value
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


@dataclass(slots=True)
class Draft:
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
        """Set a key of the job, and the line that it comes from."""
        self.job[key] = value
        self.lines[key] = line

    def note(self, line: int, text: str) -> None:
        """Say what was not taken over, and what happens instead."""
        self.notes.append(Note(line=line, text=text))


def take(draft: Draft, option: Option) -> None:
    """Take one option over, or note that it is ignored."""
    taking = _TAKEN.get(option.name)
    if taking is None:
        why = _IGNORED.get(option.name, "it is not known here")
        draft.note(option.line, f"--{option.name} is ignored: {why}")
        return
    try:
        taking(draft, option)
    except BadOption:
        raise
    except BadValue as error:
        raise BadOption(option.line, option.name, error.problem, error.hint) from None


def _take_name(draft: Draft, option: Option) -> None:
    name = job_name(option.value)
    if name != option.value:
        draft.note(option.line, f"the name {option.value!r} becomes {name!r}: a-z, 0-9 and - are allowed")
    draft.put("name", name, option.line)


def _take_nodes(draft: Draft, option: Option) -> None:
    draft.nodes, is_range = amounts.fewest(option.value)
    draft.lines["workers"] = option.line
    if is_range:
        draft.note(
            option.line, f"--nodes={option.value}: {draft.nodes} are asked for; an elastic job has workers: 2..4"
        )


def _take_tasks(draft: Draft, option: Option) -> None:
    draft.tasks = amounts.whole(option.value)
    draft.lines["workers"] = option.line


def _take_tasks_per_node(draft: Draft, option: Option) -> None:
    draft.tasks_per_node = amounts.whole(option.value)
    draft.lines["workers"] = option.line


def _take_gpus(per: str) -> Callable[[Draft, Option], None]:
    def take(draft: Draft, option: Option) -> None:
        _put_gpus(draft, option, per, amounts.gpus(option.value))

    return take


def _take_gres(draft: Draft, option: Option) -> None:
    found = amounts.gres_gpus(option.value)
    others = [part for part in option.value.split(",") if part.removeprefix("gres/").partition(":")[0] != "gpu"]
    if others:
        draft.note(option.line, f"--gres: {','.join(others)} is ignored: only GPUs are known here")
    if found is not None:
        _put_gpus(draft, option, "node", found)


def _put_gpus(draft: Draft, option: Option, per: str, found: tuple[str, int]) -> None:
    kind, draft.gpus[per] = found
    draft.gpu_type = kind or draft.gpu_type
    draft.lines["resources.gpu"] = option.line


def _take_cpus(draft: Draft, option: Option) -> None:
    draft.job.setdefault("resources", {})["cpus"] = amounts.whole(option.value)
    draft.lines["resources.cpus"] = option.line


def _take_memory(per: str) -> Callable[[Draft, Option], None]:
    def take(draft: Draft, option: Option) -> None:
        size = amounts.memory_bytes(option.value)
        draft.lines["resources.memory"] = option.line
        if size == 0:
            draft.note(option.line, "--mem=0 is ignored: say how much memory a worker needs, or nothing")
        else:
            draft.memory[per] = size

    return take


def _take_disk(draft: Draft, option: Option) -> None:
    draft.job.setdefault("resources", {})["disk"] = memory_value(amounts.memory_bytes(option.value))
    draft.lines["resources.disk"] = option.line


def _take_time(draft: Draft, option: Option) -> None:
    limit = amounts.time_limit(option.value)
    if limit is None:
        draft.note(option.line, "--time without a limit: the limit of the tier holds")
    else:
        draft.put("max_duration", limit, option.line)


def _take_dependency(draft: Draft, option: Option) -> None:
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


def _take_partition(draft: Draft, option: Option) -> None:
    named = [part for part in option.value.split(",") if part in draft.tiers]
    if named:
        draft.put("tier", draft.tiers[named[0]], option.line)
    else:
        draft.note(
            option.line, f"--{option.name}={option.value} is ignored: --tier-of {option.value}=TIER names a tier"
        )


def _take_export(draft: Draft, option: Option) -> None:
    variables: dict[str, str | None] = {}
    for part in option.value.split(","):
        name, equals, value = part.partition("=")
        if name == "ALL" and not equals:
            draft.note(option.line, "--export=ALL is ignored: only variables that are named go along")
        elif name not in ("NONE", "NIL", "") or equals:
            variables[name] = value if equals else None
    if variables:
        draft.put("env", variables, option.line)


def _take_no_requeue(draft: Draft, option: Option) -> None:
    draft.put("preemptible", False, option.line)
    draft.note(option.line, "--no-requeue: it is not preempted, but started again after faults of the infrastructure")


def _take_comment(draft: Draft, option: Option) -> None:
    draft.put("tags", {"comment": option.value}, option.line)


def _take_hold(draft: Draft, _: Option) -> None:
    draft.held = True


def _as_it_is(key: str) -> Callable[[Draft, Option], None]:
    def take(draft: Draft, option: Option) -> None:
        draft.put(key, option.value, option.line)

    return take


_TAKEN: dict[str, Callable[[Draft, Option], None]] = {
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


def job_name(text: str) -> str:
    """The text, changed so that it may be the name of a job."""
    return re.sub(r"[^a-z0-9-]+", "-", text.lower()).strip("-")[:JOB_NAME_CHARS] or "job"
