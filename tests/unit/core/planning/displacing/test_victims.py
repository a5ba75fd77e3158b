"""Victims: only legal ones, no more than needed, each told once."""

import pytest

from muster.checker import violations
from muster.core.planning import plan
from muster.core.snapshot import Snapshot
from muster.model.ids import TierName
from muster.model.job import RunningJob, WaitingJob
from muster.model.plan import Plan
from muster.model.policy import Tier
from muster.model.scenario import Scenario
from tests.builders import NOW_MS, a_job, a_promise, a_scenario, a_team, flat, runs, waits


def planned(scenario: Scenario) -> Plan:
    return plan(Snapshot.of(scenario), scenario.now_ms)


def test_one_victim_that_frees_enough_for_two_preemptors_is_the_only_one() -> None:
    scenario = a_scenario(
        flat(2),
        running=[
            runs("v1", a_job(gpus=8, tier="exploratory"), [("n1", range(8))]),
            runs("v2", a_job(gpus=8, tier="exploratory"), [("n2", range(8))]),
        ],
        waiting=[waits("p1", a_job(gpus=4)), waits("p2", a_job(gpus=4))],
    )
    assert len(planned(scenario).evictions) == 1


def test_no_job_is_evicted_for_a_gang_that_fits_once_those_told_to_leave_are_gone() -> None:
    scenario = a_scenario(
        flat(2),
        running=[
            runs("v1", a_job(gpus=8, tier="exploratory"), [("n1", range(8))], leaving_by_ms=NOW_MS + 30_000),
            runs("v2", a_job(gpus=8, tier="exploratory"), [("n2", range(8))]),
        ],
        waiting=[waits("p", a_job(gpus=4))],
    )
    assert not planned(scenario).evictions


def test_a_job_that_shrinks_for_one_gang_is_not_also_evicted_for_another() -> None:
    elastic = a_job(gpus=2, workers=(1, 4), tier="exploratory")
    scenario = a_scenario(
        flat(1),
        running=[runs("e", elastic, [("n1", (0, 1)), ("n1", (2, 3)), ("n1", (4, 5)), ("n1", (6, 7))])],
        waiting=[
            waits("p1", a_job(gpus=2, priority=90)),
            waits("p2", a_job(gpus=6, priority=1), hours_ago=0.5),
        ],
    )
    made = planned(scenario)
    assert not {entry.job for entry in made.evictions} & {entry.job for entry in made.resizes}


def test_a_small_claim_inside_the_guarantee_gives_a_larger_one_no_victims() -> None:
    scenario = a_scenario(
        flat(3, gpus=3),
        teams=[
            a_team("a", guaranteed={"*": 16}),
            a_team("a/x", guaranteed={"*": 4}),
            a_team("a/y", guaranteed={"*": 2}),
        ],
        tiers=(Tier(name=TierName("standard")),),
        running=[runs(f"v{n}", a_job(gpus=3, team="a/y"), [(f"n{n}", range(3))]) for n in (1, 2, 3)],
        waiting=[
            waits("fits-no-node", a_job(gpus=4, team="a/x", priority=90)),
            waits("beyond-guarantee", a_job(gpus=3, workers=2, team="a/x", priority=1)),
        ],
    )
    assert not planned(scenario).evictions


def test_an_overdue_job_beside_the_promised_gpus_may_stay() -> None:
    scenario = a_scenario(
        flat(1),
        running=[
            runs("on", a_job(gpus=4, hours=1), [("n1", range(4))], hours_ago=2),
            runs("beside", a_job(gpus=2, hours=1), [("n1", (4, 5))], hours_ago=2),
        ],
        waiting=[waits("promised", a_job(gpus=4), hours_ago=30)],
        promises=[a_promise("promised", [("n1", range(4))], in_hours=0)],
    )
    assert [entry.job for entry in planned(scenario).evictions] == ["on"]


def test_the_order_in_which_running_jobs_are_listed_does_not_choose_the_victim() -> None:
    running = [
        runs("v1", a_job(gpus=4, tier="exploratory"), [("n1", range(4))]),
        runs("v2", a_job(gpus=4, tier="exploratory"), [("n1", range(4, 8))]),
    ]
    waiting = [waits("p", a_job(gpus=4))]
    one = planned(a_scenario(flat(1), running=running, waiting=waiting))
    other = planned(a_scenario(flat(1), running=running[::-1], waiting=waiting))
    assert one == other


def test_gpus_of_a_victim_are_promised_to_one_gang_only() -> None:
    scenario = a_scenario(
        flat(1, gpus=4),
        running=[runs("v", a_job(gpus=4, tier="exploratory"), [("n1", range(4))])],
        waiting=[waits("all", a_job(gpus=4, tier="production", hours=3)), waits("one", a_job(gpus=1, within="node"))],
    )
    assert violations(scenario, planned(scenario)) == ()


def lending(guaranteed: int, *running: RunningJob, waiting: list[WaitingJob]) -> Scenario:
    """Team b runs on two nodes with four GPUs each, and may borrow what exceeds its guarantee."""
    teams = [a_team("a", guaranteed={"*": 8}), a_team("b", guaranteed={"*": guaranteed})]
    return a_scenario(flat(2, gpus=4), running=running, waiting=waiting, teams=teams)


@pytest.mark.parametrize(("guaranteed", "leaves"), [(4, False), (2, True)])
def test_a_job_stays_when_what_its_team_gives_up_by_shrinking_is_all_that_it_borrowed(
    guaranteed: int, leaves: bool
) -> None:
    """Four GPUs and a half are used, two of them by a worker that an elastic job can give up at a higher price."""
    scenario = lending(
        guaranteed,
        runs("b1", a_job(gpus=0.5, team="b"), [("n1", (0,))], saved_hours_ago=0),
        runs("e", a_job(gpus=2, workers=(1, 2), team="b", preemptible=False), [("n2", (0, 1)), ("n1", (2, 3))]),
        runs("other", a_job(gpus=2, team="a", preemptible=False), [("n2", (2, 3))]),
        waiting=[waits("w", a_job(gpus=4, team="a"))],
    )
    made = planned(scenario)
    assert [entry.job for entry in made.evictions] == ["b1"] * leaves
    assert [entry.job for entry in made.resizes] == ["e"] * leaves
    assert not violations(scenario, made)


@pytest.mark.parametrize(("guaranteed", "shrinks"), [(6, False), (5, True)])
def test_no_job_shrinks_so_far_that_another_of_its_team_left_in_vain(guaranteed: int, shrinks: bool) -> None:
    """Eight GPUs are used, two of them by a worker that an elastic job can give up; four are taken back first."""
    scenario = lending(
        guaranteed,
        runs("b1", a_job(gpus=4, team="b"), [("n1", range(4))]),
        runs("e", a_job(gpus=2, workers=(1, 2), team="b", preemptible=False), [("n2", (0, 1)), ("n2", (2, 3))]),
        waiting=[waits("large", a_job(gpus=4, team="a"), hours_ago=2), waits("small", a_job(gpus=2, team="a"))],
    )
    made = planned(scenario)
    assert [(entry.job, entry.for_job) for entry in made.evictions] == [("b1", "large")]
    assert [(entry.job, entry.for_job) for entry in made.resizes] == [("e", "small")] * shrinks
    assert not violations(scenario, made)
