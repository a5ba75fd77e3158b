"""How long jobs run in all, known from those that have ended and from those that still run.

Only short jobs have ended when a cluster is young, so what has ended alone would make all jobs look short. A job that
still runs is evidence too: it takes longer than it has run so far (a censored observation). Where enough jobs of a
circle have ended, their run times are sampled as often as Kaplan and Meier's estimate says. Beyond the longest of them,
and where too few have ended, a job that has run for t goes on for longer than x with the chance (scale + t) / (scale +
t + x). If the scale is small, the job runs as long again in the median and nine times as long in one case of ten
(Lindy's rule). The scale is unknown. The jobs of the circle leave a range of scales that are likely (Bayes' rule),
which is wide at first and becomes narrower with each job that ends. A future takes one scale from it for all its jobs.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from itertools import accumulate
from math import exp, fsum, log
from typing import NamedTuple

from muster.core.order.run_times import ENOUGH, Circle, RunTimes, circles_of
from muster.model.policy import HOUR_MS
from muster.model.spec import JobSpec

UNKNOWN_MS = HOUR_MS
"""The scale that is likeliest while nothing is known about any job."""
UNKNOWN_SPREAD = 1.5
"""How uncertain that is: the standard deviation of the scale's logarithm. Nine in ten clusters have less than 7 h."""
SCALES_MS = tuple(round(exp(step / 4)) for step in range(20, 96))
"""The scales that are considered: from 0.15 s to eight months, each a quarter longer than the one before."""


EVERY_JOB: Circle = ()
"""The circle of all jobs."""


class Survival:
    """The run times of one circle."""

    def __init__(self, ended_ms: Sequence[int], begun_ms: Sequence[int]) -> None:
        """`ended_ms` are run times of jobs that ended, `begun_ms` how long others have run so far; both in order."""
        self._ended, self._begun = ended_ms, begun_ms
        self._gone = self._kaplan_meier()
        """The part of all jobs that has ended after each of `ended_ms`."""
        self._likely: list[float] = []

    def ended_after(self, ran_ms: int) -> int:
        """How many of those that ended had run for longer."""
        return len(self._ended) - bisect_right(self._ended, ran_ms)

    def run_ms(self, ran_ms: int, outlasts: float, level: float) -> int:
        """How long a job runs in all that has run for `ran_ms`, if this part of those that have ends before it.

        `level` says which of all possible scales is the true one: it exceeds this part of them.
        """
        first = bisect_right(self._ended, ran_ms)
        left = 1 - outlasts
        if first == len(self._ended):
            return _beyond(ran_ms, left, self.scale_ms(level))
        left *= 1 - (self._gone[first - 1] if first else 0.0)
        place = bisect_left(self._gone, 1 - left, lo=first)
        if place < len(self._ended):
            return self._ended[place]
        return _beyond(self._ended[-1], left / (1 - self._gone[-1]), self.scale_ms(level))

    def scale_ms(self, level: float) -> int:
        """The scale that is not exceeded with this probability, by all that is known."""
        if not self._likely:
            self._likely = self._posterior()
        return SCALES_MS[min(bisect_right(self._likely, level * self._likely[-1]), len(SCALES_MS) - 1)]

    def _kaplan_meier(self) -> list[float]:
        found, alive, known = [], 1.0, len(self._ended) + len(self._begun)
        for place, run_ms in enumerate(self._ended):
            at_risk = known - place - bisect_left(self._begun, run_ms)
            alive *= 1 - 1 / at_risk
            found.append(1 - alive)
        return found

    def _posterior(self) -> list[float]:
        """The weights of all scales so far, from the smallest on."""
        logs = [self._log_likelihood(scale_ms) for scale_ms in SCALES_MS]
        highest = max(logs)
        return list(accumulate(exp(each - highest) for each in logs))

    def _log_likelihood(self, scale_ms: int) -> float:
        unlikely = ((log(scale_ms) - log(UNKNOWN_MS)) / UNKNOWN_SPREAD) ** 2 / 2
        known = (len(self._ended) + len(self._begun)) * log(scale_ms)
        ended = 2 * fsum(log(scale_ms + run_ms) for run_ms in self._ended)
        return known - ended - fsum(log(scale_ms + ran_ms) for ran_ms in self._begun) - unlikely


def _beyond(ran_ms: int, left: float, scale_ms: int) -> int:
    """How long a job runs that has run for `ran_ms`, where nothing is known, if it is the last that is left of them."""
    return ran_ms + round((scale_ms + ran_ms) * (1 / left - 1))


class KnownRuns(NamedTuple):
    """What is known of how much longer a job runs."""

    ended: int
    """How many jobs have ended whose run times say it."""
    is_enough: bool
    """True when so many of them ran longer than this job so far that a hint of its user does not count."""
    are_alike: bool
    """True when they have at least the size of the job in common, false when they are all jobs there are."""


class RunHistory:
    """What is known at one moment of how long jobs run, by circle."""

    def __init__(self, run_times: RunTimes, begun: Sequence[tuple[JobSpec, int]] = ()) -> None:
        """`begun` are the jobs that run now, and for how long they have."""
        self._run_times = run_times
        self._begun: dict[Circle, list[int]] = {}
        for spec, ran_ms in begun:
            for circle in circles_of(spec):
                self._begun.setdefault(circle, []).append(ran_ms)
        self._known: dict[Circle, Survival] = {}

    def of(self, spec: JobSpec, ran_ms: int) -> tuple[Survival, bool]:
        """The narrowest circle of which enough jobs have ended after `ran_ms`, and that there is one.

        Otherwise the narrowest of which enough have ended at all, or all jobs, and that there is none.
        """
        circles = [self._in(circle) for circle in circles_of(spec)]
        for known in circles:
            if known.ended_after(ran_ms) >= ENOUGH:
                return known, True
        return next((known for known in circles if known.ended_after(0) >= ENOUGH), circles[-1]), False

    def known(self, spec: JobSpec, ran_ms: int) -> KnownRuns:
        """What `of` finds, in numbers."""
        found, is_enough = self.of(spec, ran_ms)
        ended = found.ended_after(ran_ms if is_enough else 0)
        return KnownRuns(ended, is_enough, found is not self._in(EVERY_JOB))

    def _in(self, circle: Circle) -> Survival:
        if circle not in self._known:
            self._known[circle] = Survival(self._run_times.runs_in(circle), sorted(self._begun.get(circle, ())))
        return self._known[circle]
