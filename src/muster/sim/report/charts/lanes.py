"""Bars for the stints of one period. Each node is a row, in which every job has lanes of its own.

A lane stands for one GPU. The replay says how many GPUs of a node a job had, not which. So lanes are assigned first
come, first served, next to one another where possible.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from muster.model.ids import NodeName, natural
from muster.model.resources import GPU_MILLI
from muster.sim.outcome import JobOutcome, Stint
from muster.sim.report.figures.busiest_day import Window


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """What is drawn for one job on one node: a period, and adjacent lanes from `lane` on."""

    outcome: JobOutcome
    stint: Stint
    node: NodeName
    start_ms: int
    end_ms: int
    lane: int
    lanes: int

    @property
    def area(self) -> int:
        """The area of the bar. Larger bars are easier to see."""
        return (self.end_ms - self.start_ms) * self.lanes


@dataclass(frozen=True, slots=True, kw_only=True)
class _Use:
    """One job on one node during one stint, before it has its lanes."""

    outcome: JobOutcome
    stint: Stint
    node: NodeName
    lanes: int


def bars(outcomes: Sequence[JobOutcome], window: Window) -> list[Bar]:
    """Every bar that overlaps the window, cut to it, ordered by node and time."""
    by_node: dict[NodeName, list[_Use]] = {}
    for use in _uses(outcomes, window):
        by_node.setdefault(use.node, []).append(use)
    return [bar for node in sorted(by_node, key=natural) for bar in _laid_out(by_node[node], window)]


def _uses(outcomes: Sequence[JobOutcome], window: Window) -> Iterator[_Use]:
    for outcome in outcomes:
        for stint in outcome.stints:
            if stint.start_ms >= window.end_ms or stint.end_ms <= window.start_ms or not stint.nodes:
                continue
            for node, workers in Counter(stint.nodes).items():
                milli = stint.gpu_milli * workers // len(stint.nodes)
                yield _Use(outcome=outcome, stint=stint, node=node, lanes=max(1, -(-milli // GPU_MILLI)))


def _laid_out(uses: list[_Use], window: Window) -> Iterator[Bar]:
    free_from_ms: list[int] = []
    for use in sorted(uses, key=lambda each: (each.stint.start_ms, each.outcome.job.id)):
        for lane, lanes in _take(free_from_ms, use):
            yield Bar(
                outcome=use.outcome,
                stint=use.stint,
                node=use.node,
                start_ms=max(use.stint.start_ms, window.start_ms),
                end_ms=min(use.stint.end_ms, window.end_ms),
                lane=lane,
                lanes=lanes,
            )


def _take(free_from_ms: list[int], use: _Use) -> list[tuple[int, int]]:
    """Give the use its lanes: adjacent lanes if possible, else the first free ones. The list grows if needed."""
    free = [lane for lane, until_ms in enumerate(free_from_ms) if until_ms <= use.stint.start_ms]
    missing = use.lanes - len(free)
    free += range(len(free_from_ms), len(free_from_ms) + missing)
    free_from_ms += [0] * missing
    taken = next((run for run in _windows(free, use.lanes) if run[-1] - run[0] == use.lanes - 1), free[: use.lanes])
    for lane in taken:
        free_from_ms[lane] = use.stint.end_ms
    return _runs(taken)


def _windows(lanes: Sequence[int], width: int) -> Iterator[Sequence[int]]:
    return (lanes[first : first + width] for first in range(len(lanes) - width + 1))


def _runs(lanes: Sequence[int]) -> list[tuple[int, int]]:
    runs: list[tuple[int, int]] = []
    for lane in lanes:
        if runs and sum(runs[-1]) == lane:
            runs[-1] = (runs[-1][0], runs[-1][1] + 1)
        else:
            runs.append((lane, 1))
    return runs
