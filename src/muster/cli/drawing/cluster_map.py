"""The cluster as a picture: one cell for each GPU, which shows what the plan does with it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum
from itertools import groupby

from rich.console import Console, Group, RenderableType
from rich.table import Table

from muster.cli.terminal.text import Text
from muster.model.ids import JobId
from muster.model.job import Placement, Worker
from muster.model.node import Node, NodeState
from muster.model.plan import Plan
from muster.model.scenario import Scenario

NODES_DRAWN = 96
"""More would not fit on any screen. A larger cluster is summed up by its outermost domains."""
DOMAINS_LISTED = 64


class MapCell(Enum):
    """What happens to one GPU: a sign, the sign in plain ASCII, a colour, and the meaning."""

    FREE = ("·", ".", "dim", "free")
    RUNNING = ("■", "#", "blue", "running")
    SHARED = ("◪", "%", "cyan", "shared")
    STARTING = ("▲", "^", "bold green", "starts now")
    LEAVING = ("▽", "v", "bold red", "must leave")
    HELD = ("◇", "o", "yellow", "promised")
    BAD = ("×", "x", "red", "bad GPU")
    OUT = ("░", "-", "dim", "out")

    def text(self, *, plain: bool) -> Text:
        """The sign, with colour if the terminal can show it."""
        return Text(self.value[1] if plain else self.value[0], style=self.value[2])

    @property
    def meaning(self) -> str:
        """What the legend says."""
        return self.value[3]


@dataclass(slots=True)
class _Drawn:
    """One node with its cells and the jobs on it."""

    node: Node
    cells: list[MapCell]
    jobs: dict[JobId, str] = field(default_factory=dict)
    """Each job with the sign of what happens to it here. Empty for a job that only runs."""


def cluster_map(scenario: Scenario, plan: Plan, console: Console) -> RenderableType:
    """The whole cluster after the plan, in the order of its topology."""
    plain = not console.encoding.lower().startswith("utf")
    drawn = _drawn(scenario, plan, plain=plain)
    if len(drawn) > NODES_DRAWN:
        return _summary(drawn, scenario)
    used = dict.fromkeys(cell for each in drawn for cell in each.cells)
    return Group(
        _picture(drawn, scenario, plain=plain), _legend([cell for cell in MapCell if cell in used], plain=plain)
    )


def tally(scenario: Scenario, plan: Plan) -> dict[MapCell, int]:
    """How many GPUs are in each condition after the plan."""
    counts = dict.fromkeys(MapCell, 0)
    for each in _drawn(scenario, plan, plain=True):
        for cell in each.cells:
            counts[cell] += 1
    return counts


def _drawn(scenario: Scenario, plan: Plan, *, plain: bool) -> list[_Drawn]:
    drawn = {node.name: _Drawn(node=node, cells=_empty_cells(node)) for node in scenario.cluster.nodes}

    def mark(job: JobId, workers: Placement, cell: MapCell | None) -> None:
        for worker in workers:
            _mark(drawn[worker.node], job, worker, cell, plain=plain)

    evicted = {eviction.job for eviction in plan.evictions}
    resized = {resize.job: resize for resize in plan.resizes}
    for job in scenario.running:
        leaves = job.id in evicted or job.leaving_by_ms is not None
        mark(job.id, job.workers, MapCell.LEAVING if leaves else None)
        if job.id in resized:
            after = resized[job.id].workers
            mark(job.id, _without(job.workers, after), MapCell.LEAVING)
            mark(job.id, _without(after, job.workers), MapCell.STARTING)
    for start in plan.starts:
        mark(start.job, start.workers, MapCell.STARTING)
    for promise in plan.promises:
        mark(promise.job, promise.workers, MapCell.HELD)
    return [drawn[node.name] for node in sorted(scenario.cluster.nodes, key=lambda node: node.domains)]


def _without(workers: Placement, others: Placement) -> Placement:
    taken = {(worker.node, worker.gpus) for worker in others}
    return tuple(worker for worker in workers if (worker.node, worker.gpus) not in taken)


def _empty_cells(node: Node) -> list[MapCell]:
    cells = [MapCell.FREE if node.state.takes_work else MapCell.OUT] * node.gpus
    for gpu in node.bad_gpus:
        cells[gpu] = MapCell.BAD
    return cells


def _mark(drawn: _Drawn, job: JobId, worker: Worker, cell: MapCell | None, *, plain: bool) -> None:
    """Draw one worker. A promise does not hide a job that is still there."""
    for gpu in worker.gpus:
        if cell is not MapCell.HELD or drawn.cells[gpu] in (MapCell.FREE, MapCell.BAD, MapCell.OUT):
            drawn.cells[gpu] = cell or (MapCell.SHARED if worker.share_milli is not None else MapCell.RUNNING)
    if cell is None:
        drawn.jobs[job] = ""
    else:
        # An ASCII sign may be a letter, so a colon separates it from the id.
        drawn.jobs[job] = f"{cell.value[1]}:" if plain else cell.value[0]


def _picture(drawn: Sequence[_Drawn], scenario: Scenario, *, plain: bool) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    levels = scenario.cluster.levels
    for level in levels:
        table.add_column(level, no_wrap=True)
    for heading in ("node", "GPUs", "type", "pool"):
        table.add_column(heading, no_wrap=True)
    table.add_column("jobs", ratio=1)
    above: tuple[str, ...] = ()
    for each in drawn:
        cells = Text().join(cell.text(plain=plain) for cell in each.cells)
        names = _names_that_changed(each.node.domains, above)
        table.add_row(*names, each.node.name, cells, each.node.gpu_type, each.node.pool, _jobs(each))
        above = each.node.domains
    return table


def _names_that_changed(domains: tuple[str, ...], above: tuple[str, ...]) -> list[str]:
    """A domain is named once, on its first node."""
    return [name if domains[: place + 1] != above[: place + 1] else "" for place, name in enumerate(domains)]


def _jobs(drawn: _Drawn) -> Text:
    state = [Text(drawn.node.state.value, style="magenta")] if drawn.node.state is not NodeState.READY else []
    jobs = [Text(f"{sign}{job}") for job, sign in drawn.jobs.items()]
    return Text(" ").join([*state, *jobs])


def _legend(cells: Sequence[MapCell], *, plain: bool) -> Text:
    parts = [Text.assemble(cell.text(plain=plain), f" {cell.meaning}") for cell in cells]
    return Text("\n").append_text(Text("   ").join(parts))


def _summary(drawn: Sequence[_Drawn], scenario: Scenario) -> RenderableType:
    """One line for each outermost domain, or for each pool if there is no topology."""
    levels = scenario.cluster.levels
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column(levels[0] if levels else "pool")
    shown = [cell for cell in MapCell if cell is not MapCell.SHARED]
    for heading in ("nodes", "GPUs", *(cell.meaning for cell in shown)):
        table.add_column(heading, justify="right")
    rows = list(_domain_rows(drawn))
    for name, nodes, counts in rows[:DOMAINS_LISTED]:
        counts[MapCell.RUNNING] += counts[MapCell.SHARED]
        total = sum(counts.values()) - counts[MapCell.SHARED]
        table.add_row(name, str(nodes), str(total), *(str(counts[cell] or "") for cell in shown))
    rest = [Text(f"… and {len(rows) - DOMAINS_LISTED} more", style="dim")] if len(rows) > DOMAINS_LISTED else []
    return Group(table, *rest)


def _domain_rows(drawn: Sequence[_Drawn]) -> Iterator[tuple[str, int, dict[MapCell, int]]]:
    def domain(each: _Drawn) -> str:
        return each.node.domains[0] if each.node.domains else each.node.pool

    for name, group in groupby(sorted(drawn, key=domain), key=domain):
        nodes = list(group)
        counts = dict.fromkeys(MapCell, 0)
        for cell in (cell for each in nodes for cell in each.cells):
            counts[cell] += 1
        yield name, len(nodes), counts
