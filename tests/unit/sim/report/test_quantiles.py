from hypothesis import given
from hypothesis import strategies as st

from muster.sim.measures import nearest_rank
from muster.sim.report.figures.quantiles import CURVE_POINTS, cumulative, percentile


def test_there_is_no_percentile_of_nothing() -> None:
    assert percentile([], 50) is None


@given(st.lists(st.integers(0, 1_000), min_size=1), st.integers(1, 100))
def test_percentiles_are_those_of_the_summary(values: list[int], percent: int) -> None:
    assert percentile(sorted(values), percent) == nearest_rank(sorted(values), percent)


def test_a_curve_has_the_whole_share_of_equal_values() -> None:
    assert cumulative([1, 1, 2], total=4) == ([1, 2], [0.5, 0.75])


@given(st.lists(st.integers(0, 10_000), min_size=1, max_size=3_000))
def test_a_thinned_curve_keeps_its_ends_and_rises(values: list[int]) -> None:
    ordered = sorted(map(float, values))
    xs, ys = cumulative(ordered, total=len(ordered))
    assert len(xs) <= CURVE_POINTS
    assert (xs[0], xs[-1], ys[-1]) == (ordered[0], ordered[-1], 1)
    assert xs == sorted(set(xs))
    assert ys == sorted(ys)
