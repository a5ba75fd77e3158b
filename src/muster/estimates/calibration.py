"""Corrects start estimates by how good earlier ones turned out to be.

A simulated future leaves things out, so its quantiles are too early or too late by some factor. That factor is learnt
from the cluster's own history. It is a quantile of the ratios of true to estimated waits of recent starts (weighted
split conformal prediction, over a moving window). Which quantile is learnt too, because the next start need not be like
the last ones: each start that the factor would have covered lowers it a little, and each that it would have missed
raises it nine times as much, so that in the long run nine in ten are covered, neither fewer nor more (adaptive
conformal inference; for the median both steps are equal).

Jobs of one burst are late or early together. Estimates that were made before the first of them came true are one
cohort: none could learn from another. Many starts of one cohort therefore count for fewer that are independent of
each other, as the answers of one household do in a survey (Kish's effective sample size), both for the quantile and for
the steps. For the median each start counts for one, because it has no safe side. Jobs that still wait beyond their
estimate count too, as one more cohort: otherwise a queue that grows would be judged by the jobs that were lucky.

What is usual elsewhere counts like some starts of the cluster's own, and always stays: it is all there is at first, and
later it keeps a few starts from deciding alone. The later estimate is about jobs that have to wait, so it learns from
waits of at least a minute. The same history gives the same corrections, and no correction exceeds its bounds.
"""

from collections import Counter, deque
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from muster.estimates.starts import StartEstimate
from muster.model.policy import MINUTE_MS

WHOLE = 1_000_000
"""Quantiles and weights are counted in parts of this; one start of its own has this weight."""
WINDOW = 200
"""Starts that are remembered: enough for a 90th percentile of bursts, few enough to follow changes in the cluster."""
BURST_WORTH = 5
"""However many starts a cohort has, together they count for fewer than this; two count for 1.7, ten for 3.6. Chosen on
the tuned cases of `benchmarks/estimate_cases.py`: with ten a large burst after small ones was told times that were too
early, with two most of them were told times that were too late."""
USUAL_WORTH = 10
"""For how many starts counts what is usual elsewhere: with ten, nine tenths are decided by more than one start."""
STEP = WHOLE // 50
"""How far one start moves the quantile that is used: up by the part that should be covered times this if it was missed,
down by the rest if it was covered. What is learnt only when a job starts comes late, so that larger steps overshoot."""
LEVEL_MIN, LEVEL_MAX = WHOLE // 5, WHOLE * 98 // 100
"""The bounds of that quantile."""
SHORTEST_MS = MINUTE_MS
"""This is added to every estimated wait: by which factor a second was wrong does not matter."""
MILLI_MIN, MILLI_MAX = 100, 20_000
"""The bounds of a correction in thousandths: from a tenth to twenty times."""
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
        self._p50 = _Factors(50, learns_from_ms=1, burst_worth=WINDOW)
        self._p90 = _Factors(90, learns_from_ms=MINUTE_MS, burst_worth=BURST_WORTH)

    def learn(self, raw: StartEstimate, *, made_ms: int, started_ms: int) -> None:
        """Learn from a job that has started: `raw` is its uncorrected estimate."""
        self._p50.learn(raw.p50_ms, made_ms, started_ms - made_ms)
        self._p90.learn(raw.p90_ms, made_ms, started_ms - made_ms)

    def correct(
        self, raw: StartEstimate, *, now_ms: int, earliest_ms: int = 0, still_open: Sequence[OpenEstimate] = ()
    ) -> StartEstimate:
        """The corrected estimate. `still_open` are estimates whose jobs wait.

        Only the wait after `earliest_ms` is corrected, before which the job cannot start: that time is certain. What is
        likely to start as soon as it can stays so, and p50 is never after p90.
        """
        from_ms = max(now_ms, earliest_ms)
        times = _Times(now_ms, from_ms)
        p50_ms = raw.p50_ms
        if p50_ms is not None:
            p50_ms = max(p50_ms, from_ms)
        if p50_ms is not None and p50_ms > from_ms:
            p50_ms = self._p50.corrected(p50_ms, times, [(each.raw.p50_ms, each.made_ms) for each in still_open])
        p90_ms = self._p90.corrected(raw.p90_ms, times, [(each.raw.p90_ms, each.made_ms) for each in still_open])
        if p50_ms is not None and p90_ms is not None:
            p50_ms = min(p50_ms, p90_ms)
        return StartEstimate(p50_ms=p50_ms, p90_ms=p90_ms)


class _Times(NamedTuple):
    """Now, and the time from which on a wait is corrected."""

    now_ms: int
    from_ms: int


class _Weighted(NamedTuple):
    """The ratio of a true to an estimated wait, in thousandths, and how much it counts."""

    score_milli: int
    weight: int


USUAL = tuple([_Weighted(score_milli, USUAL_WORTH * WHOLE // len(USUAL_MILLI)) for score_milli in USUAL_MILLI])


class _Factors:
    """The factor that corrects one quantile."""

    def __init__(self, percent: int, *, learns_from_ms: int, burst_worth: int) -> None:
        self._percent = percent
        self._level = WHOLE * percent // 100
        """The quantile of the scores that is used."""
        self._learns_from_ms = learns_from_ms
        self._learnt = _Scores(burst_worth)

    def learn(self, estimate_ms: int | None, made_ms: int, wait_ms: int) -> None:
        if estimate_ms is None or wait_ms < self._learns_from_ms:
            return
        score_milli = _score_milli(wait_ms, estimate_ms, made_ms)
        is_covered = score_milli <= _bounded(_quantile(self._learnt.in_order, self._level))
        news = self._learnt.add(score_milli, made_ms, made_ms + wait_ms)
        percent = self._percent - 100 if is_covered else self._percent
        self._level += STEP * news // WHOLE * percent // 100
        self._level = min(max(self._level, LEVEL_MIN), LEVEL_MAX)

    def corrected(
        self, estimate_ms: int | None, times: _Times, still_open: Sequence[tuple[int | None, int]]
    ) -> int | None:
        if estimate_ms is None:
            return None
        scores = self._learnt.in_order
        factor_milli = _quantile(scores, self._level)
        # How far a job is overdue will only grow, so it counts as soon as it exceeds what would be said now.
        waits = [
            _score_milli(times.now_ms - made_ms, at_ms, made_ms) for at_ms, made_ms in still_open if at_ms is not None
        ]
        overdue = [score_milli for score_milli in waits if score_milli > factor_milli]
        if overdue:
            weight = self._learnt.weight_of_each(len(overdue))
            late = [_Weighted(score_milli, weight) for score_milli in overdue]
            factor_milli = _quantile(sorted([*scores, *late]), self._level)
        return times.from_ms + _wait_ms(estimate_ms, times.from_ms) * _bounded(factor_milli) // 1000


class _Scores:
    """The latest ratios of true to estimated waits with their cohorts, and what is usual."""

    def __init__(self, burst_worth: int) -> None:
        self._burst_worth = burst_worth
        self._latest: deque[tuple[int, int]] = deque(maxlen=WINDOW)
        """Each score with the number of its cohort."""
        self._cohort = 0
        self._starts = 0
        """Starts of the present cohort."""
        self._known_from_ms: int | None = None
        """When the first estimate of the present cohort came true: later ones could learn from it."""
        self.in_order = sorted(USUAL)

    def add(self, score_milli: int, made_ms: int, started_ms: int) -> int:
        """Add a score, and return for how much it counts besides the others of its cohort."""
        if self._known_from_ms is None or made_ms >= self._known_from_ms:
            self._cohort += 1
            self._starts = 0
            self._known_from_ms = started_ms
        self._known_from_ms = min(self._known_from_ms, started_ms)
        self._starts += 1
        self._latest.append((score_milli, self._cohort))
        self.in_order = sorted([*USUAL, *self._weighted()])
        before = self._starts - 1
        return self._starts * self.weight_of_each(self._starts) - before * self.weight_of_each(before)

    def weight_of_each(self, starts: int) -> int:
        """How much each of so many starts of one cohort counts."""
        return WHOLE * self._burst_worth // (starts + self._burst_worth - 1)

    def _weighted(self) -> Iterable[_Weighted]:
        sizes = Counter(cohort for _, cohort in self._latest)
        return [_Weighted(score_milli, self.weight_of_each(sizes[number])) for score_milli, number in self._latest]


def _wait_ms(estimate_ms: int, made_ms: int) -> int:
    return max(estimate_ms - made_ms, 0) + SHORTEST_MS


def _score_milli(wait_ms: int, estimate_ms: int, made_ms: int) -> int:
    return wait_ms * 1000 // _wait_ms(estimate_ms, made_ms)


def _bounded(factor_milli: int) -> int:
    return min(max(factor_milli, MILLI_MIN), MILLI_MAX)


def _quantile(ordered: Sequence[_Weighted], level: int) -> int:
    """The smallest score that, with all smaller ones, has at least this part of the weight, in parts of `WHOLE`.

    The weight of one start always stays above, so that a single start that went wrong does not decide alone.
    """
    weight = sum(each.weight for each in ordered)
    missing = min(level * weight // WHOLE, weight - WHOLE)
    for score_milli, weight in ordered:
        missing -= weight
        if missing <= 0:
            return score_milli
    return ordered[-1].score_milli
