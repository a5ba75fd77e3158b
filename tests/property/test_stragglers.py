"""Whatever the noise, a rank that is slow for itself is named soon, and no other rank is."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.stragglers import (
    NOISES,
    Slowness,
    all_slow,
    compiling,
    false_alarms,
    gaussian,
    half_slow,
    one_slow,
    spikes,
    training,
    uniform,
)
from muster.core.stragglers.peers import PeerGroup

SEEDS = range(5_000, 5_003)
"""Neither those that the limits were chosen on, nor those of the tables in the documents."""

ORDINARY = {"uniform 10 %": uniform, "gaussian 10 %": gaussian, "spikes": spikes}


@pytest.mark.parametrize("name", ORDINARY)
@pytest.mark.parametrize("per_second", [0.5, 3.0, 10.0])
def test_one_rank_of_four_that_is_slower_by_a_third_is_named_within_fifty_steps(name: str, per_second: float) -> None:
    for seed in SEEDS:
        trial = training(
            ranks=4, steps=150, per_second=per_second, noise=ORDINARY[name], seed=seed, slowness=one_slow(1.3, 101)
        )
        ((rank, step),) = trial.named
        assert rank == 0
        assert step - 100 <= 50


@pytest.mark.parametrize("name", ORDINARY)
@pytest.mark.parametrize("slowness", [None, all_slow, half_slow, compiling])
def test_nobody_is_named_in_ten_thousand_steps_of_noise_and_stalls(name: str, slowness: Slowness | None) -> None:
    assert false_alarms(4, 5.0, ORDINARY[name], SEEDS[:1], slowness) == 0


@pytest.mark.parametrize("name", NOISES)
def test_nobody_is_named_in_ten_thousand_steps_of_any_noise(name: str) -> None:
    assert false_alarms(8, 2.0, NOISES[name], SEEDS[:1]) == 0


reports = st.lists(
    st.tuples(st.integers(0, 5), st.integers(1, 400), st.integers(0, 10**9), st.integers(0, 20_000)), max_size=80
)


@given(reports)
def test_any_reports_in_any_order_are_taken(reported: list[tuple[int, int, int, int]]) -> None:
    group, now_ms = PeerGroup(), 0
    for rank, steps, busy_us, later_ms in reported:
        now_ms += later_ms
        group.note(rank, steps, busy_us, now_ms)
        before = group.slow
        is_change = group.weigh(now_ms)
        assert is_change or [each.rank for each in before] == [each.rank for each in group.slow]
        for each in group.slow:
            assert 1000 < each.slowdown_milli <= 10_000
            assert 0 <= each.since_ms <= now_ms


@given(st.integers(0, 2**32), st.integers(3, 12), st.permutations(range(12)))
def test_the_numbers_of_ranks_do_not_matter(seed: int, ranks: int, order: list[int]) -> None:
    """The same times under other numbers give the same verdicts under these numbers."""
    source = random.Random(seed)
    group, renamed = PeerGroup(), PeerGroup()
    for second in range(12):
        for rank in range(ranks):
            busy_us = int(100_000 * source.uniform(0.9, 1.1) * (2 if rank == 0 and second > 3 else 1))
            group.note(rank, 10, busy_us, second * 1000)
            renamed.note(order[rank], 10, busy_us, second * 1000)
        group.weigh(second * 1000)
        renamed.weigh(second * 1000)
    assert sorted(order[each.rank] for each in group.slow) == [each.rank for each in renamed.slow]
