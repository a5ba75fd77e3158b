"""What changes when another policy replaces the first: every job as a point, and which jobs gain and lose most."""

from collections.abc import Sequence
from typing import Any

from muster.sim.report.blocks import Chart, Panel, Panels, Section, Table, TableCell
from muster.sim.report.charts.axes import drawn_s, duration_axis, layout
from muster.sim.report.figures.contender import MS_PER_S, Contender, candidate
from muster.sim.report.figures.pairs import Compared, Pair, pair
from muster.sim.report.figures.sentences import NOTICED_S
from muster.sim.report.figures.sizes import SizeClass, size_class
from muster.sim.report.figures.wording import count_text, duration_text, gpus_text, shortened

POINTS_SHOWN = 5_000
JOBS_LISTED = 15
NAME_CHARACTERS = 14
"""The longest name of a job in a table, because seven columns must fit."""

_SYMBOLS = ("circle", "diamond", "square", "triangle-up")


def pairs(contenders: Sequence[Contender]) -> list[Pair]:
    """Every other policy, compared with the first."""
    return [pair(contenders[0], other) for other in contenders[1:]]


def comparison(compared: Sequence[Pair]) -> Section:
    """The section on what changes, one panel for each pair."""
    base, judged = compared[0].base.label, candidate([each.other for each in compared])
    return Section(
        key="comparison",
        title=f"What changes compared with {base}",
        lead=f"Each policy beside {base}, job by job.",
        blocks=(
            Panels(
                key="comparison",
                panels=[
                    Panel(label=each.other.label, blocks=_blocks(place, each), is_first=each.other is judged)
                    for place, each in enumerate(compared)
                ],
            ),
        ),
    )


def _blocks(place: int, compared: Pair) -> list[Chart | Table]:
    ranked = sorted(compared.jobs, key=lambda each: (each.change_s, each.job.id))
    gained = [each for each in ranked[:JOBS_LISTED] if each.change_s < -NOTICED_S]
    lost = [each for each in reversed(ranked[-JOBS_LISTED:]) if each.change_s > NOTICED_S]
    base, other = compared.base.label, compared.other.label
    return [
        _scatter(place, compared, sampled(ranked)),
        _table(f"Jobs that gain most under {other}", gained, base, other),
        _table(f"Jobs that lose most under {other}", lost, base, other),
    ]


def sampled(ranked: Sequence[Compared]) -> list[Compared]:
    """At most `POINTS_SHOWN` jobs, evenly spaced in the order of their gain, with both ends."""
    if len(ranked) <= POINTS_SHOWN:
        return list(ranked)
    last = len(ranked) - 1
    return [ranked[step * last // (POINTS_SHOWN - 1)] for step in range(POINTS_SHOWN)]


def _scatter(place: int, compared: Pair, shown: Sequence[Compared]) -> Chart:
    base, other = compared.base.label, compared.other.label
    values = [value for each in shown for value in (each.base_s, each.other_s)]
    ends = [drawn_s(min(values, default=1)), drawn_s(max(values, default=1))]
    same = {"type": "scatter", "mode": "lines", "x": ends, "y": ends, "showlegend": False}
    line = same | {"line": {"color": "var(--muted)", "width": 1, "dash": "dash"}}
    points = [_points(size, [each for each in shown if size_class(each.job) is size]) for size in SizeClass]
    return Chart(
        key=f"scatter-{place}",
        title=f"Completion time of each job under {other} and under {base}",
        note=_scatter_note(compared, shown),
        data=[line, *(each for each in points if each["x"])],
        layout=layout(
            xaxis=duration_axis(f"Under {base} (log scale)", values),
            yaxis=duration_axis(f"Under {other} (log scale)", values),
        ),
        height_px=540,
        wide=True,
    )


def _scatter_note(compared: Pair, shown: Sequence[Compared]) -> str:
    notes = [f"Below the dashed line jobs finish sooner under {compared.other.label}."]
    if len(shown) < len(compared.jobs):
        notes.append(
            f"{count_text(len(shown))} of {count_text(len(compared.jobs), 'job')}, evenly chosen by what they gain."
        )
    if compared.left_out:
        notes.append(f"{count_text(compared.left_out, 'job')} did not finish under both.")
    return " ".join(notes)


def _points(size: SizeClass, jobs: Sequence[Compared]) -> dict[str, Any]:
    opacity = 0.45 if size is SizeClass.ONE else 0.85
    return {
        "type": "scatter",
        "mode": "markers",
        "name": size.label,
        "x": [drawn_s(each.base_s) for each in jobs],
        "y": [drawn_s(each.other_s) for each in jobs],
        "marker": {"color": f"var(--size-{int(size)})", "size": 5, "symbol": _SYMBOLS[size], "opacity": opacity},
        "hovertext": [_hover(each) for each in jobs],
    }


def _hover(each: Compared) -> str:
    return (
        f"{each.job.id} ({each.job.team}), {gpus_text(each.job.gpus)}\n"
        f"{duration_text(each.base_s)} → {duration_text(each.other_s)}"
    )


def _table(title: str, jobs: Sequence[Compared], base: str, other: str) -> Table:
    return Table(
        title=title,
        headings=("Job", "Team", "GPUs", "Computes", base, other, "Change"),
        rows=[_row(each) for each in jobs],
        words=2,
        wide=False,
        note="" if jobs else "None by more than a minute.",
    )


def _row(each: Compared) -> list[TableCell]:
    sign = "+" if each.change_s > 0 else ""
    texts = (
        str(each.job.team),
        gpus_text(each.job.gpus).split()[0],
        duration_text(each.job.run_ms / MS_PER_S),
        duration_text(each.base_s),
        duration_text(each.other_s),
        f"{sign}{duration_text(each.change_s)}",
    )
    job = TableCell(text=shortened(str(each.job.id), NAME_CHARACTERS), whole=str(each.job.id))
    return [job, *(TableCell(text=text) for text in texts)]
