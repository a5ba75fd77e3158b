"""What a proposal costs, and when it pays."""

from muster.core.planning.displacing.proposals import pays
from muster.model.policy import HOUR_MS
from muster.model.resources import GPU_MILLI


def test_a_gain_that_only_equals_the_cost_does_not_pay() -> None:
    assert not pays(HOUR_MS, 2 * GPU_MILLI, cost=2 * HOUR_MS)
    assert pays(HOUR_MS, 2 * GPU_MILLI, cost=2 * HOUR_MS - 1)


def test_the_cost_counts_as_often_as_the_factor_says() -> None:
    for factor_milli, worth in ((2_000, False), (1_999, True), (0, True)):
        assert pays(HOUR_MS, GPU_MILLI, HOUR_MS // 2, factor_milli) is worth


def test_a_gang_that_would_start_later_gains_nothing_even_if_moves_count_nothing() -> None:
    assert not pays(-1, GPU_MILLI, cost=0, factor_milli=0)
    assert not pays(0, GPU_MILLI, cost=0, factor_milli=0)
