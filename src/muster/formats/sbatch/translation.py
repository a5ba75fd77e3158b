"""Options of a batch script -> parts of a job: what each becomes, and why some become nothing.

What depends on several options, such as how many workers there are, is worked out in `layout`.
"""

import re
from collections.abc import Callable
from datetime import UTC, datetime

from muster.formats.sbatch import amounts
from muster.formats.sbatch.draft import Draft
from muster.formats.sbatch.options import BadOption, Option
from muster.formats.text.units import BadValue, memory_value, shown
from muster.model.ids import numbered_job
from muster.model.limits import JOB_NAME_CHARS

BYTES_PER_MB = 2**20

_WHEN = {"afterok": "succeeded", "afterany": "finished", "afternotok": "failed", "aftercorr": "succeeded"}

_IGNORED = {
    "reservation": "use a reservation of `muster reservation`, a pool or a tier",
    "switches": "use `topology` in a job file",
    "nice": "use `muster update --priority`",
    "time-min": "the limit of --time holds",
    "licenses": "licences are not counted here",
    "input": "a batch script reads nothing",
}
"""What changes how a job is scheduled or run, and is not possible here."""

_SILENT = frozenset(
    {"acctg-freq", "bell", "clusters", "contiguous", "core-spec", "cores-per-socket", "cpu-bind", "cpu-freq"}
    | {"distribution", "export-file", "extra-node-info", "get-user-env", "gpu-freq", "gres-flags", "hint"}
    | {"ignore-pbs", "kill-on-invalid-dep", "mail-type", "mail-user", "mem-bind", "no-kill", "ntasks-per-core"}
    | {"ntasks-per-socket", "overcommit", "oversubscribe", "parsable", "priority", "profile", "propagate", "quiet"}
    | {"requeue", "sockets-per-node", "spread-job", "test-only", "threads-per-core", "use-min-nodes", "verbose", "wait"}
    | {"wait-all-nodes", "wckey", "wrap"}
)
"""What makes no difference here, or is about the command itself."""


def take(draft: Draft, option: Option) -> None:
    """Take one option over, or note that it is ignored."""
    taking = _TAKEN.get(option.name)
    if taking is None:
        if option.name not in _SILENT:
            why = _IGNORED.get(option.name, "it has no meaning here")
            draft.note(option.line, f"--{option.name} is ignored: {why}")
        return
    try:
        taking(draft, option)
    except BadOption:
        raise
    except BadValue as error:
        raise BadOption(option.line, option.name, error.problem, error.hint) from None


def _take_name(draft: Draft, option: Option) -> None:
    draft.put("name", job_name(option.value), option.line)
    draft.variables["SLURM_JOB_NAME"] = option.value


def _take_nodes(draft: Draft, option: Option) -> None:
    draft.nodes, is_range = amounts.fewest(option.value)
    draft.lines["workers"] = option.line
    if is_range and option.value != f"{draft.nodes}-{draft.nodes}":
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
        draft.variables[f"SLURM_{option.name.upper().replace('-', '_')}"] = option.value

    return take


def _take_gres(draft: Draft, option: Option) -> None:
    found = amounts.gres_gpus(option.value)
    others = [part for part in option.value.split(",") if part.removeprefix("gres/").partition(":")[0] != "gpu"]
    if others:
        draft.note(option.line, f"--gres: {','.join(others)} is ignored: only GPUs are known here")
    if found is not None:
        _put_gpus(draft, option, "node", found)


def _take_gpu_bind(draft: Draft, option: Option) -> None:
    """It is about steps: `srun` finds it."""
    draft.variables["SLURM_GPU_BIND"] = option.value


def _put_gpus(draft: Draft, option: Option, per: str, found: tuple[str, int]) -> None:
    kind, draft.gpus[per] = found
    draft.gpu_type = kind or draft.gpu_type
    draft.lines["resources.gpu"] = option.line


def _take_cpus(draft: Draft, option: Option) -> None:
    draft.cpus_per_task = amounts.whole(option.value)
    draft.lines["resources.cpus"] = option.line


def _take_cpus_per_gpu(draft: Draft, option: Option) -> None:
    draft.cpus_per_gpu = amounts.whole(option.value)
    draft.variables["SLURM_CPUS_PER_GPU"] = option.value
    draft.lines["resources.cpus"] = option.line


def _take_tasks_per_gpu(draft: Draft, option: Option) -> None:
    draft.note(option.line, "--ntasks-per-gpu is ignored: use --ntasks-per-node")


def _take_memory(per: str) -> Callable[[Draft, Option], None]:
    def take(draft: Draft, option: Option) -> None:
        size = amounts.memory_bytes(option.value)
        draft.lines["resources.memory"] = option.line
        for known in draft.memory:
            draft.variables.pop(f"SLURM_MEM_PER_{known.upper()}", None)
        draft.memory.clear()  # The last of these options counts, whichever it is.
        if size == 0:
            draft.note(option.line, "--mem=0 is ignored: say how much memory a worker needs, or nothing")
        else:
            draft.memory[per] = size
            draft.variables[f"SLURM_MEM_PER_{per.upper()}"] = str(size // BYTES_PER_MB)

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
        if part == "singleton":
            draft.singleton = True
            continue
        if kind not in _WHEN or not jobs:
            raise BadValue(f"{shown(part)} is not possible here", f"{', '.join(_WHEN)} and singleton are known")
        same = {"task": "same"} if kind == "aftercorr" else {}
        found += [{"job": numbered_job(job.partition("+")[0]), "when": _WHEN[kind], **same} for job in jobs.split(":")]
    draft.put("depends_on", found, option.line)


def _take_partition(draft: Draft, option: Option) -> None:
    parts = option.value.split(",")
    named = [part for part in parts if part in draft.tiers]
    pools = draft.pools if option.name == "partition" else None
    unknown = [part for part in parts if pools is not None and part not in pools and part not in draft.tiers]
    if unknown and pools is not None:
        raise BadValue(f"invalid partition specified: {shown(unknown[0])}; there are {', '.join(sorted(pools))}")
    draft.variables["SLURM_JOB_PARTITION" if option.name == "partition" else "SLURM_JOB_QOS"] = option.value
    if named:
        draft.put("tier", draft.tiers[named[0]], option.line)
    elif pools is None:
        draft.note(
            option.line, f"--{option.name}={option.value} is ignored: --tier-of {option.value}=TIER names a tier"
        )


def _take_export(draft: Draft, option: Option) -> None:
    draft.export = option.value
    draft.variables["SLURM_EXPORT_ENV"] = option.value


def _take_output(key: str) -> Callable[[Draft, Option], None]:
    def take(draft: Draft, option: Option) -> None:
        draft.batch[key] = "/dev/null" if option.value == "none" else option.value
        draft.lines[f"batch.{key}"] = option.line

    return take


def _take_open_mode(draft: Draft, option: Option) -> None:
    if option.value[:1] not in ("a", "t"):
        raise BadValue(f"must be append or truncate, not {shown(option.value)}")
    draft.batch["append"] = option.value.startswith("a")


def _take_signal(draft: Draft, option: Option) -> None:
    """`[[R][B]:]USR1[@60]`."""
    *marks, rest = option.value.split(":")
    name, _, before = rest.partition("@")
    if before and not before.isdecimal():
        raise BadValue(f"must be a signal and seconds such as B:USR1@60, not {shown(option.value)}")
    signal = {"name": name, "before": f"{int(before or 60)}s"}
    draft.batch["signal"] = signal | ({"script_only": True} if "B" in "".join(marks).upper() else {})
    draft.lines["batch.signal"] = option.line


def _take_begin(draft: Draft, option: Option) -> None:
    draft.put("begin", amounts.begin(option.value, datetime.now(UTC).astimezone()), option.line)


def _take_exclusive(draft: Draft, option: Option) -> None:
    draft.put("exclusive", True, option.line)


def _take_account(draft: Draft, option: Option) -> None:
    draft.put("team", option.value, option.line)
    draft.variables["SLURM_JOB_ACCOUNT"] = option.value


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
    "gpu-bind": _take_gpu_bind,
    "cpus-per-task": _take_cpus,
    "cpus-per-gpu": _take_cpus_per_gpu,
    "ntasks-per-gpu": _take_tasks_per_gpu,
    "mem": _take_memory("node"),
    "mem-per-cpu": _take_memory("cpu"),
    "mem-per-gpu": _take_memory("gpu"),
    "tmp": _take_disk,
    "time": _take_time,
    "array": _as_it_is("array"),
    "dependency": _take_dependency,
    "account": _take_account,
    "partition": _take_partition,
    "qos": _take_partition,
    "chdir": _as_it_is("workdir"),
    "export": _take_export,
    "output": _take_output("output"),
    "error": _take_output("error"),
    "open-mode": _take_open_mode,
    "signal": _take_signal,
    "constraint": _as_it_is("constraint"),
    "nodelist": _as_it_is("nodelist"),
    "exclude": _as_it_is("exclude"),
    "begin": _take_begin,
    "exclusive": _take_exclusive,
    "no-requeue": _take_no_requeue,
    "comment": _take_comment,
    "hold": _take_hold,
}


def job_name(text: str) -> str:
    """The text, changed so that it may be the name of a job."""
    return re.sub(r"[^a-z0-9-]+", "-", text.lower()).strip("-")[:JOB_NAME_CHARS] or "job"
