"""One job in full: whose it is, its state, what happened when, where its workers are, and what it runs."""

import io
from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import groupby

import yaml
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table

from muster.cli.drawing.job_list import dependency_name, outcome, tasks_text
from muster.cli.drawing.reasons import effect_texts
from muster.cli.drawing.state_words import cause_text, job_state
from muster.cli.drawing.table import TextTable
from muster.cli.drawing.wording import amount, between, count, duration, gpu_hours, moment, ranks
from muster.cli.terminal.screen import is_plain
from muster.cli.terminal.text import Text
from muster.client.answers import Job, Worker
from muster.model.printable import one_line

SLOW_SHOWN = 8
"""How many slow ranks are listed; the others are counted."""

WORKERS_SHOWN = 32
LINE_CHARS = 76
Line = tuple[str, str]


def job_card(job: Job, console: Console, present: datetime) -> RenderableType:
    """Everything about a job that fits on a screen."""
    parts: list[RenderableType] = [_headline(job, console), _lines(job, present)]
    if job.admission:
        parts += [Text(), Text("Admission", style="bold")]
        parts += [_indented(each) for each in effect_texts(job.admission)]
    if job.workers:
        parts += [Text(), Text("Workers", style="bold"), _indented(_workers(job.workers))]
    parts += [Text(), Text("Job file", style="bold"), _indented(Text(job_text(job.spec)))]
    return Group(*parts)


def job_text(spec: dict[str, object]) -> str:
    """A job file as a person would write it: a line for each key, with short values beside it."""
    stream = io.StringIO()
    dumper = _Dumper(stream, allow_unicode=True, default_flow_style=None, width=LINE_CHARS, sort_keys=False)
    dumper.open()
    node = dumper.represent_data(spec)
    if isinstance(node, yaml.CollectionNode):
        node.flow_style = False
    dumper.serialize(node)
    dumper.close()
    return stream.getvalue().rstrip()


class _Dumper(yaml.SafeDumper):
    """Writes text of several lines as a YAML block."""


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.Node:
    style = "|" if "\n" in text else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _text)


def _headline(job: Job, console: Console) -> Text:
    ended = outcome(job) if job.is_final else ""
    name = (f"  {one_line(job.name)}", "") if job.name != job.id else ("", "")
    state = job_state(job.state, plain=is_plain(console))
    return Text.assemble((job.id, "bold"), name, "  ", state, (f"  {ended}" if ended else "", "dim"))


def _lines(job: Job, present: datetime) -> Table:
    made = Table.grid(padding=(0, 2, 0, 0))
    made.add_column(style="dim", no_wrap=True)
    made.add_column()
    for name, value in (
        *_who(job),
        *_from(job.spec),
        *_when(job, present),
        *_how_far(job, present),
        *_what(job, present),
    ):
        made.add_row(f"  {name}", one_line(value))
    return made


def _who(job: Job) -> Iterator[Line]:
    yield "team", f"{job.team}, submitted by {job.user}" if job.user else job.team
    yield "tier", f"{job.tier}, priority {job.priority}"
    if job.array is not None:
        yield "task", f"{job.array.index} of {job.array.parent}"
    if job.tasks:
        yield "tasks", tasks_text(job.tasks)
    if job.depends_on:
        yield "after", ", ".join(dependency_name(each) for each in job.depends_on)
    if job.tags:
        yield "tags", ", ".join(f"{key}={value}" for key, value in sorted(job.tags.items()))


def _when(job: Job, present: datetime) -> Iterator[Line]:
    yield "submitted", f"{moment(job.submitted)}  {between(job.submitted, present)} ago"
    begun = job.started or job.first_started
    if begun is not None:
        waited = f"waited {between(job.submitted, job.first_started or begun)}"
        again = f"attempt {job.attempt}; the first {waited}" if job.attempt > 1 else waited
        yield "started", f"{moment(begun)}  {again}"
    if job.ended is not None:
        ran = f"  after {between(begun, job.ended)}" if begun else ""
        yield "ended", f"{moment(job.ended)}{ran}"
    if job.max_duration_s is not None:
        is_running = job.started is not None and not job.is_final
        by = (
            f", until {moment(job.started + timedelta(seconds=job.max_duration_s))}"
            if is_running and job.started
            else ""
        )
        yield "limit", f"{duration(job.max_duration_s)}{by}"
    if job.checkpointed is not None:
        yield "saved", f"{moment(job.checkpointed)}  {between(job.checkpointed, present)} ago"
    if job.saves is not None and not job.is_final:
        yield "saves", f"every {duration(job.saves.every_s)}: {job.saves.because}"
    if job.saves is not None and job.saves.upload_problem:
        yield "upload", f"not in durable storage yet: {job.saves.upload_problem}"


def _from(spec: dict[str, object]) -> Iterator[Line]:
    """What it runs: what was copied when it was submitted, and the image of its containers."""
    bundle = spec.get("bundle")
    if isinstance(bundle, dict):
        commit = f", commit {str(bundle['commit'])[:12]}" if bundle.get("commit") else ", in no git repository"
        changes = " with changes (`muster show --diff`)" if bundle.get("dirty") else ""
        files = count(int(bundle.get("files", 0)), "file")
        yield "code", f"{files} as submitted, bundle {str(bundle.get('id', ''))[:12]}{commit}{changes}"
    if spec.get("profile"):
        yield "profile", str(spec["profile"])
    if spec.get("image"):
        yield "image", str(spec["image"])


def _how_far(job: Job, present: datetime) -> Iterator[Line]:
    progress = job.progress
    if progress is not None:
        times = progress.step_s
        each = f", {amount(_rounded(times.p50))} s each, 1 of 100 over {amount(_rounded(times.p99))} s" if times else ""
        last = f", the last {between(progress.last_step_at, present)} ago" if progress.last_step_at else ""
        yield "step", f"{progress.step}{each}{last}"
    if job.last_output is not None:
        yield "printed", f"{moment(job.last_output)}  {between(job.last_output, present)} ago"
    for slow in job.stragglers[:SLOW_SHOWN]:
        devices = f", GPU {ranks(slow.gpus)}" if slow.gpus else ""
        usual = f"; its node usually {amount(slow.usual)}" if slow.usual else ""
        since = f"for {between(slow.since, present)}"
        yield (
            "slow",
            f"rank {slow.rank} on {slow.node}{devices}: {amount(slow.slowdown)} times the others {since}{usual}",
        )
    if len(job.stragglers) > SLOW_SHOWN:
        yield "", f"and {count(len(job.stragglers) - SLOW_SHOWN, 'more slow rank')}"
    if job.hang is not None:
        who = f"rank {ranks(job.hang.ranks)}"
        yield "hangs", f"for {between(job.hang.since, present)}, after step {job.hang.step}: {who}; see `muster stacks`"


def _rounded(seconds: float) -> float:
    """Three digits are enough for people."""
    return float(f"{seconds:.3g}")


def _what(job: Job, _: datetime) -> Iterator[Line]:
    if job.gpus or job.gpu_seconds:
        yield "GPUs", f"{amount(job.gpus)}, {gpu_hours(job.gpu_seconds)} used"
    if job.no_larger:
        yield "size", f"{count(len(job.workers), 'worker')}, no more: {job.no_larger}"
    faults = (
        (job.retries, "retry", "retries"),
        (job.preemptions, "preemption", ""),
        (job.node_failures, "node failure", ""),
    )
    told = ", ".join(count(number, noun, plural) for number, noun, plural in faults if number)
    if told:
        yield "faults", told
    if job.reason and not job.is_final:
        yield "last", f"ended by {cause_text(job.reason)}" + (f": {job.problem}" if job.problem else "")
    if job.held:
        yield "held", "does not start until released"


def _workers(workers: tuple[Worker, ...]) -> RenderableType:
    """One line for each run of workers with the same node, role and share."""
    made = TextTable("rank", "role", "node", "GPUs")
    groups = [list(group) for _, group in groupby(workers, key=lambda each: (each.node, each.role, each.share))]
    for group in groups[:WORKERS_SHOWN]:
        first = group[0]
        devices = ranks({gpu for each in group for gpu in each.gpus})
        share = f" ({amount(first.share)} of it)" if first.share is not None else ""
        made.add_row(ranks(each.rank for each in group), first.role, first.node, f"{devices}{share}" or "none")
    more = len(groups) - WORKERS_SHOWN
    return Group(made, Text(f"… and {count(more, 'more line')}", style="dim")) if more > 0 else made


def _indented(body: RenderableType) -> Padding:
    return Padding(body, (0, 0, 0, 2), expand=False)
