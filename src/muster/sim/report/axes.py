"""Axes and layouts that all charts share: lengths of time on a log scale, days of the trace, per cent."""

import math
from collections.abc import Iterable, Sequence
from typing import Any

from muster.sim.report.wording import DAY_S, HOUR_S, MINUTE_S, decimal_text

SHORTEST_S = 1.0
"""A log scale has no place for zero: what is shorter is drawn here."""

_TICKS_S = (
    (1, "1 s"),
    (10, "10 s"),
    (MINUTE_S, "1 min"),
    (10 * MINUTE_S, "10 min"),
    (HOUR_S, "1 h"),
    (6 * HOUR_S, "6 h"),
    (DAY_S, "1 d"),
    (7 * DAY_S, "7 d"),
    (30 * DAY_S, "30 d"),
    (180 * DAY_S, "180 d"),
    (1_800 * DAY_S, "1,800 d"),
)


def drawn_s(seconds: float) -> float:
    """Where a length of time is drawn on a log scale, to four figures."""
    return float(f"{max(SHORTEST_S, seconds):.4g}")


def layout(**parts: Any) -> dict[str, Any]:
    """What every chart has in common, and what one has of its own."""
    common = {
        "font": {"family": "system-ui, sans-serif", "size": 13, "color": "var(--text)"},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "margin": {"l": 64, "r": 16, "t": 8, "b": 52},
        "hoverlabel": {
            "align": "left",
            "bgcolor": "var(--raised)",
            "bordercolor": "var(--rule)",
            "font": {"color": "var(--text)"},
        },
        "modebar": {"bgcolor": "rgba(0,0,0,0)", "color": "var(--muted)", "activecolor": "var(--text)"},
        "legend": {"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom", "font": {"size": 13}},
        "hovermode": "closest",
    }
    return common | parts


def axis(title: str = "", **parts: Any) -> dict[str, Any]:
    """A plain axis with quiet lines."""
    common = {
        "title": {"text": title, "font": {"size": 13}, "standoff": 10},
        "gridcolor": "var(--grid)",
        "linecolor": "var(--rule)",
        "zeroline": False,
        "tickangle": 0,
        "automargin": True,
    }
    return common | parts


def duration_axis(title: str, values_s: Iterable[float], **parts: Any) -> dict[str, Any]:
    """A log axis of lengths of time that holds all the values."""
    drawn = [drawn_s(each) for each in values_s] or [SHORTEST_S, HOUR_S]
    low, high = math.log10(min(drawn)), math.log10(max(drawn))
    room = max(0.05, (high - low) * 0.03)
    return axis(
        title,
        type="log",
        range=[round(low - room, 3), round(high + room, 3)],
        tickvals=[value for value, _ in _TICKS_S],
        ticktext=[text for _, text in _TICKS_S],
        **parts,
    )


def day_axis(title: str = "Time since the trace began", **parts: Any) -> dict[str, Any]:
    """An axis of days."""
    return axis(title, tickprefix="day ", hoverformat=".2f", **parts)


def percent_axis(title: str, **parts: Any) -> dict[str, Any]:
    """An axis of shares of one."""
    return axis(title, tickformat=".0%", **parts)


def row_axis(names: Sequence[str], **parts: Any) -> dict[str, Any]:
    """Names from top to bottom at whole numbers, so that things can be drawn between them."""
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
