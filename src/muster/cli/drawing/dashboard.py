"""The cluster on one screen: how full it is, node by node, what runs and what waits."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from rich.columns import Columns
from rich.console import Console, Group, RenderableType
from rich.padding import Padding

from muster.cli.drawing.job_list import job_list
from muster.cli.drawing.node_list import gpu_blocks
from muster.cli.drawing.state_words import node_style
from muster.cli.drawing.wording import amount, between, clock, count
from muster.cli.terminal.screen import is_plain
from muster.cli.terminal.text import Text
from muster.client.answers import Job, Node
from muster.model.job import OCCUPYING_STATES
from muster.model.node import NodeState

NODES_DRAWN = 64
"""More nodes are summed up by pool."""
ROWS_MIN = 5
"""How many jobs of each kind are shown, even in a low window."""
CHROME_ROWS = 10
"""Headings and empty lines."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Glance:
    """What the server said at one moment."""

    url: str
    present: datetime
    nodes: Sequence[Node]
    jobs: Sequence[Job]
    """Not necessarily all of them. `queue` counts them all."""
    queue: Mapping[str, Any] = field(default_factory=dict)


def frame(glance: Glance, console: Console, *, rows: int | None = None) -> RenderableType:
    """One picture. `rows` is how high it may be."""
    running = [job for job in glance.jobs if job.state in OCCUPYING_STATES]
    waiting = [job for job in glance.jobs if job.state not in OCCUPYING_STATES and not job.is_final]
    waiting.sort(key=lambda job: job.submitted or glance.present)
    totals = {
        "Running": glance.queue.get("running", len(running)),
        "Waiting": glance.queue.get("waiting", len(waiting)),
    }
    nodes = _nodes(glance.nodes, console)
    left = None if rows is None else max(2 * ROWS_MIN, rows - CHROME_ROWS - len(console.render_lines(nodes)))
    shown = _shared(len(running), len(waiting), left)
    parts: list[RenderableType] = [_headline(glance, *totals.values(), console=console), Text(), nodes]
    for title, jobs, number in (("Running", running, shown[0]), ("Waiting", waiting, shown[1])):
        if jobs:
            parts += [Text(), Text.assemble((title, "bold"), (f"  {totals[title]}", "dim"))]
            parts.append(_indented(job_list(jobs[:number], console, glance.present)))
        if jobs and totals[title] > number:
            parts.append(Text(f"  … and {totals[title] - number} more", style="dim"))
    if not glance.jobs:
        parts += [Text(), Text("nothing waits or runs", style="dim")]
    return Group(*parts)


def usage_bar(used: float, total: float, *, cells: int, plain: bool) -> Text:
    """How much of something is in use."""
    full = min(cells, round(cells * used / total)) if total else 0
    style = "green" if used < 0.8 * total else "yellow" if used < 0.95 * total else "red"
    return Text.assemble((("#" if plain else "█") * full, style), (("." if plain else "░") * (cells - full), "dim"))


def _headline(glance: Glance, running: int, waiting: int, *, console: Console) -> Text:
    usable = [
        node for node in glance.nodes if node.state not in (NodeState.DRAINED, NodeState.PROBATION, NodeState.DOWN)
    ]
    used = sum(node.used.gpus for node in glance.nodes)
    total = sum(node.gpus - len(node.bad_gpus) for node in usable)
    bar = usage_bar(used, total, cells=max(10, min(40, console.width // 4)), plain=is_plain(console))
    share = f" ({100 * used / total:.0f} %)" if total else ""
    since = glance.queue.get("oldest")
    oldest = f" (up to {between(datetime.fromisoformat(since), glance.present)})" if since else ""
    return Text.assemble(
        ("muster", "bold"),
        (f"  {glance.url}  {clock(glance.present, glance.present)}\n", "dim"),
        bar,
        f"  {amount(used)} of {total} GPUs{share}, {running} run, {waiting} wait{oldest}",
    )


def _nodes(nodes: Sequence[Node], console: Console) -> RenderableType:
    plain = is_plain(console)
    if len(nodes) > NODES_DRAWN:
        return _indented(Group(*(_pool(name, nodes, console) for name in sorted({node.pool for node in nodes}))))
    cells = [
        Text.assemble((node.name, node_style(node.state) if node.state != NodeState.READY else ""), " ").append_text(
            gpu_blocks(node, plain=plain)
        )
        for node in nodes
    ]
    return _indented(Columns(cells, padding=(0, 3), equal=True))


def _pool(name: str, nodes: Sequence[Node], console: Console) -> Text:
    members = [node for node in nodes if node.pool == name]
    used, total = sum(node.used.gpus for node in members), sum(node.gpus for node in members)
    bar = usage_bar(used, total, cells=max(10, console.width // 3), plain=is_plain(console))
    out = sum(node.state != NodeState.READY for node in members)
    trouble = f", {out} not ready" if out else ""
    return Text.assemble(
        (f"{name:<10} ", "bold"), bar, f"  {amount(used)}/{total}  {count(len(members), 'node')}{trouble}"
    )


def _shared(running: int, waiting: int, rows: int | None) -> tuple[int, int]:
    """How many jobs of each kind are shown: half the rows each. Rows that one kind does not need go to the other."""
    if rows is None or running + waiting <= rows:
        return running, waiting
    first = min(running, max(rows // 2, rows - waiting))
    return first, rows - first


def _indented(body: RenderableType) -> Padding:
    return Padding(body, (0, 0, 0, 2), expand=False)
