"""Percentiles of several groups under several policies in one picture: a bar from p10 to p90, the median, the p99."""

from collections.abc import Mapping, Sequence
from typing import Any

from muster.sim.report.blocks import Chart
from muster.sim.report.charts.axes import drawn_s, duration_axis, layout, row_axis
from muster.sim.report.figures.contender import Contender
from muster.sim.report.figures.quantiles import Spread, spread
from muster.sim.report.figures.wording import count_text, duration_text

LEGEND = "Bar: p10 to p90. Large mark in it: median. Small mark: p99, open where the form allows."

_BAND = 0.72
"""The part of a row that its bars take."""
_ROW_PX, _NARROW_ROW_PX = 22, 16
_FEW = 6
_FRAME_PX = 110

Groups = Mapping[str, Sequence[Sequence[float]]]
"""Sorted numbers of each group, one sequence for each policy."""


def range_chart(
    groups: Groups, contenders: Sequence[Contender], *, key: str, title: str, unit: str, wide: bool = False
) -> Chart:
    """The groups from top to bottom, and in each row the policies from top to bottom."""
    spreads = {name: [spread(each) for each in numbers] for name, numbers in groups.items()}
    drawn = [value for row in spreads.values() for each in row if each for value in (each.p10, each.p99)]
    rows = [f"{name}\n{count_text(_jobs(each), 'job')}" for name, each in spreads.items()]
    data = []
    for place, contender in enumerate(contenders):
        offset = row_offset(place, len(contenders))
        shown = [(row + offset, name, each[place]) for row, (name, each) in enumerate(spreads.items())]
        data += _traces(contender, [(y, name, found) for y, name, found in shown if found])
    rows_px = (_ROW_PX if len(groups) <= _FEW else _NARROW_ROW_PX) * max(2, len(contenders)) * len(groups)
    return Chart(
        key=key,
        title=title,
        note=LEGEND,
        data=data,
        layout=layout(xaxis=duration_axis(unit, drawn), yaxis=row_axis(rows)),
        height_px=max(320, _FRAME_PX + rows_px),
        wide=wide,
    )


def _jobs(found: Sequence[Spread | None]) -> int:
    return max((each.count for each in found if each), default=0)


def row_offset(place: int, places: int) -> float:
    """Where in a row one of several policies is drawn, from the middle of the row."""
    return round(_BAND * ((place + 0.5) / places - 0.5), 4)


def _traces(contender: Contender, shown: Sequence[tuple[float, str, Spread]]) -> list[dict[str, Any]]:
    common = {"type": "scatter", "legendgroup": contender.label, "name": contender.label}
    hover = [_hover(contender, name, found) for _, name, found in shown]
    ys = [y for y, _, _ in shown]
    bars: dict[str, Any] = {
        "mode": "lines",
        "x": [x for _, _, found in shown for x in (drawn_s(found.p10), drawn_s(found.p90), None)],
        "y": [y for each in ys for y in (each, each, None)],
        "line": {"color": contender.colour, "width": 9},
        "opacity": 0.4,
        "showlegend": False,
    }
    median: dict[str, Any] = {
        "mode": "markers",
        "x": [drawn_s(found.p50) for _, _, found in shown],
        "y": ys,
        "marker": {"color": contender.colour, "symbol": contender.symbol, "size": 11},
        "hovertext": hover,
    }
    tail: dict[str, Any] = {
        "mode": "markers",
        "x": [drawn_s(found.p99) for _, _, found in shown],
        "y": ys,
        "marker": {"color": contender.colour, "size": 9, "symbol": f"{contender.symbol}-open", "line": {"width": 2}},
        "hovertext": hover,
        "showlegend": False,
    }
    return [common | each for each in (bars, median, tail)]


def _hover(contender: Contender, name: str, found: Spread) -> str:
    figures = ((label, duration_text(getattr(found, label))) for label in ("p10", "p50", "p90", "p99"))
    lines = [f"{contender.label}, {name}: {count_text(found.count, 'job')}"]
    return "\n".join(lines + [f"{label} {text}" for label, text in figures])
