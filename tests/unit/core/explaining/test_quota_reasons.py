"""What a job is told of limits and guarantees is true of its team."""

from typing import Any

from muster.model.scenario import Scenario
from tests.builders import a_cluster, a_job, a_node, a_scenario, a_team, flat, runs, waits
from tests.unit.core.outcomes import codes, explained

ON_LOAN = ", so it runs only on what others leave idle"


def behind(
    gpus: int, *, used: int = 0, guaranteed: dict[str, int] | None = None, others: int = 8, **fields: Any
) -> Scenario:
    """A job of team a that waits because the cluster is full; team a uses some of its GPUs and team b the rest."""
    running = [runs("b", a_job(gpus=8, team="b", preemptible=False), [("n1", range(8))])]
    if used:
        running.append(runs("a", a_job(gpus=used, team="a", preemptible=False), [("n2", range(used))]))
    if used < 8:
        rest = range(used, 8)
        running.append(runs("b2", a_job(gpus=len(rest), team="b", preemptible=False), [("n2", rest)]))
    teams = [a_team("b", guaranteed={"*": others} if others else {})]
    if guaranteed is not None:
        teams.append(a_team("a", guaranteed=guaranteed))
    waiting = [waits("w", a_job(gpus=gpus, team="a", **fields))]
    return a_scenario(flat(2), teams=teams, running=running, waiting=waiting)


def borrow(scenario: Scenario) -> tuple[str, str]:
    (reason,) = [reason for reason in explained(scenario)["w"].reasons if reason.code == "quota_borrow"]
    return reason.message, reason.would_help


def test_a_job_that_alone_exceeds_the_guarantee_is_told_so_of_a_team_that_uses_nothing() -> None:
    assert borrow(behind(8, guaranteed={"*": 4})) == (
        f"this job alone needs 8 GPUs and team a is guaranteed 4{ON_LOAN}",
        "a larger guarantee, or a smaller job",
    )


def test_a_job_beside_others_of_its_team_is_told_what_they_use() -> None:
    message = f"of the 6 GPUs that team a is guaranteed, 4 are used by its jobs, and this one needs 4{ON_LOAN}"
    assert borrow(behind(4, used=4, guaranteed={"*": 6})) == (
        message,
        "the team's own jobs ending, or a larger guarantee",
    )
    assert ", 1 is used by its jobs" in borrow(behind(4, used=1, guaranteed={"*": 4}))[0]


def test_a_guarantee_that_is_used_up_is_called_so() -> None:
    assert borrow(behind(2, used=4, guaranteed={"h100": 4}))[0] == (
        f"jobs of team a use all of the 4 h100 that it is guaranteed{ON_LOAN}"
    )


def test_a_guarantee_for_another_type_is_no_guarantee() -> None:
    assert borrow(behind(2, guaranteed={"a100": 4})) == (
        f"team a is guaranteed no h100{ON_LOAN}",
        "a guarantee for this type",
    )


def test_a_team_without_a_guarantee_beside_teams_that_have_one() -> None:
    assert borrow(behind(2)) == (f"team a is guaranteed nothing{ON_LOAN}", "a guarantee for the team")


def test_nothing_is_said_of_guarantees_where_there_are_none_and_to_jobs_without_gpus() -> None:
    assert "quota_borrow" not in codes(behind(2, others=0))
    full = [runs("b", a_job(gpus=0, cpus=8, team="b", preemptible=False), [("n1", ())])]
    scenario = a_scenario(
        flat(1, cpus=8),
        teams=[a_team("a", guaranteed={"*": 4})],
        running=full,
        waiting=[waits("w", a_job(gpus=0, cpus=8, team="a"))],
    )
    assert codes(scenario) == ["capacity"]


def test_every_limit_that_the_job_would_break_is_told() -> None:
    cluster = a_cluster(a_node("n1"), a_node("n2"))
    scenario = a_scenario(
        cluster,
        teams=[a_team("a", limit={"*": 10}), a_team("a/x", limit={"*": 8})],
        running=[runs("r", a_job(gpus=8, team="a/x", preemptible=False), [("n1", range(8))])],
        waiting=[waits("w", a_job(gpus=4, team="a/x"))],
    )
    found = [reason.about for reason in explained(scenario)["w"].reasons if reason.code == "quota_limit"]
    assert found == [("a/x", "*"), ("a", "*")]
