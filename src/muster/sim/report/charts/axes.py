"""Axes and layouts that all charts share: durations on a log scale, days of the trace, per cent."""

import math
from collections.abc import Iterable, Sequence
from typing import Any

from muster.sim.report.figures.wording import DAY_S, HOUR_S, MINUTE_S, decimal_text

SHORTEST_S = 1.0
"""A log scale has no zero, so shorter durations are drawn here."""

_TICKS_S = (
    (1, "1 s"),
    (MINUTE_S, "1 min"),
    (HOUR_S, "1 h"),
    (DAY_S, "1 d"),
    (10, "10 s"),
    (10 * MINUTE_S, "10 min"),
    (6 * HOUR_S, "6 h"),
    (7 * DAY_S, "7 d"),
    (30 * DAY_S, "30 d"),
    (180 * DAY_S, "180 d"),
    (1_800 * DAY_S, "1,800 d"),
    *((count * MINUTE_S, f"{count} min") for count in (30, 2, 5, 20)),
    *((count * HOUR_S, f"{count} h") for count in (2, 12, 3, 4)),
    *((count * DAY_S, f"{count} d") for count in (3, 2, 14, 60)),
    *((count, f"{count} s") for count in (30, 5, 2, 3, 20, 40)),
    *((count * MINUTE_S, f"{count} min") for count in (3, 15, 40, 4, 8)),
    *((count * HOUR_S, f"{count} h") for count in (8, 16, 5, 20)),
    *((count * DAY_S, f"{count} d") for count in (5, 20, 4, 10, 90, 120, 360, 720)),
)
"""In the order of importance. Where there is no room for all, the page leaves out the last ones."""
_LEAST_SPAN = 0.7
"""In powers of ten: wide enough for two ticks at any position."""


def drawn_s(seconds: float) -> float:
    """Where a duration is drawn on a log scale, to four digits."""
    return float(f"{max(SHORTEST_S, seconds):.4g}")


def layout(**parts: Any) -> dict[str, Any]:
    """The layout of one chart. If nothing else is said, pointing at a chart finds the closest point."""
    return {"hovermode": "closest"} | parts


def axis(title: str = "", **parts: Any) -> dict[str, Any]:
    """A plain axis with subtle lines."""
    return {"title": {"text": title}} | parts


def duration_axis(title: str, values_s: Iterable[float], **parts: Any) -> dict[str, Any]:
    """A log axis of durations that covers all the values."""
    drawn = [drawn_s(each) for each in values_s] or [SHORTEST_S, HOUR_S]
    low, high = math.log10(min(drawn)), math.log10(max(drawn))
    room = max(0.05, (high - low) * 0.03, (_LEAST_SPAN - (high - low)) / 2)
    return axis(
        title,
        type="log",
        range=[round(low - room, 3), round(high + room, 3)],
        tickvals=[value for value, _ in _TICKS_S],
        ticktext=[text for _, text in _TICKS_S],
        **parts,
    )


def day_axis(days: float, **parts: Any) -> dict[str, Any]:
    """An axis of days since the trace began, up to `days`."""
    bounds = [0, round(days, 4) or 1]
    return axis("Days since the trace began", range=bounds, hoverprefix="day ", **parts)


def percent_axis(title: str, **parts: Any) -> dict[str, Any]:
    """An axis of shares of one."""
    return axis(title, tickformat=".0%", **parts)


def row_axis(names: Sequence[str], **parts: Any) -> dict[str, Any]:
    """Names from top to bottom at whole numbers, so that marks can be drawn between them."""
    return axis(
        tickvals=list(range(len(names))),
        ticktext=list(names),
        range=[len(names) - 0.5, -0.5],
        showgrid=False,
        **parts,
    )


def day_text(days: float) -> str:
    """A moment of the trace."""
    return f"day {decimal_text(days)}"
