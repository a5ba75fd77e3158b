"""One event as one line: when, about what, and what happened, in words."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from muster.answers.events import kind_of
from muster.cli.drawing.wording import amount, clock, count, gpu_hours, ranks
from muster.cli.terminal.text import Text
from muster.client.answers import Event
from muster.formats.text.ranges import node_ranges
from muster.model.printable import one_line
from muster.model.requests import REQUESTS

_STYLES = {
    "job_submitted": "yellow",
    "job_started": "green",
    "workers_started": "green",
    "checkpoint_saved": "blue",
    "eviction_ordered": "magenta",
    "job_cancel_requested": "magenta",
    "start_failed": "red",
    "dependency_failed": "red",
    "node_lost": "red",
    "node_unreachable": "red",
    "straggler_found": "yellow",
    "hang_found": "red",
}
_REQUESTED = {kind_of(request.__name__): request.words.done for request in REQUESTS}
_TOLD_ELSEWHERE = frozenset({"version", "at", "kind", "job", "team", "user", "by"})
VALUE_CHARS = 60
SUBJECT_CHARS = 10

Document = Mapping[str, Any]


def event_line(event: Event, present: datetime) -> Text:
    """`14:02:11    1042  job-7       started on n[1-2], attempt 1`."""
    subject = str(event.job or event.document.get("node") or "")
    exit_code = event.document.get("exit_code")
    style = _STYLES.get(event.kind, "red" if exit_code else "")
    line = Text.assemble(
        (f"{clock(event.at, present)}  {event.version:>6}  ", "dim"),
        (f"{one_line(subject):<{SUBJECT_CHARS}}", "bold"),
        "  ",
        (one_line(event_text(event)), style),
    )
    line.no_wrap, line.overflow = True, "ellipsis"
    return line


def event_text(event: Event) -> str:
    """What happened, in words. An event of an unknown kind shows what it holds."""
    said = event.document
    by = f" by {said['by']}" if said.get("by") else ""
    match event.kind:
        case "job_submitted":
            held = ", held" if said.get("held") else ""
            gpus = count_gpus(said.get("gpus"))
            return f"submitted{by}: {said.get('name')}, {said.get('tier')}, {gpus}{held}"
        case "job_updated":
            return f"changed{by}: {_pairs(said.get('changes') or {})}"
        case kind if kind in _REQUESTED:
            return _REQUESTED[kind] + by
        case "job_started" | "resize_ordered" | "eviction_ordered" | "gang_adopted":
            return _decided(event.kind, said)
        case "workers_started" | "workers_exited" | "start_failed" | "checkpoint_saved" | "image_pulled":
            return _reported(event.kind, said)
        case "straggler_found" | "straggler_gone" | "hang_found" | "hang_over":
            return _judged(event.kind, said)
        case "dependency_met" | "dependency_failed":
            how = "ended as it had to" if event.kind == "dependency_met" else "did not end as it had to"
            return f"{said.get('dependency')} {how}"
        case "holds_set" | "spares_set" | "rules_changed" | "cluster_changed":
            return _of_cluster(event.kind, said, by)
        case "node_changed" | "node_unreachable" | "node_returned" | "node_lost" | "gangs_found" | "runtime_found":
            return _of_cluster(event.kind, said, by)
        case _:
            return _otherwise(event.kind, said)


def _decided(kind: str, said: Document) -> str:
    workers = said.get("workers") or []
    nodes = node_ranges(str(each.get("node")) for each in workers if isinstance(each, dict))
    match kind:
        case "job_started":
            attempt = said.get("attempt")
            return f"starts on {nodes}" + (f", attempt {attempt}" if attempt not in (None, 1) else "")
        case "resize_ordered" | "gang_adopted":
            return f"goes on with {count(len(workers), 'worker')} on {nodes}"
        case _:
            lost = said.get("lost_gpu_s") or 0
            return f"must leave ({said.get('why')}), loses {gpu_hours(lost)}"


def _reported(kind: str, said: Document) -> str:
    numbers = [each for each in said.get("ranks") or [] if isinstance(each, int)]
    who = f"worker{'s' if len(numbers) != 1 else ''} {ranks(numbers)}"
    match kind:
        case "workers_started":
            return f"{who} running"
        case "workers_exited":
            return f"{who} exited with code {said.get('exit_code')}{_how(said)}"
        case "image_pulled":
            return f"pulled {said.get('image')} on {said.get('node')} in {amount(said.get('took_s') or 0)} s"
        case "start_failed":
            return f"{who} could not start" + (f": {_short(str(said['message']))}" if said.get("message") else "")
        case _:
            cost = said.get("cost_s")
            return "saved itself" + (f" in {amount(cost)} s" if cost else "")


def _judged(kind: str, said: Document) -> str:
    match kind:
        case "straggler_found":
            times = f"takes {amount(said.get('slowdown') or 0)} times as long as others"
            return f"rank {said.get('rank')} on {said.get('node')} {times}"
        case "straggler_gone":
            return f"rank {said.get('rank')} keeps up again"
        case "hang_found":
            numbers = [each for each in said.get("ranks") or [] if isinstance(each, int)]
            who = f", waits for rank {ranks(numbers)}" if said.get("nodes") else ""
            return f"stands still after step {said.get('step')}{who}"
        case _:
            return "makes steps again"


def _how(said: Document) -> str:
    """Why workers are gone, as far as their node knows."""
    reasons = (("oom", ", out of memory"), ("timed_out", ", at the end of its time"), ("told", ", as told"))
    return next((words for name, words in reasons if said.get(name)), "")


def _of_cluster(kind: str, said: Document, by: str) -> str:
    because = f": {said['because']}" if said.get("because") else ""
    match kind:
        case "node_changed":
            return f"{said.get('state')}{by}{because}"
        case "node_unreachable":
            return f"cannot be reached{because}"
        case "node_returned":
            return f"is back{because}"
        case "node_lost":
            return f"lost{because}"
        case "gangs_found":
            gangs = said.get("gangs") or []
            return f"runs {_plain(gangs)}" if gangs else "runs nothing"
        case "runtime_found":
            return f"runs images with {said['runtime']}" if said.get("runtime") else "has no container runtime"
        case "holds_set":
            number = int(said.get("holds") or 0)
            return f"{count(number, 'start')} promised" if number else "no start is promised"
        case "spares_set":
            nodes = [str(name) for name in said.get("spares") or []]
            return f"kept as spares: {node_ranges(nodes)}" if nodes else "no node is kept as a spare"
        case "cluster_changed":
            return f"the cluster has {count(int(said.get('nodes') or 0), 'node')}{by}"
        case _:
            return f"quotas, tiers, pools or policy changed{by}"


def _otherwise(kind: str, said: Document) -> str:
    told = {key: value for key, value in said.items() if key not in _TOLD_ELSEWHERE}
    return kind.replace("_", " ") + (f": {_pairs(told)}" if told else "")


def count_gpus(number: Any) -> str:
    """`1 GPU`, `0.25 GPUs`."""
    return (
        f"{amount(number)} {'GPU' if number == 1 else 'GPUs'}"
        if number and isinstance(number, int | float)
        else "no GPU"
    )


def _pairs(entries: Document) -> str:
    given = ((key, value) for key, value in entries.items() if value not in (None, "", [], {}))
    return _short(", ".join(f"{key.replace('_', ' ')} {_plain(value)}" for key, value in given))


def _plain(value: Any) -> str:
    if isinstance(value, dict):
        return " ".join(f"{key}={each}" for key, each in value.items())
    return " ".join(map(str, value)) if isinstance(value, list) else str(value)


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= VALUE_CHARS else f"{line[: VALUE_CHARS - 1]}…"
