"""Ranks that do the same work: which of them is slow, and which only seems to be for a moment."""

import pytest

from muster.core.stragglers.peers import (
    CLEARED_SCORE,
    NAMED_SCORE,
    ROUND_STEPS,
    ROUND_WAIT_MS,
    SLOW_MILLI,
    WARM_UP_STEPS,
    PeerGroup,
    SlowRank,
    median,
)

BUSY_US = 100_000
SECOND_MS = 1_000


class Playing:
    """Ranks that report once a second."""

    def __init__(self, ranks: int = 4) -> None:
        self.group, self.ranks, self.now_ms = PeerGroup(), ranks, 0
        for rank in range(ranks):
            self.group.note(rank, WARM_UP_STEPS, BUSY_US, 0)

    def rounds(self, count: int, *, slow: dict[int, float] | None = None, steps: int = 10) -> "Playing":
        for _ in range(count):
            self.now_ms += SECOND_MS
            for rank in range(self.ranks):
                self.group.note(rank, steps, int(BUSY_US * (slow or {}).get(rank, 1)), self.now_ms)
            self.group.weigh(self.now_ms)
        return self

    @property
    def slow(self) -> list[int]:
        return [each.rank for each in self.group.slow]


def test_a_rank_that_stays_a_third_slower_is_named_with_its_slowdown_and_since_when() -> None:
    played = Playing().rounds(5)
    began_ms = played.now_ms
    assert played.rounds(1, slow={2: 1.3}).slow == []
    (slow,) = played.rounds(1, slow={2: 1.3}).group.slow
    assert slow == SlowRank(rank=2, slowdown_milli=1300, since_ms=began_ms, steps=20)


def test_one_round_never_suffices_however_many_steps_it_has() -> None:
    assert Playing().rounds(3).rounds(1, slow={2: 9}, steps=1000).slow == []
    assert ROUND_STEPS * SLOW_MILLI < NAMED_SCORE


def test_a_straggler_is_cleared_only_after_it_kept_up_for_longer() -> None:
    played = Playing().rounds(3).rounds(4, slow={1: 1.5})
    assert played.slow == [1]
    assert played.rounds(2).slow == [1]
    assert played.rounds(2).slow == []
    assert CLEARED_SCORE > NAMED_SCORE


def test_a_straggler_that_is_slow_again_in_between_stays_one() -> None:
    played = Playing().rounds(3).rounds(4, slow={1: 1.5}).rounds(2).rounds(2, slow={1: 1.5}).rounds(2)
    assert played.slow == [1]


def test_no_rank_is_named_when_all_are_slow() -> None:
    everybody = dict.fromkeys(range(4), 3.0)
    assert Playing().rounds(3).rounds(20, slow=everybody).rounds(20).slow == []


def test_no_rank_is_named_when_half_are_slow() -> None:
    for factor in (1.2, 1.5, 4.0):
        assert Playing(8).rounds(3).rounds(20, slow=dict.fromkeys(range(4), factor)).slow == []


def test_several_ranks_of_a_large_group_are_named_together() -> None:
    assert Playing(16).rounds(3).rounds(4, slow={3: 1.4, 4: 1.4, 5: 1.6}).slow == [3, 4, 5]


def test_a_few_percent_are_never_named() -> None:
    assert Playing().rounds(200, slow={0: 1.1}).slow == []


def test_first_steps_do_not_count() -> None:
    group = PeerGroup()
    for rank in range(4):
        group.note(rank, WARM_UP_STEPS, BUSY_US * (90 if rank == 0 else 1), 0)
    assert not group.weigh(SECOND_MS)
    assert not group.slow


def test_a_rank_that_does_not_measure_itself_is_no_peer() -> None:
    played = Playing(4)
    for second in range(1, 6):
        for rank in range(6):
            busy_us = 0 if rank > 3 else BUSY_US * 3 // 2 if rank == 0 else BUSY_US
            played.group.note(rank, 10, busy_us, second * SECOND_MS)
        played.group.weigh(second * SECOND_MS)
    assert played.slow == [0]


def test_a_round_waits_for_all_ranks_and_leaves_the_last_ones_out_after_a_while() -> None:
    played = Playing().rounds(3)

    def three_report(now_ms: int) -> bool:
        for rank in range(3):
            played.group.note(rank, 10, BUSY_US * (2 if rank == 0 else 1), now_ms)
        return played.group.weigh(now_ms)

    for second in range(4, 9):
        assert not three_report(second * SECOND_MS)
    assert not three_report(4 * SECOND_MS + ROUND_WAIT_MS)
    assert three_report(30 * SECOND_MS) or three_report(30 * SECOND_MS + ROUND_WAIT_MS)
    assert played.slow == [0]


def test_a_rank_that_is_done_is_not_waited_for() -> None:
    played = Playing().rounds(3)
    played.group.note(3, 10, BUSY_US, played.now_ms)
    played.group.drop(3)
    played.group.drop(9)
    played.ranks = 3
    assert played.rounds(4, slow={0: 1.5}).slow == [0]


def test_reports_of_single_steps_are_compared_by_their_median() -> None:
    played = Playing().rounds(3)
    for step in range(40):
        for rank in range(4):
            spike = 20 if rank == 1 and step % 5 == 0 else 1
            played.group.note(rank, 1, BUSY_US * spike, step * SECOND_MS)
        played.group.weigh(step * SECOND_MS)
    assert played.slow == []


def test_a_round_that_waits_for_long_keeps_only_the_latest_reports() -> None:
    played = Playing().rounds(3)
    for second in range(100):
        played.group.note(0, 10, BUSY_US * (5 if second < 50 else 1), second * SECOND_MS)
    for rank in (1, 2, 3):
        played.group.note(rank, 10, BUSY_US, 100 * SECOND_MS)
    played.group.weigh(100 * SECOND_MS)
    assert played.group.means_milli[0] == 1000


def test_one_of_two_ranks_is_named_when_it_is_slower_than_it_was_and_the_other_is_not() -> None:
    assert Playing(2).rounds(8).rounds(3, slow={1: 1.4}).slow == [1]
    assert Playing(2).rounds(8).rounds(20, slow={0: 1.4, 1: 1.4}).slow == []


def test_two_ranks_that_always_differed_are_both_fine() -> None:
    assert Playing(2).rounds(50, slow={1: 1.6}).slow == []


def test_one_rank_alone_is_never_named() -> None:
    assert Playing(1).rounds(8).rounds(20, slow={0: 3.0}).slow == []


def test_a_straggler_that_was_found_before_stays_one_until_its_steps_say_otherwise() -> None:
    played = Playing()
    known = SlowRank(rank=2, slowdown_milli=1400, since_ms=7, steps=20)
    played.group.presume(known)
    assert played.group.slow == (known,)
    assert played.rounds(1).slow == [2]
    assert played.rounds(5).slow == []


def test_a_slowdown_that_grows_is_told_as_it_is_now() -> None:
    played = Playing().rounds(3).rounds(10, slow={1: 1.3}).rounds(60, slow={1: 2.0})
    (slow,) = played.group.slow
    assert slow.slowdown_milli > 1900


@pytest.mark.parametrize(("values", "middle"), [((5,), 5), ((9, 1, 5), 5), ((4, 1, 9, 6), 5)])
def test_the_median_of_an_even_number_lies_between(values: tuple[int, ...], middle: int) -> None:
    assert median(values) == middle
