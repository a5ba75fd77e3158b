"""Corrects start estimates by how good earlier ones turned out to be.

A simulated future leaves things out, so its quantiles are too early or too late by some factor. That factor is learnt
from the cluster's own history. It is chosen so that among recent starts, the estimate times the factor covers as many
as it should (split conformal prediction, over a moving window). Queues of different depth are kept apart. In a rush,
many jobs wait for the same thing, so only one start of it counts. The same history gives the same corrections, and no
correction exceeds its bounds.
"""

from bisect import bisect_left, bisect_right, insort
from collections import deque

from muster.estimates.starts import StartEstimate
from muster.model.policy import MINUTE_MS

DEPTHS = (10, 100, 1_000)
"""A queue is one step deeper from each of these numbers of waiting jobs on."""
WINDOW = 200
"""Starts remembered for each depth: enough for a 90th percentile, few enough to follow changes in the cluster."""
ENOUGH = 20
"""Starts that a depth needs before it is corrected by its own history."""
APART_MS = 5 * MINUTE_MS
"""Estimates of one depth made within this time of each other are right or wrong together, so only one counts."""
SHORTEST_MS = MINUTE_MS
"""Estimated waits below this count as this long: by which factor a second was wrong does not matter."""
MILLI_MIN, MILLI_MAX = 100, 20_000
"""The bounds of a correction in thousandths: from a tenth to twenty times."""


def depth_step(waiting: int) -> int:
    """The depth step of a queue of this length, from 0."""
    return bisect_right(DEPTHS, waiting)


class Calibration:
    """What was learnt from estimates whose jobs have started since."""

    def __init__(self) -> None:
        self._p50 = _Factors(50)
        self._p90 = _Factors(90)
        self._learnt_ms: dict[int, int] = {}
        """For each depth, when the last estimate was made that counted."""

    def learn(self, raw: StartEstimate, *, waiting: int, made_ms: int, started_ms: int) -> None:
        """Learn from a job that has started: `raw` is its uncorrected estimate, made when `waiting` jobs waited."""
        step, wait_ms = depth_step(waiting), max(started_ms - made_ms, 0)
        if abs(made_ms - self._learnt_ms.get(step, made_ms - APART_MS)) < APART_MS:
            return
        self._learnt_ms[step] = made_ms
        self._p50.learn(step, raw.p50_ms, made_ms, wait_ms)
        self._p90.learn(step, raw.p90_ms, made_ms, wait_ms)

    def correct(self, raw: StartEstimate, *, waiting: int, now_ms: int) -> StartEstimate:
        """The corrected estimate. A start at once stays a start at once, and p50 is never after p90."""
        step = depth_step(waiting)
        p50_ms = self._p50.corrected(step, raw.p50_ms, now_ms)
        p90_ms = self._p90.corrected(step, raw.p90_ms, now_ms)
        if p50_ms is not None and p90_ms is not None:
            p50_ms = min(p50_ms, p90_ms)
        return StartEstimate(p50_ms=p50_ms, p90_ms=p90_ms)


class _Factors:
    """The factors that correct one quantile, by depth."""

    def __init__(self, percent: int) -> None:
        self._percent = percent
        self._steps = [_Scores() for _ in range(len(DEPTHS) + 1)]
        self._all = _Scores()

    def learn(self, step: int, estimate_ms: int | None, made_ms: int, wait_ms: int) -> None:
        if estimate_ms is None or estimate_ms <= made_ms:
            return
        score_milli = max(wait_ms, 1) * 1000 // max(estimate_ms - made_ms, SHORTEST_MS)
        self._steps[step].add(score_milli)
        self._all.add(score_milli)

    def corrected(self, step: int, estimate_ms: int | None, now_ms: int) -> int | None:
        if estimate_ms is None or estimate_ms <= now_ms:
            return estimate_ms
        factor_milli = self._factor_milli(step)
        if factor_milli is None:
            return estimate_ms
        return now_ms + max(estimate_ms - now_ms, SHORTEST_MS) * factor_milli // 1000

    def _factor_milli(self, step: int) -> int | None:
        """The factor that covers the asked share of recent starts: at this depth, or at all if this one has too few."""
        own = self._steps[step]
        scores = own if len(own) >= ENOUGH else self._all
        if len(scores) < ENOUGH:
            return None
        return min(max(scores.quantile(self._percent), MILLI_MIN), MILLI_MAX)


class _Scores:
    """The latest ratios of true to estimated waits, in thousandths, both in the order of arrival and sorted."""

    def __init__(self) -> None:
        self._latest: deque[int] = deque()
        self._sorted: list[int] = []

    def __len__(self) -> int:
        return len(self._sorted)

    def add(self, score_milli: int) -> None:
        if len(self._latest) == WINDOW:
            del self._sorted[bisect_left(self._sorted, self._latest.popleft())]
        self._latest.append(score_milli)
        insort(self._sorted, score_milli)

    def quantile(self, percent: int) -> int:
        """The conformal quantile: the next score is not above it with this probability."""
        rank = -(-(len(self._sorted) + 1) * percent // 100)
        return self._sorted[min(rank, len(self._sorted)) - 1]
