"""Which job goes next: tier, guarantee, fair share, aged priority, the policy's order, id."""

from typing import Any

import pytest

from muster.core.order.tier_walk import TierWalk
from muster.core.planning import plan
from muster.core.snapshot import Snapshot
from muster.model.ids import JobId, TeamPath
from muster.model.job import WaitingJob
from muster.model.policy import HOUR_MS, Order, Policy
from muster.model.scenario import Scenario
from tests.builders import NOW_MS, a_job, a_scenario, a_team, flat, runs, waits
from tests.unit.core.outcomes import explained

STANDARD = 1
"""The rank of the tier that jobs are in unless they say otherwise."""


def in_order(waiting: list[WaitingJob], **fields: Any) -> list[str]:
    """The queue of a cluster on which nothing is free."""
    running = fields.pop("running", [])
    full = runs("full", a_job(gpus=8, team="nobody", tier="production", hours=9), [("n1", range(8))])
    return list(explained(a_scenario(flat(2), running=[full, *running], waiting=waiting, **fields)))


def whole(
    job_id: str, *, hours_ago: float = 1, attained_gpu_ms: int = 0, predicted_ms: int | None = None, **spec: Any
) -> WaitingJob:
    return waits(
        job_id,
        a_job(gpus=8, workers=2, **spec),
        hours_ago=hours_ago,
        attained_gpu_ms=attained_gpu_ms,
        predicted_ms=predicted_ms,
    )


def test_tiers_come_first() -> None:
    waiting = [
        whole("low", tier="exploratory", priority=100, hours_ago=99),
        whole("top", tier="production", priority=0),
        whole("mid", tier="standard"),
    ]
    assert in_order(waiting) == ["top", "mid", "low"]


def test_inside_a_team_priority_then_age_then_id() -> None:
    waiting = [whole("b"), whole("a"), whole("older", hours_ago=1.5), whole("first", priority=60)]
    assert in_order(waiting) == ["first", "older", "a", "b"]


@pytest.mark.parametrize("order", [Order.FAIR, Order.SHORTEST, Order.LEAST_ATTAINED])
def test_jobs_of_one_moment_stand_as_people_count(order: Order) -> None:
    """An array has many tasks of one moment."""
    waiting = [whole(f"job-{number}") for number in ("10", "9", "9.10", "9.2", "100")]
    assert in_order(waiting, policy=Policy(order=order)) == ["job-9", "job-9.2", "job-9.10", "job-10", "job-100"]


def test_waiting_ages_a_job_past_a_higher_priority() -> None:
    """One hour of waiting makes up for one point of priority."""
    policy = Policy(ageing_ms=HOUR_MS)
    assert in_order([whole("old", hours_ago=12), whole("new", priority=60)], policy=policy) == ["old", "new"]
    assert in_order([whole("old", hours_ago=10), whole("new", priority=60)], policy=policy) == ["new", "old"]


def test_teams_below_their_guarantee_come_before_teams_that_borrow() -> None:
    teams = [a_team("a", guaranteed={"*": 16}), a_team("b")]
    usage = ((TeamPath("a"), 10**12),)
    waiting = [whole("lends", team="a"), whole("borrows", team="b", priority=100)]
    assert in_order(waiting, teams=teams, usage=usage) == ["lends", "borrows"]


def test_the_team_that_used_less_comes_first() -> None:
    waiting = [whole("w-a", team="a", priority=100), whole("w-b", team="b")]
    assert in_order(waiting, usage=((TeamPath("a"), 1000 * HOUR_MS),)) == ["w-b", "w-a"]


def test_between_teams_with_equal_shares_goes_the_job_that_would_go_first_in_one_team() -> None:
    waiting = [whole("w-a", team="a"), whole("w-b", team="b", hours_ago=1.5), whole("w-c", team="c/x", priority=60)]
    assert in_order(waiting) == ["w-c", "w-b", "w-a"]


def test_what_is_used_now_counts_as_well() -> None:
    running = [runs("r", a_job(gpus=4, team="a"), [("n2", range(4))])]
    assert in_order([whole("w-a", team="a"), whole("w-b", team="b")], running=running) == ["w-b", "w-a"]


def test_a_team_of_twice_the_weight_may_use_twice_as_much() -> None:
    running = [
        runs("ra", a_job(gpus=3, team="a"), [("n2", range(3))]),
        runs("rb", a_job(gpus=2, team="b"), [("n2", range(3, 5))]),
    ]
    waiting = [whole("w-a", team="a"), whole("w-b", team="b")]
    assert in_order(waiting, running=running) == ["w-b", "w-a"]
    assert in_order(waiting, running=running, teams=[a_team("a", weight=2), a_team("b")]) == ["w-a", "w-b"]


def test_old_usage_is_forgotten() -> None:
    usage = ((TeamPath("a"), 1000 * HOUR_MS),)
    running = [runs("r", a_job(gpus=1, team="b"), [("n2", (0,))])]
    waiting = [whole("w-a", team="a"), whole("w-b", team="b")]
    scenario = a_scenario(flat(2), running=running, waiting=waiting, usage=usage, policy=Policy(half_life_ms=HOUR_MS))
    snapshot = Snapshot.of(scenario)

    def first(now_ms: int) -> str:
        walk = TierWalk(snapshot.queue.of_tier(STANDARD), snapshot.ledger.fork(), True, now_ms)
        following = walk.peek()
        assert following is not None
        return following[1]

    assert first(scenario.now_ms) == "w-b"
    assert first(scenario.now_ms + 24 * HOUR_MS) == "w-a"


def test_fair_share_is_hierarchical() -> None:
    """a/x has used nothing, but a as a whole has used more than b."""
    usage = ((TeamPath("a/y"), 1000 * HOUR_MS), (TeamPath("b"), 100 * HOUR_MS))
    waiting = [whole("ax", team="a/x"), whole("ay", team="a/y"), whole("b", team="b")]
    assert in_order(waiting, usage=usage) == ["b", "ax", "ay"]


def test_a_team_s_own_jobs_take_turns_with_those_of_its_sub_teams() -> None:
    waiting = [whole(f"own{at}", team="a") for at in (1, 2)] + [whole(f"sub{at}", team="a/x") for at in (1, 2)]
    order = in_order(waiting, policy=Policy(hold_depth=0))
    assert {order[0][:3], order[1][:3]} == {"own", "sub"}
    assert {order[2][:3], order[3][:3]} == {"own", "sub"}


ATTAINED = [
    whole("much", attained_gpu_ms=9 * HOUR_MS, predicted_ms=HOUR_MS),
    whole("little", attained_gpu_ms=HOUR_MS, expected_duration_ms=5 * HOUR_MS, team="z"),
    whole("none", hours=8),
]


@pytest.mark.parametrize(
    ("order", "expected"),
    [
        (Order.FIFO, ["little", "much", "none"]),
        (Order.SHORTEST, ["much", "little", "none"]),
        (Order.LEAST_ATTAINED, ["none", "little", "much"]),
    ],
)
def test_the_policy_may_order_by_something_else(order: Order, expected: list[str]) -> None:
    assert in_order(ATTAINED, policy=Policy(order=order, fair_share=False, turns=False)) == expected


def test_priority_comes_before_the_order_of_the_policy() -> None:
    urgent = whole("urgent", attained_gpu_ms=99 * HOUR_MS, priority=90)
    assert in_order([*ATTAINED, urgent], policy=Policy(order=Order.LEAST_ATTAINED, turns=False))[0] == "urgent"


def test_short_means_little_gpu_time_and_not_only_little_time() -> None:
    one_gpu = waits("small", a_job(gpus=1, hours=10))
    scenario: Scenario = a_scenario(
        flat(1),
        running=[runs("full", a_job(gpus=8, tier="production"), [("n1", range(8))])],
        waiting=[waits("large", a_job(gpus=8, hours=2)), one_gpu],
        policy=Policy(order=Order.SHORTEST),
    )
    assert list(explained(scenario)) == ["small", "large"]


def test_jobs_that_are_alike_are_one_class_until_the_last_is_gone() -> None:
    snapshot = Snapshot.of(a_scenario(flat(1), waiting=[waits("w1"), waits("w2"), waits("w3", a_job(gpus=2))]))
    assert [len(group.jobs) for group in snapshot.queue.of_tier(STANDARD)] == [2, 1]
    snapshot.dequeue(JobId("w1"))
    snapshot.dequeue(JobId("w2"))
    assert [len(group.jobs) for group in snapshot.queue.of_tier(STANDARD)] == [1]


def test_a_job_that_was_preempted_is_not_alike_one_that_was_not() -> None:
    snapshot = Snapshot.of(a_scenario(flat(1), waiting=[waits("w1"), waits("w2", requeued=True)]))
    assert [group.may_preempt for group in snapshot.queue.of_tier(STANDARD)] == [True, False]


def test_a_job_that_joins_a_stuck_class_is_news_until_the_plan_that_found_it_stuck_is_carried_out() -> None:
    full = [runs("full", a_job(gpus=8, tier="production"), [("n1", range(8))])]
    snapshot = Snapshot.of(a_scenario(flat(1), running=full, waiting=[waits("w1")], policy=Policy(hold_depth=0)))
    made, news = plan(snapshot, NOW_MS), snapshot.news
    snapshot.enqueue(waits("w2"))
    assert snapshot.news == news + 1  # the plan was not carried out yet
    snapshot.queue.remember_stuck(made.blocked, snapshot.releases)
    snapshot.enqueue(waits("w3"))
    assert snapshot.news == news + 1
    snapshot.finish(JobId("full"))
    snapshot.enqueue(waits("w4"))
    assert snapshot.news == news + 3


def test_a_job_that_joins_a_class_at_rest_is_no_news_until_something_comes_free() -> None:
    full = [runs("full", a_job(gpus=8, tier="production"), [("n1", range(8))])]
    snapshot = Snapshot.of(a_scenario(flat(1), running=full, waiting=[waits("w1")], policy=Policy(hold_depth=0)))
    snapshot.queue.remember_all_stuck(snapshot.releases)
    news = snapshot.news
    snapshot.enqueue(waits("w2"))
    assert snapshot.news == news
    snapshot.enqueue(waits("other", a_job(gpus=2)))
    assert snapshot.news == news + 1
    snapshot.finish(JobId("full"))
    snapshot.enqueue(waits("w3"))
    assert snapshot.news == news + 3


def test_a_job_that_never_ran_is_not_behind_a_stuck_one_that_gave_way() -> None:
    gave_way = waits("old", a_job(gpus=8, checkpoint=True), hours_ago=9, attained_gpu_ms=HOUR_MS, requeued=True)
    policy = Policy(order=Order.FIFO, backfill=False)
    snapshot = Snapshot.of(a_scenario(flat(1), waiting=[gave_way], policy=policy))
    snapshot.queue.class_of[JobId("old")].stuck_at = snapshot.releases
    before = snapshot.news
    snapshot.enqueue(waits("new", a_job(gpus=4), hours_ago=0))
    assert snapshot.news > before
