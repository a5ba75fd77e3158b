"""Every GPU as a cell with the letter of what uses it, so that the map can be read without colours too.

A letter stays with its job, team or tier as long as it runs: a map whose letters move cannot be watched.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from string import ascii_letters

from muster.cli.drawing.state_words import node_style
from muster.cli.drawing.wording import amount, count
from muster.cli.terminal.text import Text
from muster.cli.top.glance import Glance
from muster.cli.top.utilisation import OUT_OF_USE, gpus_in_use, usage_bar
from muster.client.answers import Job, Node
from muster.model.node import NodeState
from muster.model.printable import one_line

LETTERS = "".join(sorted(ascii_letters.replace("x", ""), key=lambda each: (each.islower(), each)))
"""Without the sign of a bad GPU in plain ASCII."""
COLOURS = ("blue", "green", "cyan", "magenta", "yellow", "bright_blue", "bright_green", "bright_cyan", "bright_magenta")
"""Red is for trouble."""
GAP = 3
NAME_CELLS = 24
"""A longer name of a node or a domain is cut."""
_SIGNS = {
    "free": ("·", ".", "dim"),
    "other": ("■", "#", ""),
    "bad": ("×", "x", "red"),
    "out": ("░", "-", "dim"),
    "strange": ("?", "?", "magenta"),
}


class Paint(StrEnum):
    """What the letters stand for."""

    JOB = "job"
    TEAM = "team"
    TIER = "tier"

    def of(self, job: Job) -> str:
        """What a job counts as."""
        return {Paint.JOB: job.id, Paint.TEAM: job.team, Paint.TIER: job.tier}[self]


Letters = Mapping[str, str]
"""The letter of each job, team or tier. What has no letter is drawn as a block."""


def letters(wanted: Iterable[str], before: Letters) -> dict[str, str]:
    """A letter for each. What had one keeps it, and the others get those that are free, as far as they go."""
    names = list(dict.fromkeys(wanted))
    kept = {name: before[name] for name in names if name in before}
    taken = set(kept.values())
    free = iter([letter for letter in LETTERS if letter not in taken])
    return kept | dict(zip([name for name in names if name not in kept], free, strict=False))


def painted(glance: Glance, paint: Paint, before: Letters) -> dict[str, str]:
    """The letters of all that runs."""
    return letters((paint.of(job) for job in glance.running), before)


def letter_style(letter: str) -> str:
    """The colour of a letter: always the same."""
    return f"bold {COLOURS[LETTERS.index(letter) % len(COLOURS)]}"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Seats:
    """Who is on which GPU."""

    by_gpu: Mapping[tuple[str, int], str]
    by_job: Mapping[str, str]

    @classmethod
    def of(cls, glance: Glance, paint: Paint, known: Letters) -> "_Seats":
        by_gpu, by_job = {}, {}
        for job in glance.running:
            letter = known.get(paint.of(job), "")
            by_job[job.id] = letter
            for worker in job.workers:
                by_gpu.update({(worker.node, gpu): letter for gpu in worker.gpus})
        return cls(by_gpu=by_gpu, by_job=by_job)

    def unplaced(self, node: Node) -> str:
        """The letter for GPUs in use whose job is not known: a list of jobs does not place the tasks of an array."""
        arrays = {job.partition(".")[0] for job in node.jobs if job not in self.by_job}
        return self.by_job.get(arrays.pop(), "") if len(arrays) == 1 else ""


def gpu_map(
    glance: Glance, known: Letters, *, paint: Paint = Paint.JOB, width: int, rows: int | None = None, plain: bool
) -> list[Text]:
    """The nodes by their place, every GPU a cell.

    Where that takes more than `rows` lines, places are not named, and if that is not enough, they are summed up.
    """
    places = _places(glance.nodes)
    # Thousands of nodes are not drawn cell by cell to find out that they do not fit.
    if rows is None or sum(node.gpus for node in glance.nodes) <= rows * width:
        seats = _Seats.of(glance, paint, known)
        cells = {place: [_node(node, seats, plain=plain) for node in nodes] for place, nodes in places.items()}
        headed: list[Text] = []
        for place, drawn in cells.items():
            headed += [*([Text(place, style="dim")] if place else []), *_flow(drawn, width)]
        flowing = _flow([cell for drawn in cells.values() for cell in drawn], width)
        fitting = [lines for lines in (headed, flowing) if rows is None or len(lines) <= rows]
        if fitting:
            return fitting[0]
    return _sums(glance, places, width=width, rows=rows or len(places), plain=plain)


def _sums(glance: Glance, places: dict[str, list[Node]], *, width: int, rows: int, plain: bool) -> list[Text]:
    sums = [_summed_up(place, nodes, width=width, plain=plain) for place, nodes in _coarser(glance, places, rows)]
    return sums if len(sums) <= rows else [*sums[: rows - 1], Text(f"… and {len(sums) - rows + 1} more", style="dim")]


def legend(known: Letters) -> Text:
    """What the letters of teams and tiers stand for."""
    parts = [Text.assemble((letter, letter_style(letter)), f" {one_line(name)}") for name, letter in known.items()]
    return Text("  ").join(parts)


def _places(nodes: Sequence[Node]) -> dict[str, list[Node]]:
    """Nodes by pool, where there are several, and by their innermost domain."""
    several = len({node.pool for node in nodes}) > 1
    found: dict[str, list[Node]] = {}
    for node in nodes:
        named = ([node.pool] if several else []) + ["/".join(node.domains.values())]
        found.setdefault(one_line(" ".join(filter(None, named))), []).append(node)
    return found


def _coarser(glance: Glance, places: dict[str, list[Node]], rows: int) -> list[tuple[str, list[Node]]]:
    if 1 < len(places) <= rows:
        return list(places.items())
    pools = sorted({node.pool for node in glance.nodes})
    return [(one_line(pool), [node for node in glance.nodes if node.pool == pool]) for pool in pools]


def _summed_up(place: str, nodes: Sequence[Node], *, width: int, plain: bool) -> Text:
    used, total = gpus_in_use(nodes)
    name = Text(place)
    name.truncate(min(NAME_CELLS, width // 3), overflow="ellipsis", pad=True)
    bar = usage_bar(used, total, cells=max(8, width // 4), plain=plain)
    out = sum(node.state != NodeState.READY for node in nodes)
    trouble = f", {out} not ready" if out else ""
    return name.append(" ").append_text(bar).append(f" {amount(used)}/{total}  {count(len(nodes), 'node')}{trouble}")


def _node(node: Node, seats: _Seats, *, plain: bool) -> Text:
    name = Text(one_line(node.name), style=node_style(node.state) if node.state != NodeState.READY else "")
    name.truncate(NAME_CELLS, overflow="ellipsis")
    return name.append(" ").append_text(gpu_cells(node, seats, plain=plain))


def gpu_cells(node: Node, seats: _Seats, *, plain: bool) -> Text:
    """One character for each GPU of a node."""
    text = Text()
    unseen = max(0, round(node.used.gpus + 0.499) - sum((node.name, gpu) in seats.by_gpu for gpu in range(node.gpus)))
    letter_of_unseen = seats.unplaced(node)
    for gpu in range(node.gpus):
        letter = seats.by_gpu.get((node.name, gpu))
        kind = _condition(node, gpu)
        if letter is None and not kind and unseen:
            letter, unseen = letter_of_unseen, unseen - 1
        if letter:
            text.append(letter, style=letter_style(letter))
        else:
            sign = _SIGNS[kind or ("other" if letter is not None else "free")]
            text.append(sign[1 if plain else 0], style=sign[2])
    return text


def _condition(node: Node, gpu: int) -> str:
    """Why nothing of ours can be on a GPU; empty when something can."""
    if gpu in node.bad_gpus:
        return "bad"
    if gpu in node.quarantined_gpus:
        return "strange"
    return "out" if node.state in OUT_OF_USE else ""


def _flow(cells: Sequence[Text], width: int) -> list[Text]:
    """The cells side by side in columns of the same width."""
    if not cells:
        return []
    widest = max(cell.cell_len for cell in cells)
    columns = max(1, (width + GAP) // (widest + GAP))
    lines = []
    for start in range(0, len(cells), columns):
        row = [cell.copy() for cell in cells[start : start + columns]]
        for cell in row[:-1]:
            cell.pad_right(widest - cell.cell_len)
        lines.append(Text(" " * GAP).join(row))
    return lines
