"""Which jobs are treated unfairly: finish-time fairness ρ of every job, where 1 or less is fair."""

import math
from collections.abc import Sequence
from typing import Any

from muster.sim.fairness import TOLERANCE
from muster.sim.report.blocks import Chart, Section, Table, TableCell
from muster.sim.report.charts.axes import axis, layout, percent_axis
from muster.sim.report.figures.contender import Contender
from muster.sim.report.figures.quantiles import cumulative, percentile
from muster.sim.report.figures.wording import count_text, percent_text, ratio_text

_LEAST = 0.01
"""A log scale has no zero, so smaller values are drawn here."""
_TICKS = [1, 10, 0.1, 0.01, *(10**power for power in range(2, 7)), 2, 0.5, 5, 0.2, 20, 50]
"""In the order of importance, as for durations."""
_TICK_TEXTS = [f"{tick:,g}" for tick in _TICKS]
_LEAD = "ρ is how long a job took over how long it would have taken with its fair share of the cluster to itself. "
_BY_TEAMS = "Shares are divided between the teams that have jobs by weight, and inside a team equally between its jobs."
_BY_JOBS = "Shares are equal for all jobs that are there at the same time."


def fairness(contenders: Sequence[Contender], *, by_teams: bool) -> Section:
    """The section on fairness."""
    return Section(
        key="fairness",
        title="Fairness",
        lead=_LEAD + (_BY_TEAMS if by_teams else _BY_JOBS),
        blocks=(_chart(contenders), _table(contenders)),
    )


def _chart(contenders: Sequence[Contender]) -> Chart:
    return Chart(
        key="rho",
        title="Finish-time fairness: share of jobs with ρ up to a given value",
        data=[_curve(each) for each in contenders],
        layout=layout(
            xaxis=axis(
                "ρ (log scale; above 1 is unfair)",
                type="log",
                range=_bounds(contenders),
                tickvals=_TICKS,
                ticktext=_TICK_TEXTS,
            ),
            yaxis=percent_axis("Jobs", range=[0, 1.02]),
            shapes=[_border()],
        ),
        height_px=400,
    )


def _bounds(contenders: Sequence[Contender]) -> list[float]:
    """The exponents of ten between which all values lie; 1 is always in the range."""
    ends = [max(_LEAST, value) for each in contenders for value in (*each.rhos[:1], *each.rhos[-1:])]
    low, high = math.log10(min(ends, default=1)), math.log10(max(ends, default=1))
    return [round(min(low, -0.1) - 0.05, 3), round(max(high, 0.3) + 0.05, 3)]


def _border() -> dict[str, Any]:
    line = {"color": "var(--muted)", "width": 1, "dash": "dash"}
    return {"type": "line", "x0": 1, "x1": 1, "y0": 0, "y1": 1, "yref": "paper", "line": line}


def _curve(contender: Contender) -> dict[str, Any]:
    values, shares = cumulative(contender.rhos, total=len(contender.rhos))
    return {
        "type": "scatter",
        "mode": "lines",
        "name": contender.label,
        "x": [float(f"{max(_LEAST, each):.4g}") for each in values],
        "y": [round(each, 5) for each in shares],
        "hovertext": f"{contender.label}: {{y:percent}} with ρ up to {{x:ratio}}",
    } | contender.line


def _table(contenders: Sequence[Contender]) -> Table:
    return Table(
        title="Fairness by policy",
        headings=("", "Worst ρ", "Unfair jobs (ρ > 1)", "Median ρ", "p99 ρ"),
        rows=[_row(each) for each in contenders],
        wide=False,
    )


def _row(contender: Contender) -> list[TableCell]:
    unfair = sum(each > 1 + TOLERANCE for each in contender.rhos)
    return [
        TableCell(text=contender.label),
        TableCell(text=ratio_text(contender.figure("rho", "worst"))),
        TableCell(text=percent_text(contender.figure("rho", "unfair_fraction")), detail=count_text(unfair, "job")),
        TableCell(text=ratio_text(percentile(contender.rhos, 50))),
        TableCell(text=ratio_text(percentile(contender.rhos, 99))),
    ]
