"""The figures of several replays side by side, with the best of each column marked."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import Console
from rich.measure import Measurement
from rich.table import Table

from muster.cli.simulation.overload_text import print_overload
from muster.cli.terminal.screen import is_piped, screen
from muster.cli.terminal.text import Text
from muster.formats.text.units import DURATION_UNITS_MS

PIPED_COLUMNS = 180
"""The width of output that goes to a file or another program."""
BEST = "bold green"
NOTHING = "–"
"""Shown when there is no figure, such as a completion time when no job finished."""

Figures = dict[str, Any]


@dataclass(frozen=True, slots=True)
class _Column:
    heading: str
    value: Callable[[Figures], float | None]
    text: Callable[[float], str]
    prefers: int = -1
    """-1 when less is better, 1 when more is, 0 when neither."""
    rare: bool = False
    """True for a column that is left out if it is zero or missing in every row."""


def duration(seconds: float) -> str:
    """`2d3h`: the two largest units that matter."""
    rest_ms = round(seconds * 1000)
    parts: list[str] = []
    for unit in ("d", "h", "m", "s"):
        count, rest_ms = divmod(rest_ms, DURATION_UNITS_MS[unit])
        if count or parts:
            parts.append(f"{count}{unit}")
    return "".join(parts[:2]) or "0s"


def _percent(part: float) -> str:
    return f"{part:.1%}"


def _count(value: float) -> str:
    return f"{value:,.0f}"


_COLUMNS = (
    _Column("jobs", lambda row: row["jobs"], _count, 0),
    _Column("finished", lambda row: row["finished"], _count, 1),
    _Column("un-\nfinished", lambda row: row["unfinished"], _count),
    _Column("cancelled", lambda row: row.get("cancelled"), _count, 0, rare=True),
    _Column("rejected", lambda row: row["rejected"], _count, 0, rare=True),
    _Column("JCT\nmean", lambda row: row["jct_s"]["mean"], duration),
    _Column("\np50", lambda row: row["jct_s"]["p50"], duration),
    _Column("\np99", lambda row: row["jct_s"]["p99"], duration),
    _Column("wait\nmean", lambda row: row["first_wait_s"]["mean"], duration),
    _Column("\np99", lambda row: row["first_wait_s"]["p99"], duration),
    _Column("makespan", lambda row: row["makespan_s"], duration),
    _Column("GPUs\nused", lambda row: row["utilisation"], _percent, 1),
    _Column("good-\nput", lambda row: row["goodput"], _percent, 1),
    _Column("fragm.", lambda row: row["fragmentation"], _percent),
    _Column("evicted\nper job", lambda row: row["preemptions_per_job"], "{:.3f}".format),
    _Column("GPU time\nlost", lambda row: row["lost_fraction"], "{:.2%}".format),
    _Column("unfair", lambda row: row["rho"]["unfair_fraction"], _percent),
    _Column("worst\nrho", lambda row: row["rho"]["worst"], "{:,.1f}".format),
    _Column("CPU\ns", lambda row: row["cpu_s"], "{:.1f}".format, 0),
)


def print_figures(rows: Sequence[Figures], *, varied: str | None = None, console: Console | None = None) -> None:
    """Print one row for each replay. `varied` names the key that tells replays of one policy apart."""
    console = console or _console()
    wide = _one_row_each(rows, varied)
    fits = Measurement.get(console, console.options.update(width=10_000), wide).maximum <= console.width
    console.print(wide if fits else _one_column_each(rows, varied))
    print_overload(rows, varied, console)


def _one_row_each(rows: Sequence[Figures], varied: str | None) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("policy", no_wrap=True, vertical="bottom")
    if varied is not None:
        table.add_column(varied, justify="right", no_wrap=True)
    columns = _shown(rows)
    for column in columns:
        table.add_column(column.heading, justify="right", no_wrap=True)
    for row in rows:
        name = [row["policy"]] if varied is None else [row["policy"], str(row[varied])]
        table.add_row(*name, *(_cell(column, row, rows) for column in columns))
    return table


def _one_column_each(rows: Sequence[Figures], varied: str | None) -> Table:
    """The same figures for a narrow terminal."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("policy", no_wrap=True, style="dim")
    for row in rows:
        table.add_column(row["policy"], justify="right", no_wrap=True)
    if varied is not None:
        table.add_row(varied, *(str(row[varied]) for row in rows))
    group = ""
    for column in _shown(rows):
        above, _, below = column.heading.rpartition("\n")
        group = above or group if below.startswith("p") else above
        heading = " ".join(part for part in (group, below) if part).replace("- ", "")
        table.add_row(heading, *(_cell(column, row, rows) for row in rows))
    return table


def _cell(column: _Column, row: Figures, rows: Sequence[Figures]) -> Text:
    value = column.value(row)
    if value is None:
        return Text(NOTHING)
    values = [known for known in map(column.value, rows) if known is not None]
    best = max(values) if column.prefers > 0 else min(values)
    is_best = column.prefers != 0 and value == best and min(values) != max(values)
    return Text(column.text(value), style=BEST if is_best else "")


def _shown(rows: Sequence[Figures]) -> list[_Column]:
    return [column for column in _COLUMNS if not column.rare or any(column.value(row) for row in rows)]


def _console() -> Console:
    console = screen()
    if is_piped(console):
        console.width = PIPED_COLUMNS
    return console
