import pytest

from muster.core.order.run_times import RunTimes
from muster.estimates.survival import RunHistory, Survival
from muster.model.policy import HOUR_MS, MINUTE_MS
from tests.builders import a_job


def test_a_run_that_goes_on_counts_for_the_longer_ones_alone() -> None:
    """Of three, one ends after 1 h. Of the other two the one that ends does after 3 h, so that two thirds do."""
    known = Survival([1 * HOUR_MS, 3 * HOUR_MS], [2 * HOUR_MS])
    assert [known.run_ms(0, part, 0.5) / HOUR_MS for part in (0.1, 0.3, 0.4, 0.9)] == [1, 1, 3, 3]
    assert known.run_ms(1 * HOUR_MS, 0.1, 0.5) == 3 * HOUR_MS


def test_a_job_that_outlasts_all_that_ended_goes_on_by_lindys_rule() -> None:
    known = Survival([MINUTE_MS] * 30, [])
    scale_ms = known.scale_ms(0.5)
    assert known.run_ms(10 * HOUR_MS, 0.5, 0.5) == 20 * HOUR_MS + scale_ms
    assert known.run_ms(10 * HOUR_MS, 0.9, 0.5) == pytest.approx(100 * HOUR_MS + 9 * scale_ms)


def test_beyond_the_longest_that_ended_those_that_still_run_go_on_by_the_same_rule() -> None:
    """A tenth has ended. Half of the others run beyond twice as long, and the scale on top of it."""
    known = Survival([HOUR_MS], [HOUR_MS] * 9)
    assert known.run_ms(0, 0.05, 0.5) == HOUR_MS
    assert known.run_ms(0, 0.55, 0.5) == pytest.approx(2 * HOUR_MS + known.scale_ms(0.5))


@pytest.mark.parametrize("usual_ms", [MINUTE_MS, HOUR_MS, 100 * HOUR_MS])
def test_the_more_runs_are_known_the_narrower_is_the_range_of_scales(usual_ms: int) -> None:
    ranges = []
    for runs in (0, 2, 8, 100):
        known = Survival([usual_ms] * runs, [])
        ranges.append(known.scale_ms(0.9) / known.scale_ms(0.1))
    assert ranges == sorted(ranges, reverse=True)
    assert ranges[0] > 20
    assert ranges[-1] < 2.5


def test_the_scale_of_a_young_cluster_follows_from_those_that_still_run() -> None:
    assert Survival([], [HOUR_MS] * 30).scale_ms(0.5) > 4 * Survival([HOUR_MS] * 30, []).scale_ms(0.5)


def test_a_circle_counts_once_enough_of_it_have_ended_and_else_all_jobs_do() -> None:
    learnt, mine, other = RunTimes(), a_job("mine", gpus=1), a_job("other", gpus=2)
    for _ in range(10):
        learnt.learn(other, 5 * HOUR_MS)
    known, is_enough = RunHistory(learnt).of(mine, 0)
    assert is_enough
    assert known.run_ms(0, 0.5, 0.5) == 5 * HOUR_MS
    assert not RunHistory(learnt).of(mine, 6 * HOUR_MS)[1]
