"""How long jobs take and wait: cumulative curves over all jobs, and percentiles by the size of the job."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from muster.sim.outcome import JobOutcome
from muster.sim.report.blocks import Chart, Section
from muster.sim.report.charts.axes import drawn_s, duration_axis, layout, percent_axis
from muster.sim.report.charts.percentile_bars import range_chart
from muster.sim.report.figures.contender import Contender, completions_s, waits_s
from muster.sim.report.figures.quantiles import cumulative
from muster.sim.report.figures.sizes import SizeClass, size_class
from muster.sim.report.figures.wording import count_text


@dataclass(frozen=True, slots=True, kw_only=True)
class _Length:
    """A duration that is shown for all jobs: completion or first wait."""

    key: str
    title: str
    done: str
    unit: str
    of: Callable[[Iterable[JobOutcome]], list[float]]


_COMPLETION = _Length(
    key="completion",
    title="Completion time",
    done="finished",
    unit="Submission to end (log scale)",
    of=completions_s,
)
_WAIT = _Length(
    key="wait",
    title="First wait",
    done="started",
    unit="Submission to first start (log scale)",
    of=waits_s,
)


def distributions(contenders: Sequence[Contender]) -> Section:
    """The section on completion and waiting times."""
    blocks: list[Chart] = []
    for length in (_COMPLETION, _WAIT):
        by_size = _size_chart(length, contenders)
        blocks += (_curve_chart(length, contenders, height_px=min(520, by_size.height_px)), by_size)
    return Section(
        key="distributions",
        title="How long jobs take and wait",
        lead="A curve further to the left is better: the same share of jobs is done in less time.",
        blocks=blocks,
    )


def _curve_chart(length: _Length, contenders: Sequence[Contender], *, height_px: int) -> Chart:
    ordered = [length.of(each.outcomes) for each in contenders]
    pairs = zip(contenders, ordered, strict=True)
    return Chart(
        key=f"{length.key}-curve",
        title=f"{length.title}: share of jobs {length.done} within a given time",
        note=_curve_note(length, contenders, ordered),
        data=[curve(each, numbers, total=len(each.outcomes), what=length.done) for each, numbers in pairs],
        layout=layout(
            xaxis=duration_axis(length.unit, [value for each in ordered for value in (*each[:1], *each[-1:])]),
            yaxis=percent_axis(f"Jobs {length.done}", range=[0, 1.02]),
        ),
        height_px=height_px,
    )


def curve(contender: Contender, ordered: Sequence[float], *, total: int, what: str) -> dict[str, Any]:
    """The cumulative curve of one policy over durations."""
    values, shares = cumulative(ordered, total=total)
    return {
        "type": "scatter",
        "mode": "lines",
        "name": contender.label,
        "x": [drawn_s(each) for each in values],
        "y": [round(each, 5) for each in shares],
        "hovertext": f"{contender.label}: {{y:percent}} {what} within {{x:duration}}",
    } | contender.line


def _curve_note(length: _Length, contenders: Sequence[Contender], ordered: Sequence[Sequence[float]]) -> str:
    notes = []
    if any(each and each[0] < 1 for each in ordered):
        notes.append("Less than a second is drawn at one second.")
    for contender, numbers in zip(contenders, ordered, strict=True):
        missing = len(contender.outcomes) - len(numbers)
        if missing:
            notes.append(f"{contender.label}: {count_text(missing, 'job')} not {length.done} when the replay ended.")
    return " ".join(notes)


def _size_chart(length: _Length, contenders: Sequence[Contender]) -> Chart:
    by_class: dict[str, list[list[float]]] = {}
    sorted_out = [_by_size(each.outcomes) for each in contenders]
    for size in SizeClass:
        numbers = [length.of(each[size]) for each in sorted_out]
        if any(numbers):
            by_class[size.label] = numbers
    return range_chart(
        by_class,
        contenders,
        key=f"{length.key}-by-size",
        title=f"{length.title} by size of job",
        unit=length.unit,
    )


def _by_size(outcomes: Iterable[JobOutcome]) -> dict[SizeClass, list[JobOutcome]]:
    classes: dict[SizeClass, list[JobOutcome]] = {size: [] for size in SizeClass}
    for each in outcomes:
        classes[size_class(each.job)].append(each)
    return classes
