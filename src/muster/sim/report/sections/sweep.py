"""What more of a quantity brings: one quantity differs from replay to replay, with a curve for each policy."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, assert_never

from muster.sim.quantity import Quantity
from muster.sim.report.blocks import Chart, Prose, Section
from muster.sim.report.charts.axes import axis, drawn_s, duration_axis, layout, percent_axis
from muster.sim.report.figures.contender import Contender
from muster.sim.report.figures.wording import count_text, duration_text, percent_text

_TITLES = {
    Quantity.NODES: "Nodes",
    Quantity.ARRIVALS: "Jobs that come, times as many as in the trace",
    Quantity.RESTART_COST: "What a restart costs",
}
_HEADINGS = {
    Quantity.NODES: "What more nodes bring",
    Quantity.ARRIVALS: "What more jobs cost",
    Quantity.RESTART_COST: "What dearer restarts cost",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Sweep:
    """What was varied."""

    quantity: Quantity
    values: Sequence[float]
    """The value in each replay."""
    present: float | None = None
    """The value without varying it."""

    @property
    def steps(self) -> list[float]:
        """Every value once, in ascending order."""
        return sorted(set(self.values))

    @property
    def chosen(self) -> float:
        """The value at which policies are compared in detail: the nearest to `present`, else the middle one."""
        steps, present = self.steps, self.present
        if present is None:
            return steps[(len(steps) - 1) // 2]
        return min(steps, key=lambda value: (abs(value - present), value))

    def text(self, value: float) -> str:
        """A value with its unit or name."""
        match self.quantity:
            case Quantity.NODES:
                return count_text(value, "node")
            case Quantity.ARRIVALS:
                return f"{value:g}× arrivals"
            case Quantity.RESTART_COST:
                return f"restart cost {duration_text(value)}"
            case _:
                assert_never(self.quantity)

    @property
    def range_text(self) -> str:
        """All values that were tried, in short."""
        steps = self.steps
        return f"{self.text(steps[0])} to {self.text(steps[-1])}, {count_text(len(steps), 'value')}"

    @property
    def reason(self) -> str:
        """Which value was chosen, and why."""
        chosen = self.text(self.chosen)
        if self.present is None:
            return f"{chosen}, the middle of what was tried"
        if self.chosen == self.present:
            return f"{chosen}, as it is without varying it"
        return f"{chosen}, of what was tried the nearest to {self.text(self.present)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Figure:
    """One figure of a replay."""

    title: str
    path: tuple[str, ...]
    text: Callable[[float], str]

    def of(self, contender: Contender) -> float | None:
        return contender.figure(*self.path)


_MEAN = _Figure(title="Mean", path=("jct_s", "mean"), text=duration_text)
_P99 = _Figure(title="p99", path=("jct_s", "p99"), text=duration_text)
_WAIT_MEAN = _Figure(title="Mean", path=("first_wait_s", "mean"), text=duration_text)
_WAIT_P99 = _Figure(title="p99", path=("first_wait_s", "p99"), text=duration_text)
_USED = _Figure(title="Utilisation", path=("utilisation",), text=percent_text)


def sweep_section(contenders: Sequence[Contender], sweep: Sweep) -> Section:
    """The section with the curves. `contenders` are all replays, each labelled with its policy."""
    lines = _Lines(contenders, sweep)
    return Section(
        key="sweep",
        title=_HEADINGS[sweep.quantity],
        lead=f"Each point is a replay of the whole trace. All other sections compare policies with {sweep.reason}.",
        blocks=(
            Prose(statements=lines.statements()),
            lines.durations("completion", "Completion time", (_MEAN, _P99)),
            lines.durations("wait", "First wait", (_WAIT_MEAN, _WAIT_P99)),
            lines.utilisation(),
        ),
    )


class _Lines:
    """One line for each policy, over the values."""

    def __init__(self, contenders: Sequence[Contender], sweep: Sweep) -> None:
        self._sweep = sweep
        self._by_label: dict[str, list[tuple[float, Contender]]] = {}
        for value, each in zip(sweep.values, contenders, strict=True):
            self._by_label.setdefault(each.label, []).append((value, each))
        for points in self._by_label.values():
            points.sort(key=lambda point: point[0])

    def statements(self) -> list[tuple[str, str]]:
        """How completion times change from the first value to the last."""
        found = []
        for label, points in self._by_label.items():
            (first, least), (last, most) = points[0], points[-1]
            before, after = duration_text(_MEAN.of(least)), duration_text(_MEAN.of(most))
            tail = f"{duration_text(_P99.of(least))} and {duration_text(_P99.of(most))}"
            ends = f"{self._sweep.text(first)} and {after} with {self._sweep.text(last)}"
            found.append((label, f"mean completion {before} with {ends}; p99 {tail}."))
        return found

    def durations(self, key: str, title: str, figures: tuple[_Figure, _Figure]) -> Chart:
        """Two figures, one above the other."""
        above, below = figures
        return Chart(
            key=f"sweep-{key}",
            title=f"{title}: mean (above) and p99 (below)",
            data=[*self._traces(above, "y"), *self._traces(below, "y2")],
            layout=layout(
                xaxis=self._axis(),
                yaxis=duration_axis("Mean (log scale)", self._values(above), domain=[0.54, 1]),
                yaxis2=duration_axis("p99 (log scale)", self._values(below), domain=[0, 0.46]),
                **self._present_line(),
            ),
            height_px=520,
        )

    def utilisation(self) -> Chart:
        """The part of the GPU time that is in use."""
        return Chart(
            key="sweep-utilisation",
            title="Utilisation: allocated over all GPU time while jobs were submitted",
            data=self._traces(_USED, "y"),
            layout=layout(
                xaxis=self._axis(), yaxis=percent_axis("Utilisation", range=[0, 1.03]), **self._present_line()
            ),
            height_px=340,
            wide=True,
        )

    def _values(self, figure: _Figure) -> list[float]:
        values = (figure.of(each) for points in self._by_label.values() for _, each in points)
        return [value for value in values if value is not None]

    def _traces(self, figure: _Figure, yaxis: str) -> list[dict[str, Any]]:
        return [self._trace(label, points, figure, yaxis) for label, points in self._by_label.items()]

    def _trace(
        self, label: str, points: Sequence[tuple[float, Contender]], figure: _Figure, yaxis: str
    ) -> dict[str, Any]:
        known = [(value, found) for value, each in points if (found := figure.of(each)) is not None]
        contender = points[0][1]
        is_length = figure.text is duration_text
        return {
            "type": "scatter",
            "mode": "lines+markers",
            "name": label,
            "legendgroup": label,
            "showlegend": yaxis == "y",
            "yaxis": yaxis,
            "x": [value for value, _ in known],
            "y": [drawn_s(found) if is_length else found for _, found in known],
            "line": contender.line["line"] | {"shape": "linear"},
            "marker": {"color": contender.colour, "symbol": contender.symbol, "size": 8},
            "hovertext": [f"{label}, {self._sweep.text(value)}: {figure.text(found)}" for value, found in known],
        }

    def _axis(self, **parts: Any) -> dict[str, Any]:
        steps = self._sweep.steps
        room = 0.04 * (steps[-1] - steps[0]) or 1
        is_length = self._sweep.quantity is Quantity.RESTART_COST
        texts = [duration_text(each) if is_length else f"{each:,g}" for each in steps]
        bounds = [steps[0] - room, steps[-1] + room]
        return axis(_TITLES[self._sweep.quantity], range=bounds, tickvals=steps, ticktext=texts, **parts)

    def _present_line(self) -> dict[str, Any]:
        """A line at the present value, if it is within the range that was tried."""
        steps, present = self._sweep.steps, self._sweep.present
        if present is None or not steps[0] <= present <= steps[-1]:
            return {}
        line = {"color": "var(--muted)", "width": 1, "dash": "dot"}
        return {
            "shapes": [{"type": "line", "x0": present, "x1": present, "y0": 0, "y1": 1, "yref": "paper", "line": line}]
        }
