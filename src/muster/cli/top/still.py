"""The screen of `muster top` as text: one picture, for a pipe, a demo, or a terminal that should not change."""

from rich.console import Console, Group, RenderableType
from rich.padding import Padding

from muster.cli.terminal.screen import is_plain
from muster.cli.terminal.text import Text
from muster.cli.top.glance import Glance
from muster.cli.top.gpu_map import Paint, gpu_map, painted
from muster.cli.top.job_rows import job_rows
from muster.cli.top.utilisation import headline, pool_lines, tier_line, title

MAP_ROWS = 64
"""A larger map is summed up."""
ROWS_MIN = 5
"""How many jobs of each kind are shown, even in a low window."""
CHROME_ROWS = 11
"""Headings and empty lines."""


def frame(glance: Glance, console: Console, *, rows: int | None = None) -> RenderableType:
    """One picture. `rows` is how high it may be."""
    plain, width = is_plain(console), console.width
    letters = painted(glance, Paint.JOB, {})
    pools = pool_lines(glance, width=width, plain=plain)
    lines = gpu_map(glance, letters, width=width - 2, rows=MAP_ROWS, plain=plain)
    head = [title(glance), headline(glance, width=width, plain=plain), *pools]
    parts: list[RenderableType] = [*head, tier_line(glance), Text(), *(_indented(line) for line in lines)]
    left = None if rows is None else max(2 * ROWS_MIN, rows - CHROME_ROWS - len(lines) - len(pools))
    running, waiting = glance.running, glance.waiting
    shown = _shared(len(running), len(waiting), left)
    kinds = (("Running", running), ("Waiting", waiting))
    for (name, jobs), total, unlisted, number in zip(kinds, glance.totals, glance.unlisted, shown, strict=True):
        if jobs:
            parts += [Text(), Text.assemble((name, "bold"), (f"  {total}", "dim"))]
            parts.append(_indented(job_rows(jobs[:number], letters, Paint.JOB, console, glance.present)))
        left_out = unlisted + len(jobs) - number
        if left_out:
            parts.append(Text(f"  … and {left_out} more", style="dim"))
    return Group(*parts)


def _shared(running: int, waiting: int, rows: int | None) -> tuple[int, int]:
    """How many jobs of each kind are shown: half the rows each. Rows that one kind does not need go to the other."""
    if rows is None or running + waiting <= rows:
        return running, waiting
    first = min(running, max(rows // 2, rows - waiting))
    return first, rows - first


def _indented(body: RenderableType) -> Padding:
    return Padding(body, (0, 0, 0, 2), expand=False)
