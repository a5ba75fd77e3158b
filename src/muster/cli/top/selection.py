"""What is said of the selected job or node: why and when it starts, what it prints, or what runs there."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from rich.console import Console, Group, RenderableType

from muster.cli.drawing.job_list import details, tasks_text
from muster.cli.drawing.reasons import why_text
from muster.cli.drawing.state_words import node_style
from muster.cli.drawing.wording import amount, size
from muster.cli.terminal.text import Text
from muster.client.answers import Job, Node, Why
from muster.model.errors import NotFound
from muster.model.job import OCCUPYING_STATES
from muster.model.printable import one_line, printable

if TYPE_CHECKING:
    from muster.client import Client

LOG_BYTES = 64 * 1024
"""How much of the end of a log is fetched."""
LOG_LINES = 500
LINE_CHARS = 1_000
_COLOURS = re.compile("\x1b\\[[0-9;]*m")


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """A job, and which of its logs."""

    job: str
    is_running: bool
    is_array: bool = False
    rank: int = 0

    @property
    def shows_log(self) -> bool:
        """True when what it prints is shown, and not why it waits."""
        return self.is_running and not self.is_array


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What the server said of a selection."""

    selection: Selection
    why: Why | None = None
    log: bytes | None = None
    """The end of what the worker printed; None before it printed anything."""


def selected(job: Job, rank: int) -> Selection:
    """The selection of a job."""
    ranks = [worker.rank for worker in job.workers]
    return Selection(
        job=job.id,
        is_running=job.state in OCCUPYING_STATES,
        is_array=job.tasks is not None,
        rank=rank if rank in ranks else min(ranks, default=0),
    )


def ask(client: "Client", selection: Selection) -> Told:
    """The end of the log of a running job; why and when, of any other and of an array."""
    if not selection.shows_log:
        return Told(selection=selection, why=client.why(selection.job))
    try:
        pieces = list(client.logs(selection.job, rank=selection.rank, offset=-LOG_BYTES, limit=LOG_BYTES))
    except NotFound:
        pieces = []
    return Told(selection=selection, log=b"".join(piece.text for piece in pieces) or None)


def told_text(told: Told, job: Job, console: Console, present: datetime) -> RenderableType:
    """What the server said, for people."""
    if told.why is not None:
        tasks = [Text(f"  tasks: {tasks_text(job.tasks)}")] if job.tasks else []
        return Group(why_text(told.why, console, present), *tasks)
    if told.log is None:
        return Text("it has printed nothing yet", style="dim")
    return Text("\n").join(log_lines(told.log))


def log_lines(log: bytes) -> list[Text]:
    """The last lines of a log. Colours are left out, and of a line that was written over, only its last state stays."""
    text = _COLOURS.sub("", log.decode("utf-8", "replace")).replace("\r\n", "\n")
    lines = text.removesuffix("\n").split("\n")[-LOG_LINES:]
    return [Text(printable(line.rstrip("\r").rpartition("\r")[2][:LINE_CHARS])) for line in lines]


def job_title(job: Job, rank: int) -> Text:
    """Which job is selected, and what is shown of it."""
    more = details(job)
    where = f"  {more}" if more else ""
    many = f" of {len(job.workers)}" if len(job.workers) > 1 else ""
    runs = job.state in OCCUPYING_STATES
    what = "  why it waits" if not runs else "  its tasks" if job.tasks else f"  log of rank {rank}{many}"
    named = f"  {one_line(job.name)}  {one_line(job.team)}, {one_line(job.tier)}{where}"
    return Text.assemble((job.id, "bold"), (what, "cyan"), named)


def node_text(node: Node) -> RenderableType:
    """What there is to know about a node."""
    return Group(*_node_lines(node))


def _node_lines(node: Node) -> Iterator[Text]:
    because = f": {one_line(node.because)}" if node.because and node.because != node.state else ""
    yield Text.assemble((one_line(node.name), "bold"), "  ", (node.state, node_style(node.state)), because)
    cpus = f"{amount(node.used.cpus)} of {amount(node.cpus)} CPUs" if node.cpus is not None else "CPUs not counted"
    known = node.memory_bytes is not None
    memory = f"{size(node.used.memory_bytes)} of {size(node.memory_bytes or 0)}" if known else "memory not counted"
    gpus = f"{amount(node.used.gpus)} of {node.gpus} GPUs{f' ({one_line(node.gpu_type)})' if node.gpu_type else ''}"
    yield Text(f"in use: {gpus}, {cpus}, {memory}")
    if node.bad_gpus:
        yield Text(f"bad GPUs: {', '.join(map(str, node.bad_gpus))}", style="red")
    if node.labels:
        yield Text(f"labels: {one_line(' '.join(node.labels))}")
    if node.reservations:
        yield Text(f"reserved: {one_line(' '.join(node.reservations))}")
    yield Text(f"jobs: {' '.join(node.jobs)}" if node.jobs else "no job of yours runs here", style="dim")
