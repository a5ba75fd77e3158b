"""Demand against capacity, as if GPU time were a fluid.

Without a limit every job would have its GPUs from its submission on, for as long as it runs: that is the *demand* at a
moment. What exceeds the capacity piles up as a *backlog*, and is worked off as soon as demand is below capacity. Here
no gang has to fit anywhere, so no policy can have a smaller backlog: it can only choose which jobs wait. Backlog over
capacity is how long a job that comes now would wait if all jobs were served in the order of submission.
"""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import NamedTuple

from muster.model.policy import DAY_MS, HOUR_MS
from muster.model.records import Record

LASTING_MS = DAY_MS
"""Demand that exceeds capacity for less than this is a rush hour, which the next night makes up for."""
BEHIND_MS = 6 * HOUR_MS
"""A backlog that the whole capacity works off in less than this is no overload, however long it took to pile up."""

Steps = list[tuple[int, int]]
"""When demand changes, in the order of time, and by how many GPU thousandths."""


class Stretch(Record, frozen=True, kw_only=True):
    """A time in which demand exceeded capacity, and the time in which the backlog was then worked off."""

    from_ms: int
    until_ms: int
    """When the backlog was largest: until here demand exceeded capacity on average."""
    cleared_ms: int
    """When the backlog was worked off."""
    load: float
    """Demand over capacity, from the beginning until the backlog was largest."""
    behind_ms: int
    """How long the whole capacity needs for the largest backlog."""


class Level(NamedTuple):
    """Demand and backlog from one moment to the next."""

    at_ms: int
    demand_milli: int
    backlog: int
    """At this moment, in GPU thousandths times milliseconds."""


class Flow:
    """What becomes of a demand under a capacity. The demand has one step for each moment."""

    def __init__(self, steps: Steps, capacity_milli: int) -> None:
        self.capacity_milli = capacity_milli
        self.levels: list[Level] = []
        self._follow(steps)

    def _follow(self, steps: Steps) -> None:
        capacity, levels = self.capacity_milli, self.levels
        before_ms = demand = backlog = 0
        for at_ms, change in steps:
            if backlog or demand > capacity:
                spare = capacity - demand
                if spare * (at_ms - before_ms) >= backlog > 0:
                    levels.append(Level(before_ms - -backlog // spare, demand, 0))
                    backlog = 0
                else:
                    backlog = max(backlog - spare * (at_ms - before_ms), 0)
            demand += change
            levels.append(Level(at_ms, demand, backlog))
            before_ms = at_ms
        if backlog:
            levels.append(Level(before_ms - -backlog // capacity, demand, 0))

    @property
    def served(self) -> Steps:
        """What the capacity lets through, as the demand on whatever comes behind it."""
        found, passed = Steps(), 0
        for at_ms, demand, backlog in self.levels:
            passes = self.capacity_milli if backlog else min(demand, self.capacity_milli)
            if passes != passed:
                found.append((at_ms, passes - passed))
                passed = passes
        return found

    def lasting(self) -> tuple[Stretch, ...]:
        """The stretches of lasting overload, in the order of time."""
        found: list[Stretch] = []
        from_ms = peak_ms = peak = 0
        for at_ms, _, backlog in self.levels:
            if backlog > peak:
                peak_ms, peak = at_ms, backlog
            if not backlog:
                if peak:
                    found += self._stretch(from_ms, peak_ms, at_ms, peak)
                from_ms, peak = at_ms, 0
        return tuple(found)

    def _stretch(self, from_ms: int, peak_ms: int, cleared_ms: int, peak: int) -> list[Stretch]:
        behind_ms, length_ms = peak // self.capacity_milli, peak_ms - from_ms
        if length_ms < LASTING_MS or behind_ms < BEHIND_MS:
            return []
        return [
            Stretch(
                from_ms=from_ms,
                until_ms=peak_ms,
                cleared_ms=cleared_ms,
                load=round(1 + behind_ms / length_ms, 4),
                behind_ms=behind_ms,
            )
        ]

    def waits_ms(self, moments_ms: Sequence[int]) -> list[int]:
        """How long jobs that come at these moments would wait if all were served in the order of submission."""
        times, found = [level.at_ms for level in self.levels], []
        for at_ms in moments_ms:
            place = bisect_right(times, at_ms) - 1
            level = self.levels[max(place, 0)]
            grown = (level.demand_milli - self.capacity_milli) * (at_ms - level.at_ms)
            found.append(max(level.backlog + grown, 0) // self.capacity_milli)
        return found


def enough_milli(steps: Steps, capacity_milli: int, unit_milli: int) -> int:
    """How much more capacity, in whole units, leaves no lasting overload of a demand."""
    most_milli = max(accumulate(change for _, change in steps))
    few, many = 0, max(0, -(-(most_milli - capacity_milli) // unit_milli))
    while few < many:
        middle = (few + many) // 2
        if Flow(steps, capacity_milli + middle * unit_milli).lasting():
            few = middle + 1
        else:
            many = middle
    return many * unit_milli


def merged(steps: Iterable[Steps]) -> Steps:
    """Several demands together, with one step for each moment."""
    found = Steps()
    for at_ms, change in sorted(step for each in steps for step in each):
        if found and found[-1][0] == at_ms:
            found[-1] = (at_ms, found[-1][1] + change)
        else:
            found.append((at_ms, change))
    return found
