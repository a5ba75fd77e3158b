"""The cluster over time: how much of it is in use, how many jobs wait, and what faults take away."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from muster.model.resources import GPU_MILLI
from muster.sim.outcome import Sample
from muster.sim.report.blocks import Chart, Panel, Panels, Section
from muster.sim.report.charts.axes import axis, day_axis, layout, percent_axis
from muster.sim.report.figures.contender import MS_PER_S, Contender, candidate
from muster.sim.report.figures.wording import (
    DAY_S,
    HOUR_S,
    MINUTE_S,
    duration_text,
    gpus_text,
)

SMOOTH_STEPS = 360
"""Steps of a chart that compares policies: few enough to tell the lines apart."""
FINE_STEPS = 1_500
"""Steps of a chart of one policy, where short faults should be visible."""
DAY_MS = DAY_S * MS_PER_S

_STEPS_S = (
    *(MINUTE_S * each for each in (1, 5, 10, 20, 30)),
    *(HOUR_S * each for each in (1, 2, 3, 6, 12)),
    *(DAY_S * each for each in (1, 2, 7, 14, 30, 90, 365, 3650)),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """The cluster over one period."""

    at_ms: int
    used_milli: float
    """On average, like the waiting jobs."""
    usable_milli: int
    """The smallest value in the period."""
    waiting_jobs: float


def timelines(contenders: Sequence[Contender]) -> Section:
    """The section on the cluster over time."""
    judged = candidate(contenders)
    panels = [
        Panel(label=each.label, blocks=(_capacity_chart(place, each),), is_first=each is judged)
        for place, each in enumerate(contenders)
    ]
    return Section(
        key="timelines",
        title="The cluster over time",
        lead="Click a policy in the legend to hide or show it; drag over a chart to zoom, double-click to return.",
        blocks=(_comparison_chart(contenders), Panels(key="capacity", panels=panels)),
    )


def steps(samples: Sequence[Sample], step_ms: int) -> Iterator[Step]:
    """The samples over periods of equal length, until the last sample."""
    place = 0
    end_ms = samples[-1].at_ms if samples else 0
    for at_ms in range(0, end_ms, step_ms):
        until_ms = min(at_ms + step_ms, end_ms)
        while place + 1 < len(samples) and samples[place + 1].at_ms <= at_ms:
            place += 1
        last = place
        while last + 1 < len(samples) and samples[last + 1].at_ms < until_ms:
            last += 1
        yield _step(samples[place : last + 1], at_ms, until_ms)


def _step(samples: Sequence[Sample], at_ms: int, until_ms: int) -> Step:
    moments = [at_ms, *(max(at_ms, each.at_ms) for each in samples[1:]), until_ms]
    lengths = [after - before for before, after in pairwise(moments)]
    weighed = list(zip(samples, lengths, strict=True))
    return Step(
        at_ms=at_ms,
        used_milli=sum(each.used_milli * length for each, length in weighed) / (until_ms - at_ms),
        usable_milli=min(each.usable_milli for each in samples),
        waiting_jobs=sum(each.waiting_jobs * length for each, length in weighed) / (until_ms - at_ms),
    )


def _step_ms(end_ms: int, most: int) -> int:
    for step_s in _STEPS_S:
        if end_ms <= step_s * MS_PER_S * most:
            return step_s * MS_PER_S
    return -(-end_ms // most)


def _end_ms(contenders: Sequence[Contender]) -> int:
    return max((each.replay.samples[-1].at_ms for each in contenders if each.replay.samples), default=0)


def _comparison_chart(contenders: Sequence[Contender]) -> Chart:
    end_ms = _end_ms(contenders)
    step_ms = _step_ms(end_ms, SMOOTH_STEPS)
    data: list[dict[str, Any]] = []
    for each in contenders:
        found = list(steps(each.replay.samples, step_ms))
        capacity = max(1, each.replay.capacity_milli)
        days = [_days(step.at_ms) for step in found]
        data.append(_line(each, days, [step.used_milli / capacity for step in found], "percent"))
        waiting = _line(each, days, [step.waiting_jobs for step in found], "count")
        data.append(waiting | {"yaxis": "y2", "showlegend": False})
    every = duration_text(step_ms / MS_PER_S)
    return Chart(
        key="over-time",
        title=f"Utilisation (above, % of all GPUs) and number of jobs waiting (below), averaged over {every}",
        data=data,
        layout=layout(
            xaxis=day_axis(_days(end_ms)),
            yaxis=percent_axis("Utilisation", domain=[0.54, 1], range=[0, 1.03]),
            yaxis2=axis("Jobs waiting", domain=[0, 0.46], rangemode="tozero", tickformat=",d"),
            hovermode="x unified",
            **_last_submission(contenders[0], end_ms),
        ),
        height_px=560,
        wide=True,
    )


def _last_submission(contender: Contender, end_ms: int) -> dict[str, Any]:
    """A line at the last submission, where the time ends over which utilisation counts."""
    if not contender.outcomes:
        return {}
    last_ms = max(each.job.submit_ms for each in contender.outcomes)
    day, side = _days(last_ms), "left" if 2 * last_ms < end_ms else "right"
    line = {"color": "var(--muted)", "width": 1, "dash": "dot"}
    text = {"text": "last submission", "font": {"color": "var(--muted)", "size": 12}}
    return {
        "shapes": [{"type": "line", "x0": day, "x1": day, "y0": 0, "y1": 1, "yref": "paper", "line": line}],
        "annotations": [text | {"x": day, "y": 0.5, "xanchor": side}],
    }


def _line(contender: Contender, days: Sequence[float], values: Sequence[float], word: str) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "lines",
        "name": contender.label,
        "legendgroup": contender.label,
        "x": days,
        "y": [float(f"{each:.5g}") for each in values],
        "hovertext": f"{contender.label}: {{y:{word}}}",
    } | contender.line


def _capacity_chart(place: int, contender: Contender) -> Chart:
    samples = contender.replay.samples
    end_ms = samples[-1].at_ms if samples else 0
    step_ms = _step_ms(end_ms, FINE_STEPS)
    found = list(steps(samples, step_ms))
    days = [_days(each.at_ms) for each in found]
    used = [round(each.used_milli / GPU_MILLI, 1) for each in found]
    usable = [each.usable_milli / GPU_MILLI for each in found]
    capacity = contender.replay.capacity_milli / GPU_MILLI
    return Chart(
        key=f"capacity-{place}",
        title=f"GPUs allocated and usable under {contender.label}",
        note=(
            f"Allocated: averaged over {duration_text(step_ms / MS_PER_S)}; usable: the least in that time. "
            f"The cluster has {gpus_text(capacity)}. {_fault_note(samples, contender.replay.capacity_milli)}"
        ),
        data=[
            _area("allocated", contender.colour, days, used),
            _edge("usable", "var(--warn)", days, usable),
        ],
        layout=layout(
            xaxis=day_axis(_days(end_ms)), yaxis=axis("GPUs", range=[0, capacity * 1.04]), hovermode="x unified"
        ),
        height_px=320,
        wide=True,
    )


def _area(name: str, colour: str, days: Sequence[float], gpus: Sequence[float]) -> dict[str, Any]:
    return _edge(name, colour, days, gpus) | {"fill": "tozeroy", "line": {"color": colour, "width": 1, "shape": "hv"}}


def _edge(name: str, colour: str, days: Sequence[float], gpus: Sequence[float]) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "lines",
        "name": name,
        "x": days,
        "y": gpus,
        "line": {"color": colour, "width": 1.6, "shape": "hv"},
        "hovertext": f"{{y:count}} {name}",
    }


def _fault_note(samples: Sequence[Sample], capacity_milli: int) -> str:
    least = min((each.usable_milli for each in samples), default=capacity_milli)
    if least >= capacity_milli:
        return "No GPU was out of order."
    return f"At worst {gpus_text((capacity_milli - least) / GPU_MILLI)} out of order."


def _days(at_ms: int) -> float:
    return round(at_ms / DAY_MS, 4)
