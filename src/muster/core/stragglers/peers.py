"""Ranks that do the same work, compared round by round. A rank that stays slower than its peers is a straggler.

In synchronous training every rank has the same step time, because the fast ranks wait for the slow one. So ranks are
compared by the time in which they are busy themselves. A round is over when every rank has finished a few more steps.
Then each rank's median busy time is compared with that of all ranks: a round in which everybody is slow says nothing
about anybody.

Evidence is a cumulative sum, as in a CUSUM test. Each step in which a rank is slower than `SLOW_MILLI` adds to its
score, each other step takes away. A step counts at most `SLOW_MILLI` either way, however long it took, so a single
spike is one step of evidence. The scores of 16 slow steps make a straggler, and those of 32 ordinary ones clear it.

Two ranks have no majority. There a rank is slow when it is slower than it was itself, and the other is not.
"""

from collections.abc import Iterable

from muster.model.records import Record

SLOW_MILLI = 150
"""What a rank may be slower than its peers, in thousandths. Below this a restart costs more than it gains."""

NOISE_FACTOR = 2
"""The same in times the median deviation of the ranks in this round: where all ranks differ, none is an outlier."""

NAMED_SCORE = 16 * SLOW_MILLI
"""The score at which a rank is a straggler: sixteen steps that are slower by 30 %, or fifty by 20 %."""

CLEARED_SCORE = 2 * NAMED_SCORE
"""The score that a straggler has to lose again until it is cleared. Twice as much, so that verdicts do not flap."""

ROUND_STEPS_MIN = 5
"""Steps of every rank in a round. The median of five hardly notices a spike, and half as much of the noise is left."""

ROUND_STEPS = 12
"""Steps that one round may count for. A round never suffices: when everybody slows down in the middle of it, the
reports of ranks cover different parts of it."""

ROUND_REPORTS = 32
"""Reports of one rank that are kept for a round which waits for other ranks."""

SLOW_SHARE = 4
"""When more than one rank in this many is slow at once, none is a straggler: something stalls them together."""

CHANGE_MILLI = 250
"""A round in which the median of all ranks changed by more than this says nothing: not all ranks changed at once."""

WARM_UP_STEPS = 8
"""The first steps of a rank, which compile and fill caches, are not counted."""

ROUND_WAIT_MS = 10_000
"""How long a round waits for the last quarter of its ranks before they are left out of it."""

PAST_STEPS = 256
"""Over how many steps a rank's own past is averaged, where there are only two ranks."""

PAST_STEPS_MIN = 24
"""A past of fewer steps is not compared with."""

EXCESS_MAX_MILLI = 9_000
"""A step of more than ten times the median counts as ten times in what is said of a straggler."""

_PEERS = 3
"""How many ranks have a majority."""


class SlowRank(Record, frozen=True, kw_only=True):
    """A rank that is persistently slower than its peers."""

    rank: int
    slowdown_milli: int
    """Its busy time over that of its peers, in thousandths."""
    since_ms: int
    steps: int
    """The steps in which this was seen."""


class _Standing:
    """What is known of one rank."""

    __slots__ = (
        "busy_us",
        "excess",
        "is_slow",
        "past_us",
        "rank",
        "reports",
        "rounds",
        "score",
        "seen",
        "since_ms",
        "slow_steps",
        "steps",
        "total_milli",
    )

    def __init__(self, rank: int) -> None:
        self.rank = rank
        self.seen = 0
        self.steps = 0
        """Steps of the present round."""
        self.reports: list[tuple[int, int]] = []
        """Median busy times and steps of the reports in the present round."""
        self.busy_us = 0
        """The median of the round, once it is over."""
        self.score = 0
        self.excess = 0
        """By how many thousandths it was slower, summed over `slow_steps`."""
        self.slow_steps = 0
        self.since_ms = 0
        self.is_slow = False
        self.past_us = 0
        """Its mean busy time so far, where that is needed."""
        self.rounds = 0
        self.total_milli = 0
        """Its busy time over that of its peers, summed over all rounds."""


_Excesses = tuple[list[int], int]
"""By how many thousandths each rank was slower in a round, and how much is too much. Empty when it cannot be told."""


class PeerGroup:
    """The ranks of one attempt that do the same work."""

    def __init__(self) -> None:
        self._ranks: dict[int, _Standing] = {}
        self._fresh = 0
        """Ranks that have enough steps in the present round."""
        self._began_ms: int | None = None
        self._closed_ms = 0
        self._middle_us = 0
        """The median of the last round."""

    def note(self, rank: int, steps: int, busy_us: int, now_ms: int) -> None:
        """A rank has made steps, with this median of its busy time. One whose busy time is not measured is no peer."""
        if not busy_us:
            return
        known = self._ranks.get(rank)
        if known is None:
            known = self._ranks[rank] = _Standing(rank)
        known.seen += steps
        if known.seen <= WARM_UP_STEPS:
            return
        if known.steps < ROUND_STEPS_MIN <= known.steps + steps:
            self._fresh += 1
        known.steps += steps
        known.reports.append((busy_us, steps))
        if len(known.reports) > ROUND_REPORTS:
            del known.reports[0]
        if self._began_ms is None:
            self._began_ms = now_ms

    def drop(self, rank: int) -> None:
        """A rank is done, or gone."""
        known = self._ranks.pop(rank, None)
        if known is not None and known.steps >= ROUND_STEPS_MIN:
            self._fresh -= 1

    def presume(self, slow: SlowRank) -> None:
        """Count a rank as a straggler that was found before, until its steps say otherwise."""
        known = self._ranks.setdefault(slow.rank, _Standing(slow.rank))
        known.is_slow, known.score, known.since_ms = True, CLEARED_SCORE, slow.since_ms
        known.excess, known.slow_steps = (slow.slowdown_milli - 1000) * max(slow.steps, 1), max(slow.steps, 1)

    @property
    def slow(self) -> tuple[SlowRank, ...]:
        """The stragglers, by rank."""
        found = [each for each in self._ranks.values() if each.is_slow]
        return tuple(_slow_rank(each) for each in sorted(found, key=lambda each: each.rank))

    @property
    def means_milli(self) -> dict[int, int]:
        """The busy time of each rank over that of its peers, in thousandths, over all rounds that compared them."""
        return {each.rank: each.total_milli // each.rounds for each in self._ranks.values() if each.rounds}

    def weigh(self, now_ms: int) -> bool:
        """Compare the ranks if the round is over. True when a rank became a straggler or ceased to be one."""
        if not self._is_round_over(now_ms):
            return False
        fresh = [each for each in self._ranks.values() if each.steps >= ROUND_STEPS_MIN]
        for standing in fresh:
            standing.busy_us = _middle(standing.reports)
        over, limit_milli = self._over_peers(fresh) if len(fresh) >= _PEERS else _over_past(fresh)
        since_ms, is_change = self._closed_ms or now_ms, False
        for standing, own_milli in zip(fresh, over, strict=False):
            standing.rounds += 1
            standing.total_milli += own_milli + 1000
            # Almost all ranks are neither slow nor suspected.
            if standing.score or own_milli > limit_milli:
                is_change = _count(standing, own_milli, limit_milli, since_ms) or is_change
        for standing in fresh:
            standing.steps = 0
            standing.reports.clear()
        self._fresh, self._began_ms, self._closed_ms = 0, None, now_ms
        return is_change

    def _over_peers(self, fresh: list[_Standing]) -> _Excesses:
        """How much slower each rank was than the median of all."""
        before_us, self._middle_us = self._middle_us, max(median([each.busy_us for each in fresh]), 1)
        middle_us = self._middle_us
        if before_us and abs(middle_us - before_us) * 1000 > CHANGE_MILLI * before_us:
            return [], 0
        over = [min((each.busy_us - middle_us) * 1000 // middle_us, EXCESS_MAX_MILLI) for each in fresh]
        limit_milli = max(SLOW_MILLI, NOISE_FACTOR * median([abs(each) for each in over]))
        slow = sum([each > limit_milli for each in over])
        return ([], 0) if slow > max(len(fresh) // SLOW_SHARE, 1) else (over, limit_milli)

    def _is_round_over(self, now_ms: int) -> bool:
        """True when all ranks have steps to compare, or when the last ones do not come."""
        if self._began_ms is None or not self._fresh:
            return False
        if self._fresh == len(self._ranks):
            return True
        return now_ms - self._began_ms >= ROUND_WAIT_MS and 4 * self._fresh >= 3 * len(self._ranks)


def _over_past(fresh: list[_Standing]) -> _Excesses:
    """How much slower one of two ranks was than it used to be, and than the other is compared with its own past."""
    over = [_own_excess(each) for each in fresh]
    if not any(each.score for each in fresh):  # otherwise one past would change and the other would not
        for standing in fresh:
            _remember(standing)
    if len(over) < 2 or None in over:
        return [], 0
    known = [each or 0 for each in over]
    if min(known) > SLOW_MILLI:  # both are slow
        return [], 0
    return [min(own, _beyond(own, other)) for own, other in zip(known, reversed(known), strict=True)], SLOW_MILLI


def _beyond(own_milli: int, other_milli: int) -> int:
    """What is left of a slowdown when the other's is taken away."""
    return (1000 + own_milli) * 1000 // max(1000 + other_milli, 1) - 1000


def _own_excess(standing: _Standing) -> int | None:
    """How much slower a rank was than in its own past; None while that is too short."""
    if standing.seen - standing.steps - WARM_UP_STEPS < PAST_STEPS_MIN or not standing.past_us:
        return None
    return min((standing.busy_us - standing.past_us) * 1000 // standing.past_us, EXCESS_MAX_MILLI)


def _remember(standing: _Standing) -> None:
    """Add the round to the rank's own past."""
    if not standing.past_us:
        standing.past_us = standing.busy_us
        return
    before = min(max(standing.seen - standing.steps - WARM_UP_STEPS, 1), PAST_STEPS)
    weight = min(standing.steps, PAST_STEPS)
    # A spike must not raise the past by much: it counts as twice the past at most.
    busy_us = min(standing.busy_us, 2 * standing.past_us)
    standing.past_us = (standing.past_us * before + busy_us * weight) // (before + weight)


def _count(standing: _Standing, own_milli: int, limit_milli: int, since_ms: int) -> bool:
    """Add a round to the score of a rank. True when the verdict on it changed."""
    steps = min(standing.steps, ROUND_STEPS)
    above = max(min(own_milli - limit_milli, SLOW_MILLI), -SLOW_MILLI)
    score = standing.score + above * steps
    if score <= 0:
        was_slow, standing.is_slow = standing.is_slow, False
        standing.score = standing.excess = standing.slow_steps = 0
        return was_slow
    if not standing.score:
        standing.since_ms = since_ms
    if above > 0:
        _note_excess(standing, own_milli, steps)
    standing.score = min(score, CLEARED_SCORE)
    if standing.is_slow or score < NAMED_SCORE:
        return False
    standing.is_slow, standing.score = True, CLEARED_SCORE
    return True


def _note_excess(standing: _Standing, own_milli: int, steps: int) -> None:
    """Average by how much it is slower. Older rounds count less and less."""
    if standing.slow_steps >= PAST_STEPS:
        standing.excess, standing.slow_steps = standing.excess // 2, standing.slow_steps // 2
    standing.excess += own_milli * steps
    standing.slow_steps += steps


def _slow_rank(standing: _Standing) -> SlowRank:
    return SlowRank(
        rank=standing.rank,
        slowdown_milli=1000 + standing.excess // max(standing.slow_steps, 1),
        since_ms=standing.since_ms,
        steps=standing.slow_steps,
    )


def _middle(reports: list[tuple[int, int]]) -> int:
    """The median over all steps, if every step took as long as the median of its report."""
    middle_us = reports[0][0]
    left = sum([steps for _, steps in reports]) // 2 if len(reports) > 1 else -1
    for busy_us, steps in sorted(reports):
        if left < 0:
            break
        left, middle_us = left - steps, busy_us
    return middle_us


def median(values: Iterable[int]) -> int:
    """The value in the middle; of an even number of values the mean of the two in the middle."""
    ordered = sorted(values)
    half = len(ordered) // 2
    return ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) // 2
