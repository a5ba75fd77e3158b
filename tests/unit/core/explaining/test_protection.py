"""A job that may preempt is told what protects the jobs whose place it could take, and until when."""

from typing import Any

import pytest

from muster.model.job import RunningJob
from muster.model.plan import Reason
from muster.model.policy import DEFAULT_TIERS, HOUR_MS, Policy
from muster.model.records import evolve
from muster.model.scenario import Scenario
from muster.model.spec import JobSpec, Launch
from tests.builders import NOW_MS, a_job, a_scenario, a_team, flat, runs, waits
from tests.unit.core.outcomes import codes, evicted, explained

NO_PROMISES = Policy(hold_depth=0)


def victim(
    job_id: str = "r", gpus: int = 8, *, node: str = "n1", at: int = 0, seconds_ago: int = 7200, **fields: Any
) -> RunningJob:
    spec = a_job(gpus=gpus, hours=5, **fields)
    return runs(job_id, spec, [(node, range(at, at + gpus))], hours_ago=seconds_ago / 3600)


def urgent(*running: RunningJob, **fields: Any) -> Scenario:
    """A production job that needs a whole node, behind these jobs on one node."""
    spec = a_job(gpus=8, tier=fields.pop("tier", "production"), team=fields.pop("team", "default"))
    return a_scenario(fields.pop("cluster", flat(1)), running=running, waiting=[waits("w", spec)], **fields)


def told(scenario: Scenario) -> list[Reason]:
    return [reason for reason in explained(scenario)["w"].reasons if reason.code == "protected"]


def words(scenario: Scenario) -> list[tuple[str, str]]:
    return [(reason.message, reason.would_help) for reason in told(scenario)]


def test_a_job_that_has_not_run_long_enough_is_named_with_the_time_that_is_left() -> None:
    scenario = urgent(victim(seconds_ago=14))
    assert codes(scenario) == ["capacity", "protected"]
    assert words(scenario) == [
        (
            "r has run for 14 s and is protected until it has run for 10 min (min_runtime)",
            "nothing needed: r may be told to leave in 9 min 46 s, and then loses up to 1.4 GPU hours",
        )
    ]
    assert told(scenario)[0].until_ms == NOW_MS + 586_000


def test_without_promises_the_answer_is_the_same() -> None:
    assert words(urgent(victim(seconds_ago=14), policy=NO_PROMISES)) == words(urgent(victim(seconds_ago=14)))


def test_of_several_young_jobs_the_youngest_decides_and_only_those_in_the_way_are_named() -> None:
    running = [
        victim("old", 4),
        victim("young", 2, at=4, seconds_ago=60),
        victim("younger", 2, at=6, seconds_ago=30),
        victim("elsewhere", 4, node="n2", seconds_ago=10),
        victim("firm", 4, node="n2", at=4, preemptible=False),
    ]
    (reason,) = told(urgent(*running, cluster=flat(2)))
    assert reason.about == ("young", "younger")
    assert reason.message == "young and younger are protected until each has run for 10 min (min_runtime)"
    assert reason.until_ms == NOW_MS + 570_000


def test_a_job_that_is_not_preemptible_is_named_with_the_time_that_it_may_keep_its_gpus() -> None:
    assert words(urgent(victim(preemptible=False))) == [
        (
            "r runs with `preemptible: false`, and may keep its GPUs for 3 h",
            "r ending, or without `preemptible: false`",
        )
    ]


@pytest.mark.parametrize(
    ("waiting", "running", "which"),
    [("production", "production", "is not preemptible"), ("standard", "production", "is above that of this job")],
)
def test_a_tier_protects_its_jobs(waiting: str, running: str, which: str) -> None:
    assert words(urgent(victim(tier=running), tier=waiting)) == [
        (f"r runs in tier {running}, which {which}, and may keep its GPUs for 3 h", "r ending")
    ]


@pytest.mark.parametrize(("waiting", "running"), [("standard", "standard"), ("exploratory", "production")])
def test_jobs_of_the_same_tier_and_jobs_that_stop_nobody_hear_nothing_of_it(waiting: str, running: str) -> None:
    assert codes(urgent(victim(tier=running), tier=waiting)) == ["capacity"]


def test_nothing_is_said_where_the_policy_has_no_preemption() -> None:
    assert codes(urgent(victim(seconds_ago=14), policy=Policy(preemption=False))) == ["capacity"]


def test_each_protection_that_is_in_the_way_is_told() -> None:
    scenario = urgent(
        victim("young", 2, seconds_ago=60),
        victim("firm", 2, at=2, preemptible=False),
        victim("top", 4, at=4, tier="production"),
    )
    assert [(reason.about, reason.would_help.startswith("nothing")) for reason in told(scenario)] == [
        (("young",), False),
        (("firm",), False),
        (("top",), False),
    ]


def limited(most: int, recent: int, *running: RunningJob) -> Scenario:
    return urgent(
        *running,
        policy=Policy(preemptions_per_team_hour=most),
        recent_preemptions=(("a", recent),) if recent else (),
    )


def test_the_rate_limit_of_preemptions_is_named_with_its_end() -> None:
    (reason,) = told(limited(3, 3, victim(team="a")))
    assert reason.message == "r would have to leave, and team a may lose no more than 3 jobs in an hour"
    assert reason.would_help.startswith("nothing needed: r may be told to leave in 1 h, and then loses up to")
    assert reason.until_ms == NOW_MS + HOUR_MS


def test_more_victims_than_the_rate_limit_allows_at_once_are_named() -> None:
    (reason,) = told(limited(1, 0, victim("r1", 4, team="a"), victim("r2", 4, at=4, team="a")))
    assert reason.about == ("r1", "r2")
    assert reason.until_ms is None
    assert reason.would_help == "r1 and r2 ending, or a higher preemptions_per_team_hour"
    assert told(limited(2, 1, victim("r1", 4, team="a"), victim("r2", 4, at=4, team="a")))[0].until_ms is not None


def test_a_guarantee_protects_jobs_of_its_team_where_guarantees_come_before_tiers() -> None:
    tiers = tuple(tier.name for tier in DEFAULT_TIERS)
    teams = [a_team("a", guaranteed={"*": 4}, tiers=tiers), a_team("b", guaranteed={"*": 8}, tiers=tiers)]
    scenario = urgent(victim(team="b"), team="a", teams=teams)
    assert codes(scenario) == ["quota_borrow", "capacity", "protected"]
    assert words(scenario) == [
        (
            "r runs inside what team b is guaranteed, which comes before a tier, and may keep its GPUs for 3 h",
            "a larger guarantee for team a, or r ending",
        )
    ]


def test_a_team_that_may_take_back_its_guarantee_is_told_of_young_borrowers() -> None:
    teams = [a_team("a", guaranteed={"*": 8}), a_team("b")]
    scenario = urgent(victim(team="b", seconds_ago=60), team="a", tier="standard", teams=teams)
    assert codes(scenario) == ["capacity", "protected"]
    assert told(scenario)[0].about == ("r",)


@pytest.mark.parametrize("seconds_ago", [60, 7200])
def test_jobs_that_together_use_more_than_their_team_borrows_are_named_and_not_when_they_were_old_enough(
    seconds_ago: int,
) -> None:
    teams = [a_team("a", guaranteed={"*": 8}), a_team("b", guaranteed={"*": 6})]
    running = [victim("r1", 2, team="b", seconds_ago=seconds_ago), victim("r2", 6, team="b", at=2)]
    scenario = urgent(*running, team="a", tier="standard", teams=teams)
    ((message, helps),) = words(scenario)
    assert message.startswith("r1 and r2 would have to leave, and together use more than team b borrows, and may keep")
    assert helps == "r1 and r2 ending"
    assert told(scenario)[0].rule == "guaranteed"


def test_jobs_that_use_no_more_than_their_team_borrows_may_be_told_to_leave_in_time() -> None:
    teams = [a_team("a", guaranteed={"*": 8}), a_team("b", guaranteed={"*": 5})]
    running = [victim("r1", 2, team="b", seconds_ago=60), victim("r2", 6, team="b", at=2)]
    assert [each.rule for each in told(urgent(*running, team="a", tier="standard", teams=teams))] == ["min_runtime"]


def test_a_team_inside_its_guarantee_hears_nothing_of_jobs_that_do_not_borrow() -> None:
    teams = [a_team("a", guaranteed={"*": 8}), a_team("b", guaranteed={"*": 8})]
    scenario = urgent(victim(team="b"), victim("x", 0, team="b", cpus=1), team="a", tier="exploratory", teams=teams)
    assert codes(scenario) == ["capacity"]


def test_a_job_that_makes_others_leave_says_whose_place_it_takes_and_what_they_lose() -> None:
    scenario = urgent(victim("r1", 4), victim("r2", 4, at=4))
    assert [entry[:2] for entry in evicted(scenario)] == [("r1", "w"), ("r2", "w")]
    (reason,) = explained(scenario)["w"].reasons
    assert (reason.code, reason.about) == ("capacity", ("r1", "r2"))
    assert reason.message == (
        "it takes the place of r1 and r2, which are told to leave within 30 s and lose up to 16 GPU hours of work"
    )
    assert reason.would_help == "nothing needed: it starts on n1 in 30 s at the latest"


def test_a_job_that_waits_for_jobs_told_to_leave_before_says_the_same() -> None:
    spec = a_job(gpus=8, hours=5, checkpoint=True)
    leaving = runs("r", spec, [("n1", range(8))], saved_hours_ago=0, leaving_by_ms=NOW_MS + 20_000)
    (reason,) = explained(urgent(leaving))["w"].reasons
    assert reason.about == ("r",)
    assert reason.message == "it takes the place of r, which is told to leave within 20 s and loses no work"


def test_an_elastic_job_that_shrinks_is_named() -> None:
    def told(spec: JobSpec, **fields: Any) -> str:
        wide = runs("wide", spec, [("n1", range(4)), ("n1", range(4, 8))], **fields)
        scenario = a_scenario(flat(1), running=[wide], waiting=[waits("w", a_job(gpus=4))])
        (reason,) = explained(scenario)["w"].reasons
        assert reason.about == ("wide",)
        return reason.message

    again = "wide is started again with fewer workers for it and loses "
    elastic = a_job(gpus=4, workers=(1, 2), hours=5)
    assert told(elastic) == f"{again}up to 8 GPU hours of work, as it has no checkpoint"
    saves = a_job(gpus=4, workers=(1, 2), hours=5, checkpoint=True)
    assert told(saves, saved_hours_ago=0) == f"{again}no work"
    assert told(evolve(elastic, launch=Launch.TORCHRUN)) == "wide gives up workers for it"
