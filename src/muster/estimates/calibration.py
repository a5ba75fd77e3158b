"""Corrects start estimates by how good earlier ones turned out to be.

A simulated future leaves things out, so its quantiles are too early or too late by some factor. That factor is learnt
from the cluster's own history. It is a quantile of the ratios of true to estimated waits of recent starts (split
conformal prediction, over a moving window). Which quantile is learnt too, because the next start need not be like the
last ones: each start that the factor would have covered lowers it a little, and each that it would have missed raises
it nine times as much, so that in the long run nine in ten are covered, neither fewer nor more (adaptive conformal
inference; for the median both steps are equal). Jobs that still wait beyond their estimate count too:
otherwise a queue that grows would be judged by the jobs that were lucky. Before a cluster has a history of its own,
what is usual elsewhere stands for it, and what is learnt takes the place of that part by part. Jobs of one burst are
late or early together, so a hundred of them say little more about the next burst than two. Estimates that were made
before the first of them came true are therefore one generation, and for the later estimate they count together. For the
median they do not, because it has no safe side.

The later estimate is about jobs that have to wait, so it learns from waits of at least a minute. The same history gives
the same corrections, and no correction exceeds its bounds.
"""

from bisect import bisect_left, insort
from collections import deque
from collections.abc import Sequence
from typing import NamedTuple

from muster.estimates.starts import StartEstimate
from muster.model.policy import MINUTE_MS

WINDOW = 100
"""Starts that are remembered: enough for a 90th percentile, few enough to follow changes in the cluster."""
SHORTEST_MS = MINUTE_MS
"""This is added to every estimated wait: by which factor a second was wrong does not matter."""
MILLI_MIN, MILLI_MAX = 100, 20_000
"""The bounds of a correction in thousandths: from a tenth to twenty times."""
WHOLE = 10_000
"""Quantiles are counted in parts of this."""
STEP = 40
"""How far one start moves the quantile that is used: up by the part that should be covered times this if it was missed,
down by the rest if it was covered. Chosen on the tuned cases of `benchmarks/estimates.py`: what is learnt only when
a job starts comes late, so that larger steps overshoot."""
PER_GENERATION = 2
"""How many starts of one generation take the place of usual ones in the later estimate, at most. Chosen on the tuned
cases: with three a large burst after small ones is told times that are much too early, with one all are told late."""
LEVEL_MIN, LEVEL_MAX = 2_000, 9_900
"""The bounds of that quantile."""
USUAL_MILLI = (
    *(200, 400, 400, 500, 600, 650, 650, 700, 725, 775),
    *(775, 875, 1_000, 1_175, 1_175, 1_375, 1_750, 2_100, 2_100, 2_750),
)
"""True over estimated waits in thousandths, as they are usual: chosen on the traces that docs/PROOFS.md names."""


class OpenEstimate(NamedTuple):
    """An uncorrected estimate whose job has not started yet."""

    raw: StartEstimate
    made_ms: int


class Calibration:
    """What was learnt from estimates whose jobs have started since."""

    def __init__(self) -> None:
        self._p50 = _Factors(50, learns_from_ms=1, per_generation=WINDOW)
        self._p90 = _Factors(90, learns_from_ms=MINUTE_MS, per_generation=PER_GENERATION)

    def learn(self, raw: StartEstimate, *, made_ms: int, started_ms: int) -> None:
        """Learn from a job that has started: `raw` is its uncorrected estimate."""
        self._p50.learn(raw.p50_ms, made_ms, started_ms - made_ms)
        self._p90.learn(raw.p90_ms, made_ms, started_ms - made_ms)

    def correct(self, raw: StartEstimate, *, now_ms: int, still_open: Sequence[OpenEstimate] = ()) -> StartEstimate:
        """The corrected estimate. `still_open` are estimates whose jobs wait.

        What is likely to start at once stays so, and p50 is never after p90.
        """
        p50_ms = raw.p50_ms
        if p50_ms is not None and p50_ms > now_ms:
            p50_ms = self._p50.corrected(p50_ms, now_ms, [(each.raw.p50_ms, each.made_ms) for each in still_open])
        p90_ms = self._p90.corrected(raw.p90_ms, now_ms, [(each.raw.p90_ms, each.made_ms) for each in still_open])
        if p50_ms is not None and p90_ms is not None:
            p50_ms = min(p50_ms, p90_ms)
        return StartEstimate(p50_ms=p50_ms, p90_ms=p90_ms)


class _Factors:
    """The factor that corrects one quantile."""

    def __init__(self, percent: int, *, learns_from_ms: int, per_generation: int) -> None:
        self._percent = percent
        self._level = WHOLE * percent // 100
        """The quantile of the scores that is used."""
        self._learns_from_ms = learns_from_ms
        self._learnt = _Scores(per_generation)

    def learn(self, estimate_ms: int | None, made_ms: int, wait_ms: int) -> None:
        if estimate_ms is not None and wait_ms >= self._learns_from_ms:
            score_milli = _score_milli(wait_ms, estimate_ms, made_ms)
            is_covered = score_milli <= _bounded(_quantile(self._learnt.in_order(), self._level))
            moved = -STEP * (100 - self._percent) // 100 if is_covered else STEP * self._percent // 100
            self._level = min(max(self._level + moved, LEVEL_MIN), LEVEL_MAX)
            self._learnt.add(score_milli, made_ms, made_ms + wait_ms)

    def corrected(
        self, estimate_ms: int | None, now_ms: int, still_open: Sequence[tuple[int | None, int]]
    ) -> int | None:
        if estimate_ms is None:
            return None
        scores = self._learnt.in_order()
        factor_milli = _quantile(scores, self._level)
        # How far a job is overdue will only grow, so it counts as soon as it exceeds what would be said now.
        waits = [_score_milli(now_ms - made_ms, at_ms, made_ms) for at_ms, made_ms in still_open if at_ms is not None]
        overdue = [score_milli for score_milli in waits if score_milli > factor_milli]
        if overdue:
            factor_milli = _quantile(sorted([*scores, *overdue]), self._level)
        return now_ms + _wait_ms(estimate_ms, now_ms) * _bounded(factor_milli) // 1000


class _Scores:
    """The latest ratios of true to estimated waits, in thousandths, in the order of arrival and sorted."""

    def __init__(self, per_generation: int) -> None:
        self._per_generation = per_generation
        self._latest: deque[int] = deque()
        self._sorted: list[int] = []
        self._evidence = 0
        """How many of the usual ones they take the place of."""
        self._in_generation = 0
        self._known_from_ms: int | None = None
        """When the first estimate of the present generation came true: later ones could learn from it."""

    def add(self, score_milli: int, made_ms: int, started_ms: int) -> None:
        if self._known_from_ms is None or made_ms >= self._known_from_ms:
            self._in_generation = 0
            self._known_from_ms = started_ms
        self._known_from_ms = min(self._known_from_ms, started_ms)
        self._in_generation += 1
        self._evidence += self._in_generation <= self._per_generation
        if len(self._latest) == WINDOW:
            del self._sorted[bisect_left(self._sorted, self._latest.popleft())]
        self._latest.append(score_milli)
        insort(self._sorted, score_milli)

    def in_order(self) -> list[int]:
        """All of them, or before there is enough evidence as many as there is, evenly chosen, and usual ones."""
        missing = len(USUAL_MILLI) - self._evidence
        if missing <= 0:
            return self._sorted
        return sorted([*_evenly(self._sorted, self._evidence), *_evenly(USUAL_MILLI, missing)])


def _evenly(ordered: Sequence[int], count: int) -> list[int]:
    """So many of them, as far apart as possible."""
    return [ordered[(2 * place + 1) * len(ordered) // (2 * count)] for place in range(count)]


def _wait_ms(estimate_ms: int, made_ms: int) -> int:
    return max(estimate_ms - made_ms, 0) + SHORTEST_MS


def _score_milli(wait_ms: int, estimate_ms: int, made_ms: int) -> int:
    return wait_ms * 1000 // _wait_ms(estimate_ms, made_ms)


def _bounded(factor_milli: int) -> int:
    return min(max(factor_milli, MILLI_MIN), MILLI_MAX)


def _quantile(ordered: Sequence[int], level: int) -> int:
    """The conformal quantile: the next score is not above it with this probability, in parts of `WHOLE`.

    Never the largest score, so that a single start that went wrong does not decide alone.
    """
    rank = -(-(len(ordered) + 1) * level // WHOLE)
    return ordered[min(rank, len(ordered) - 1) - 1]
