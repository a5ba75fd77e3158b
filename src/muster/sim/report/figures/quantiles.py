"""Percentiles and cumulative distributions of sorted numbers, of bounded size for any number of jobs."""

from collections.abc import Sequence
from dataclasses import dataclass

CURVE_POINTS = 1_000
"""Points of one cumulative curve: more than a screen can show."""


def percentile(ordered: Sequence[float], percent: int) -> float | None:
    """By nearest rank, as in `measures`: the smallest number that at least `percent` per cent do not exceed."""
    if not ordered:
        return None
    rank = -(-len(ordered) * percent // 100)
    return ordered[max(1, rank) - 1]


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """A distribution in five numbers."""

    count: int
    p10: float
    p50: float
    p90: float
    p99: float


def spread(ordered: Sequence[float]) -> Spread | None:
    """The five numbers of a sorted distribution; None if it is empty."""
    if not ordered:
        return None
    p10, p50, p90, p99 = (percentile(ordered, percent) or 0 for percent in (10, 50, 90, 99))
    return Spread(count=len(ordered), p10=p10, p50=p50, p90=p90, p99=p99)


def cumulative(ordered: Sequence[float], *, total: int) -> tuple[list[float], list[float]]:
    """Sorted values and the share of `total` that is no larger, thinned out by quantiles to `CURVE_POINTS`.

    The first and the last value always stay. The curve ends below one when there are fewer values than the total.
    """
    last = len(ordered) - 1
    steps = min(last, CURVE_POINTS - 1)
    places = [step * last // steps for step in range(steps + 1)] if steps > 0 else list(range(len(ordered)))
    # Of equal values the last one counts, which has the whole share.
    points = {ordered[place]: (place + 1) / max(1, total) for place in places}
    return list(points), list(points.values())
