from typing import Any

import pytest

from muster.sim.recommend.comparison import GROUP_JOBS, gain, worsenings
from tests.unit.sim.recommend.scores import a_group, a_score


def test_a_gain_is_the_part_by_which_jobs_complete_sooner() -> None:
    assert gain(a_score(1000.0), a_score(900.0)) == 0.1
    assert gain(a_score(1000.0), a_score(1100.0)) == -0.1
    assert gain(a_score(0.0), a_score(1.0)) == 0.0


def test_equal_scores_are_worse_in_nothing() -> None:
    assert worsenings(a_score(), a_score()) == ()


@pytest.mark.parametrize(
    ("figure", "unseen", "worse", "too_much"),
    [
        ("unfinished", 0, None, 1),
        ("wait_p99_s", 20_300.0, 24_000.0, 26_000.0),
        ("unfair", 0.104, 0.115, 0.13),
        ("rho_worst", 4.05, 5.0, 6.5),
        ("preemptions_per_job", 0.205, 9.0, None),
        ("utilisation", 0.79, 0.5, None),
    ],
)
def test_a_figure_is_told_from_some_point_on_and_bars_from_another(
    figure: str, unseen: float, worse: float | None, too_much: float | None
) -> None:
    def found(value: float) -> list[bool]:
        return [each.too_much for each in worsenings(a_score(), a_score(**{figure: value}))]

    assert found(unseen) == []
    if worse is not None:
        assert found(worse) == [False]
    if too_much is not None:
        assert found(too_much) == [True]


def test_what_becomes_better_is_not_told() -> None:
    better: dict[str, Any] = {"wait_p99_s": 1.0, "unfair": 0.0, "rho_worst": 1.0, "utilisation": 1.0}
    assert worsenings(a_score(), a_score(**better)) == ()


def test_the_most_urgent_tier_may_not_pay_and_others_may() -> None:
    before = a_score(tiers=(a_group("production", 1000.0), a_group("standard", 1000.0)))
    after = a_score(tiers=(a_group("production", 1500.0), a_group("standard", 1500.0)))
    assert [(each.tier, each.too_much) for each in worsenings(before, after)] == [
        ("production", True),
        ("standard", False),
    ]


def test_a_team_may_not_wait_more_than_twice_as_long() -> None:
    before = a_score(teams=(a_group("nlp", 3000.0), a_group("vision", 3000.0)))
    after = a_score(teams=(a_group("nlp", 5000.0), a_group("vision", 7000.0)))
    assert [(each.team, each.too_much) for each in worsenings(before, after)] == [("nlp", False), ("vision", True)]


def test_groups_of_few_jobs_are_not_compared() -> None:
    before = a_score(teams=(a_group("nlp", 10.0, GROUP_JOBS - 1), a_group("vision", 10.0)))
    after = a_score(teams=(a_group("nlp", 90_000.0, GROUP_JOBS), a_group("vision", 90_000.0, GROUP_JOBS - 1)))
    assert worsenings(before, after) == ()
