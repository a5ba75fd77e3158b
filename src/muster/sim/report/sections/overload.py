"""Lasting overload: what the load was and when, which jobs wait under which policy, and what would fix it."""

from collections.abc import Mapping, Sequence
from typing import Any

from muster.model.resources import GPU_MILLI
from muster.sim.overload import Overload
from muster.sim.overload_figures import worst_first
from muster.sim.report.blocks import Block, Chart, Prose, Section, Table, TableCell
from muster.sim.report.charts.axes import axis, day_axis, layout
from muster.sim.report.figures.contender import MS_PER_S, Contender
from muster.sim.report.figures.overload_words import TITLE, overload_statements
from muster.sim.report.figures.wording import DAY_S, count_text, duration_text, gpus_text, percent_text

TEAMS_SHOWN = 12
DAY_MS = DAY_S * MS_PER_S

_LEAD = (
    "For days jobs asked for more GPUs than there are, or than their team may use. Demand counts every job from its "
    "submission for as long as it runs; nodes count as always up. What cannot run at once piles up as a backlog."
)


def overload(contenders: Sequence[Contender]) -> Section | None:
    """The section; None if there was no lasting overload."""
    told = [each for each in contenders if each.replay.overloads and each.summary.get("overload")]
    if not told:
        return None
    figures = told[0].summary["overload"]
    waits = [(each.label, each.summary["overload"]["waits"]) for each in told]
    blocks: list[Block] = [
        Prose(statements=overload_statements(figures, waits)),
        _chart(worst_first(told[0].replay.overloads)[0]),
        _policy_table(waits),
    ]
    blocks += [
        _group_table(waits, key, title)
        for key, title in (("by_tier", "tier"), ("by_team", "team"))
        if _several(waits, key)
    ]
    return Section(key="overload", title=TITLE, lead=_LEAD, blocks=blocks)


def _chart(found: Overload) -> Chart:
    days = [round(each.at_ms / DAY_MS, 4) for each in found.curve]
    demand = [round(each.demand_milli / GPU_MILLI, 1) for each in found.curve]
    behind = [float(f"{each.behind_ms / DAY_MS:.4g}") for each in found.curve]
    capacity = found.capacity_milli / GPU_MILLI
    behind_texts = [f"{duration_text(each.behind_ms / MS_PER_S)} behind" for each in found.curve]
    return Chart(
        key="overload",
        title=f"GPUs asked for (above, with {gpus_text(capacity)} dotted) and days of work piled up (below)",
        data=[
            _line("asked for", days, demand, [f"{gpus_text(round(each))} asked for" for each in demand])
            | {"line": {"color": "var(--text)", "width": 1.6, "shape": "hv"}},
            _line("backlog", days, behind, behind_texts)
            | {"yaxis": "y2", "fill": "tozeroy", "line": {"color": "var(--warn)", "width": 1.6}},
        ],
        layout=layout(
            xaxis=day_axis(days[-1]),
            yaxis=axis("GPUs", domain=[0.54, 1], rangemode="tozero"),
            yaxis2=axis("Days of work", domain=[0, 0.46], rangemode="tozero"),
            hovermode="x unified",
            shapes=[_border(capacity, days[-1])],
        ),
        height_px=420,
        wide=True,
    )


def _line(name: str, days: Sequence[float], values: Sequence[float], texts: Sequence[str]) -> dict[str, Any]:
    return {"type": "scatter", "mode": "lines", "name": name, "x": days, "y": values, "hovertext": texts}


def _border(gpus: float, last_day: float) -> dict[str, Any]:
    line = {"color": "var(--muted)", "width": 1.4, "dash": "dot"}
    return {"type": "line", "x0": 0, "x1": last_day, "y0": gpus, "y1": gpus, "yref": "y", "line": line}


def _policy_table(waits: Sequence[tuple[str, Mapping[str, Any]]]) -> Table:
    return Table(
        title="Jobs that wait long, by policy",
        headings=("", "Wait > 24 h", "> 24 h longer than in order", "Slowdown > 10"),
        rows=[
            [TableCell(text=label), *(_count(each, name) for name in ("long", "beyond_fifo", "slowed"))]
            for label, each in waits
        ],
        note=(
            "The second column compares with what the backlog would have cost the job if all jobs were served in the "
            "order of submission and no GPU stayed idle. Slowdown: submission to end over run time; runs of less than "
            "10 min count as 10 min."
        ),
    )


def _group_table(waits: Sequence[tuple[str, Mapping[str, Any]]], key: str, what: str) -> Table:
    """The groups in which most jobs wait long under all policies together."""
    groups = waits[0][1][key]
    total = {name: sum(each[key].get(name, {}).get("long", 0) for _, each in waits) for name in groups}
    ranked = sorted(groups, key=lambda name: (-total[name], name))[:TEAMS_SHOWN]
    left_out = len(groups) - len(ranked)
    return Table(
        title=f"Jobs that wait more than 24 h in all, by {what}",
        headings=(what.capitalize(), *(label for label, _ in waits)),
        rows=[
            [TableCell(text=name), *(_count(each[key].get(name, {"jobs": 0, "long": 0}), "long") for _, each in waits)]
            for name in ranked
        ],
        note=f"{count_text(left_out, what)} with fewer such jobs left out." if left_out else "",
        wide=False,
    )


def _count(counts: Mapping[str, int], name: str) -> TableCell:
    share = counts[name] / counts["jobs"] if counts["jobs"] else None
    return TableCell(text=count_text(counts[name]), detail=percent_text(share))


def _several(waits: Sequence[tuple[str, Mapping[str, Any]]], key: str) -> bool:
    return len(waits[0][1][key]) > 1
