"""Which jobs ran where on the busiest day: nodes from top to bottom, each stint a bar in its team's colour."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from muster.model.ids import NodeName, natural
from muster.sim.report.blocks import Chart, Panel, Panels, Section
from muster.sim.report.charts.axes import axis, layout, row_axis
from muster.sim.report.charts.lanes import Bar, bars
from muster.sim.report.figures.busiest_day import HOUR_MS, Window, busiest_day
from muster.sim.report.figures.contender import MS_PER_S, Contender, candidate
from muster.sim.report.figures.wording import count_text, decimal_text, duration_text, gpus_text, percent_text
from muster.sim.report.sections.groups import team_names
from muster.sim.report.sections.timelines import DAY_MS

BARS_SHOWN = 4_000
"""A browser draws this many without delay. With more, the page becomes slow and bars too small to see."""
NODES_SHOWN = 100
TEAM_COLOURS = 9
OTHER_TEAMS = "var(--team-other)"

_ROW_FILLED = 0.9
"""The part of a row that the lanes of a node take."""
_NODE_PX = 11


def gantt(contenders: Sequence[Contender]) -> Section:
    """The section on the busiest day, one panel for each policy."""
    window = busiest_day([each.replay for each in contenders])
    teams = team_names((each for contender in contenders for each in contender.outcomes), most=TEAM_COLOURS)
    judged = candidate(contenders)
    panels = [
        Panel(label=each.label, blocks=(_chart(place, each, window, teams),), is_first=each is judged)
        for place, each in enumerate(contenders)
    ]
    return Section(
        key="gantt",
        title="The busiest day",
        lead=(
            f"The 24 hours from day {decimal_text(window.start_ms / DAY_MS)} of the trace, in which most GPU time was "
            "waited for under all policies together. Each node is a row, divided into its GPUs."
        ),
        blocks=(Panels(key="gantt", panels=panels),),
    )


def _chart(place: int, contender: Contender, window: Window, teams: Mapping[str, str]) -> Chart:
    every = bars(contender.outcomes, window)
    shown = _bounded(every)
    nodes = sorted({each.node for each in shown}, key=natural)
    return Chart(
        key=f"gantt-{place}",
        title=f"Jobs on nodes under {contender.label}, coloured by team",
        note=_note(every, shown),
        data=_traces(shown, nodes, window, teams),
        layout=layout(
            xaxis=axis("Hours into the day", range=[0, 24], dtick=2, ticksuffix=" h"),
            yaxis=_node_axis(nodes),
        ),
        height_px=max(320, 150 + _NODE_PX * len(nodes)),
        wide=True,
    )


def _bounded(every: Sequence[Bar]) -> list[Bar]:
    """The bars that are drawn: the largest bars of the busiest nodes."""
    covered: Counter[NodeName] = Counter()
    for bar in every:
        covered[bar.node] += bar.area
    ranked = sorted(covered, key=lambda node: (-covered[node], natural(node)))
    kept = frozenset(ranked[:NODES_SHOWN])
    on_kept = [bar for bar in every if bar.node in kept]
    if len(on_kept) <= BARS_SHOWN:
        return on_kept
    largest = sorted(range(len(on_kept)), key=lambda place: (-on_kept[place].area, place))[:BARS_SHOWN]
    return [on_kept[place] for place in sorted(largest)]


def _note(every: Sequence[Bar], shown: Sequence[Bar]) -> str:
    if not every:
        return "Nothing ran on that day."
    if len(shown) == len(every):
        return f"All {count_text(len(every), 'bar')} are shown."
    covered = sum(each.area for each in shown) / max(1, sum(each.area for each in every))
    nodes = len({each.node for each in every})
    where = f" on the {NODES_SHOWN} busiest of {count_text(nodes)} nodes" if nodes > NODES_SHOWN else ""
    return (
        f"The largest {count_text(len(shown))} of {count_text(len(every), 'bar')}{where}, with "
        f"{percent_text(covered)} of the GPU time of the day: more would be too small to see and slow to draw."
    )


def _node_axis(nodes: Sequence[NodeName]) -> dict[str, Any]:
    every = max(1, len(nodes) // 25)
    names = [str(node) if place % every == 0 else "" for place, node in enumerate(nodes)]
    return row_axis(names) | {"tickfont": {"size": 11}}


def _traces(
    shown: Sequence[Bar], nodes: Sequence[NodeName], window: Window, teams: Mapping[str, str]
) -> list[dict[str, Any]]:
    rows = {node: place for place, node in enumerate(nodes)}
    # One scale for all nodes, so that a row that is not full shows a node that was not fully used.
    height = _ROW_FILLED / max((bar.lane + bar.lanes for bar in shown), default=1)
    by_team: dict[str, list[Bar]] = {}
    for bar in shown:
        by_team.setdefault(teams[str(bar.outcome.job.team)], []).append(bar)
    names = list(dict.fromkeys(teams.values()))
    return [
        _trace(name, _colour(place), by_team[name], rows, height, window)
        for place, name in enumerate(names)
        if name in by_team
    ]


def _colour(place: int) -> str:
    return f"var(--team-{place})" if place < TEAM_COLOURS else OTHER_TEAMS


def _trace(
    name: str,
    colour: str,
    found: Sequence[Bar],
    rows: Mapping[NodeName, int],
    height: float,
    window: Window,
) -> dict[str, Any]:
    tops = [rows[bar.node] - _ROW_FILLED / 2 + bar.lane * height for bar in found]
    widths = [bar.lanes * height for bar in found]
    return {
        "type": "bar",
        "name": name,
        "base": [_hours(bar.start_ms - window.start_ms) for bar in found],
        "x": [_hours(bar.end_ms - bar.start_ms) for bar in found],
        "y": [round(top + width / 2, 4) for top, width in zip(tops, widths, strict=True)],
        "width": [round(width, 4) for width in widths],
        "marker": {"color": colour, "line": {"color": "var(--page)", "width": 0.3}},
        "hovertext": [_hover(bar) for bar in found],
    }


def _hover(bar: Bar) -> str:
    job = bar.outcome.job
    waited_ms = bar.outcome.first_wait_ms or 0
    ran_s = (bar.stint.end_ms - bar.stint.start_ms) / MS_PER_S
    lines = [
        f"{job.id} ({job.team})",
        f"{gpus_text(job.gpus)} on {count_text(len(set(bar.stint.nodes)), 'node')}, here {bar.node}",
        f"waited {duration_text(waited_ms / MS_PER_S)}, ran {duration_text(ran_s)} at a stretch",
    ]
    if bar.outcome.preemptions:
        lines.append(f"preempted {count_text(bar.outcome.preemptions, 'time')}")
    return "\n".join(lines)


def _hours(length_ms: int) -> float:
    return round(length_ms / HOUR_MS, 4)
