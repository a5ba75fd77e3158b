"""The busiest day: the 24 hours in which jobs waited for the most GPU time, under all policies together."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from muster.sim.outcome import Replay, Sample
from muster.sim.report.figures.wording import HOUR_S

HOUR_MS = HOUR_S * 1000
DAY_HOURS = 24


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """A period of the trace."""

    start_ms: int
    end_ms: int


def busiest_day(replays: Sequence[Replay]) -> Window:
    """The busiest 24 hours, beginning at a full hour. Of equal ones the earliest."""
    hours = 1 + max((each.samples[-1].at_ms // HOUR_MS for each in replays if each.samples), default=0)
    waited = [0] * (hours + DAY_HOURS)
    for replay in replays:
        for sample, following in pairwise(replay.samples):
            _spread_over_hours(waited, sample, following.at_ms)
    total = best = sum(waited[:DAY_HOURS])
    first = 0
    for hour in range(1, hours):
        total += waited[hour + DAY_HOURS - 1] - waited[hour - 1]
        if total > best:
            best, first = total, hour
    return Window(start_ms=first * HOUR_MS, end_ms=(first + DAY_HOURS) * HOUR_MS)


def _spread_over_hours(waited: list[int], sample: Sample, until_ms: int) -> None:
    if not sample.waiting_milli:
        return
    at_ms = sample.at_ms
    while at_ms < until_ms:
        hour = at_ms // HOUR_MS
        end_ms = min(until_ms, (hour + 1) * HOUR_MS)
        waited[hour] += sample.waiting_milli * (end_ms - at_ms)
        at_ms = end_ms
