"""A gang that is gone before promised GPUs are needed may make others leave them, whoever they were promised to."""

import pytest

from muster.model.policy import MINUTE_MS, Policy
from muster.model.scenario import Scenario
from tests.builders import a_job, a_promise, a_scenario, a_team, flat, runs, waits
from tests.unit.core.outcomes import evicted, explained

WHOLE = [("n1", range(8))]


def two_urgent(*, hold_depth: int = 4, second_in_hours: float = 2, limit_hours: float = 1) -> Scenario:
    """Two urgent jobs were promised a node one after the other, when the job on it had not run long enough to leave."""
    wanted = a_job(gpus=8, tier="production", hours=limit_hours)
    return a_scenario(
        flat(1),
        running=[runs("r", a_job(gpus=8, hours=2), WHOLE, hours_ago=1)],
        waiting=[waits("p", wanted, hours_ago=0.5), waits("q", wanted, hours_ago=0.4)],
        promises=[a_promise("p", WHOLE, in_hours=1), a_promise("q", WHOLE, in_hours=second_in_hours)],
        policy=Policy(hold_depth=hold_depth),
    )


@pytest.mark.parametrize("hold_depth", [1, 2, 4])
def test_the_promise_of_the_next_job_keeps_nobody_from_making_room_for_the_first(hold_depth: int) -> None:
    assert evicted(two_urgent(hold_depth=hold_depth)) == [("r", "p", "tier")]


def test_a_guarantee_is_taken_back_although_it_was_promised_to_the_next_job_of_the_team() -> None:
    wanted = a_job(gpus=8, team="owner", hours=4)
    scenario = a_scenario(
        flat(1),
        running=[runs("r", a_job(gpus=8, team="guest", hours=48), WHOLE, hours_ago=1)],
        waiting=[waits("p", wanted, hours_ago=0.5), waits("q", wanted, hours_ago=0.4)],
        promises=[a_promise("p", WHOLE, in_hours=47), a_promise("q", WHOLE, in_hours=51)],
        teams=[a_team("owner", guaranteed={"*": 8}), a_team("guest", guaranteed={"*": 0})],
    )
    assert evicted(scenario) == [("r", "p", "reclaim")]


def far_promise(*, limit_hours: float) -> Scenario:
    """The whole cluster was promised to a large urgent job for tomorrow, and a small one comes."""
    lasting = a_job(gpus=8, tier="production", hours=25)
    cheap = a_job(gpus=8, tier="exploratory", hours=25)
    return a_scenario(
        flat(2),
        running=[runs("a", lasting, WHOLE, hours_ago=1), runs("b", cheap, [("n2", range(8))], hours_ago=1)],
        waiting=[
            waits("large", a_job(workers=2, gpus=8, tier="production", hours=10), hours_ago=0.5),
            waits("small", a_job(gpus=1, tier="production", hours=limit_hours), hours_ago=0.1),
        ],
        promises=[a_promise("large", [*WHOLE, ("n2", range(8))], in_hours=24)],
    )


def test_an_urgent_job_that_is_gone_before_a_far_promise_need_not_wait_for_it() -> None:
    assert evicted(far_promise(limit_hours=2)) == [("b", "small", "tier")]


def test_one_that_would_run_into_the_promise_does() -> None:
    assert evicted(far_promise(limit_hours=24)) == []


def test_a_job_that_takes_long_to_leave_leaves_for_nobody_in_front_of_a_promise() -> None:
    scenario = two_urgent()
    slow = a_job(gpus=8, hours=2, checkpoint=True, grace_ms=11 * MINUTE_MS)
    slow_scenario = a_scenario(
        flat(1),
        running=[runs("r", slow, WHOLE, hours_ago=1)],
        waiting=scenario.waiting,
        promises=scenario.promises,
    )
    assert evicted(slow_scenario) == []


def test_what_protects_the_job_in_the_way_is_told_although_its_gpus_are_promised_to_others_too() -> None:
    scenario = two_urgent()
    young = a_scenario(
        flat(1),
        running=[runs("r", a_job(gpus=8, hours=1), WHOLE, hours_ago=0.05)],
        waiting=scenario.waiting,
        promises=scenario.promises,
    )
    assert [reason.code for reason in explained(young)["p"].reasons] == ["capacity", "protected"]
