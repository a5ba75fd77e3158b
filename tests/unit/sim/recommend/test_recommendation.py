from collections.abc import Callable
from dataclasses import replace

import pytest

from muster.formats.rules.rules import policy_part
from muster.formats.text.document import Problems, parse_document
from muster.model.errors import InvalidInput
from muster.model.job import JobState
from muster.model.policy import DEFAULT_TIERS, Policy
from muster.model.team import Team
from muster.model.trace import Trace
from muster.policies import NamedPolicy, find_policy
from muster.sim.outcome import JobOutcome, Replay
from muster.sim.recommend.document import recommendation_document, settings_to_write
from muster.sim.recommend.recommendation import JOBS_MIN, Advice, Recommendation, recommend
from muster.sim.recommend.score import score_of
from tests.unit.sim.builders import a_replay, a_trace, a_trace_job, an_outcome

HALF = JOBS_MIN // 2
Waiting = Callable[[Policy, int], float]
"""How long the job at a place waits under a policy."""


def a_history(jobs: int = JOBS_MIN) -> Trace:
    return a_trace(*(a_trace_job(str(place), place * 1000, 100) for place in range(jobs)))


def made_up(waiting: Waiting) -> Callable[[Trace, NamedPolicy], Replay]:
    """Replays in which jobs wait as a test says."""

    def replaying(trace: Trace, policy: NamedPolicy) -> Replay:
        def outcome(place: int) -> JobOutcome:
            job = trace.jobs[place]
            start_s = job.submit_ms / 1000 + waiting(policy.rules, place)
            return an_outcome(job, start_s, start_s + 100)

        return a_replay(*(outcome(place) for place in range(len(trace.jobs))))

    return replaying


def recommended(waiting: Waiting, policy: str = "muster") -> Recommendation:
    return recommend(a_history(), find_policy(policy), made_up(waiting), teams=(), tiers=DEFAULT_TIERS)


def test_what_is_better_on_both_halves_is_recommended() -> None:
    found = recommended(lambda rules, _: 300 if rules.turns else 200)
    assert found.advice is Advice.CHANGE
    assert found.judged is not None
    assert found.judged.best.changes == (("turns", False),)
    assert found.judged.best.gain == 0.25
    assert (found.judged.present.jobs, found.split) == (HALF, HALF)


def test_what_is_better_nowhere_is_kept_without_being_judged() -> None:
    found = recommended(lambda *_: 300)
    assert (found.advice, found.judged) == (Advice.NOTHING_BETTER, None)
    assert found.replays == 1 + len(found.chosen.tried)


def test_a_gain_that_the_second_half_does_not_confirm_is_noise() -> None:
    found = recommended(lambda rules, place: 300 if rules.turns or place >= HALF else 200)
    assert found.advice is Advice.GAIN_NOT_CONFIRMED
    assert found.chosen.best is not None
    assert found.chosen.best.gain == 0.25
    document = recommendation_document(found)
    assert (document["settings"], document["judged_on"]["then"]["settings"]) == ({}, {"turns": False})


def test_harm_that_only_the_second_half_shows_bars_a_change() -> None:
    def waiting(rules: Policy, place: int) -> float:
        if rules.turns:
            return 300
        return 6000 if place >= JOBS_MIN - 2 else 100

    found = recommended(waiting)
    assert found.advice is Advice.HARM_FOUND
    assert found.judged is not None
    assert "wait_p99_s" in [worse.figure for worse in found.judged.best.too_much]


def test_jobs_that_ask_for_nothing_are_in_neither_half() -> None:
    history = a_history()
    idle = a_trace_job("idle", 0, 1, 0)
    trace = Trace(name="tiny", jobs=(idle, *history.jobs))
    found = recommend(trace, find_policy("muster"), made_up(lambda *_: 1), teams=(), tiers=DEFAULT_TIERS)
    assert found.trace.jobs == history.jobs


def test_too_few_jobs_are_refused() -> None:
    with pytest.raises(InvalidInput, match=f"{JOBS_MIN - 1} jobs are too few to tell settings apart"):
        recommend(a_history(JOBS_MIN - 1), find_policy("muster"), made_up(lambda *_: 1), teams=(), tiers=())


@pytest.mark.parametrize("policy", ["las", "sjf-oracle"])
def test_a_policy_that_is_not_made_of_settings_is_refused(policy: str) -> None:
    with pytest.raises(InvalidInput, match=f"{policy} is not made of settings"):
        recommended(lambda *_: 1, policy)


def test_the_same_history_gives_the_same_document() -> None:
    def waiting(rules: Policy, place: int) -> float:
        return 200 + place % 7 + rules.hold_depth * 10

    made = [recommendation_document(recommended(waiting)) for _ in range(2)]
    assert made[0] == made[1]
    assert made[0]["settings"] == {"hold_depth": 1}
    assert [each["settings"] for each in made[0]["tried"]][:2] == [{"turns": False}, {"order": "fifo"}]


@pytest.mark.parametrize("name", ["muster", "fair", "easy"])
def test_what_is_to_be_written_makes_the_recommended_policy(name: str) -> None:
    found = recommended(lambda rules, _: 300 - rules.hold_depth * 10, name)
    assert found.judged is not None
    best = found.judged.best
    lines = settings_to_write(found, best, is_file=False)
    assert policy_part(lines, Problems(parse_document("{}", file="x")), ()) == best.policy
    assert settings_to_write(found, best, is_file=True) == {"hold_depth": 16}


def test_what_changes_back_to_the_default_is_written_too() -> None:
    found = recommended(lambda rules, _: 200 if rules.turns else 300, "fair")
    assert found.judged is not None
    assert settings_to_write(found, found.judged.best, is_file=False) == {"turns": True}


def test_a_part_of_a_replay_is_scored_among_all_its_jobs() -> None:
    jobs = [a_trace_job("a", 0, 100, 8, tier="production"), a_trace_job("b", 50, 100, 8, team="nlp")]
    made = a_replay(an_outcome(jobs[0], 0, 100), an_outcome(jobs[1], 100, 200, preemptions=1))
    whole = score_of(made, teams=(), tiers=DEFAULT_TIERS)
    part = score_of(made, teams=(), tiers=DEFAULT_TIERS, first=1)
    assert (whole.completion_mean_s, part.completion_mean_s) == (125.0, 150.0)
    assert (part.jobs, part.wait_p99_s, part.preemptions_per_job) == (1, 50.0, 1.0)
    # For a third of its life the job shared the cluster with the one before it.
    assert part.rho_worst == pytest.approx(1.5 * (1 / 3 * 0.5 + 2 / 3))
    assert [group.name for group in whole.tiers] == ["production", "standard"]
    assert [group.name for group in whole.teams] == ["default", "nlp"]
    assert score_of(made, teams=(Team(path=jobs[1].team, weight=1000),), tiers=(), first=1).rho_worst > 0


def test_a_part_in_which_nothing_finishes_cannot_be_scored() -> None:
    made = a_replay(an_outcome(a_trace_job("a"), None, None, state=JobState.QUEUED))
    with pytest.raises(InvalidInput, match="no job of this part of tiny finishes"):
        score_of(made, teams=(), tiers=())


def test_a_file_of_the_present_policy_keeps_its_name() -> None:
    present = replace(find_policy("muster"), name="today.toml")
    found = recommend(a_history(), present, made_up(lambda *_: 1), teams=(), tiers=DEFAULT_TIERS)
    assert recommendation_document(found)["policy"] == "today.toml"
