"""The sentence that says what to do."""

from typing import Any

from muster.sim.report.figures.advice import advice
from muster.sim.report.figures.contender import Contender
from tests.unit.sim.report.made_up import a_replay

HOUR_S = 3_600


def a_contender(policy: str, mean_h: float, *, unfair: float = 0.1, **summary: Any) -> Contender:
    figures = {"jct_s": {"mean": mean_h * HOUR_S}, "rho": {"unfair_fraction": unfair}, **summary}
    return Contender(replay=a_replay(policy, jobs=1), label=policy, slot=0, summary=figures)


def said(*contenders: Contender) -> str:
    return advice(contenders).replace("\u00a0", " ")


def test_the_best_policy_is_advised_with_what_it_brings() -> None:
    text = said(a_contender("fifo", 9), a_contender("muster", 4), a_contender("easy", 6))
    assert text.startswith("Use muster: jobs take 4 h on average from submission to end, instead of 6 h under easy, ")


def test_a_policy_that_is_as_good_as_the_best_is_advised() -> None:
    assert "about as long as under las" in said(a_contender("las", 4), a_contender("muster", 4.01))


def test_a_better_policy_is_advised_although_another_is_judged() -> None:
    text = said(a_contender("muster", 6), a_contender("easy", 4))
    assert text.startswith("Use easy rather than muster for jobs like these: they take 4 h on average instead of 6 h")


def test_without_the_default_the_last_policy_is_judged() -> None:
    assert said(a_contender("fifo", 9), a_contender("fair", 8)).startswith("Use fair: ")


def test_policies_that_know_the_future_are_not_advised() -> None:
    text = said(a_contender("fifo", 9), a_contender("srsf-oracle", 1), a_contender("muster", 4))
    assert text.startswith("Use muster")
    assert "srsf" not in text


def test_the_price_is_said_where_more_jobs_are_treated_unfairly() -> None:
    text = said(a_contender("fair", 9), a_contender("muster", 4, unfair=0.3, unfinished=2))
    assert "though 30.0 % instead of 10.0 % of them finish later than with a fair share; 2 jobs did not finish" in text


def test_one_policy_alone_should_be_compared() -> None:
    assert said(a_contender("muster", 4)).endswith("such as --policy fifo,muster, to see what muster brings.")
