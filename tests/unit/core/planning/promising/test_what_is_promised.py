"""Promises: consistent with one another in GPUs, quota and topology."""

from muster.core.planning import plan
from muster.core.snapshot import Snapshot
from muster.model.plan import Plan
from muster.model.policy import HOUR_MS, Policy
from muster.model.records import evolve
from muster.model.scenario import Scenario
from tests.builders import (
    NOW_MS,
    a_cluster,
    a_job,
    a_node,
    a_promise,
    a_scenario,
    a_team,
    flat,
    racks,
    runs,
    waits,
)


def planned(scenario: Scenario) -> Plan:
    return plan(Snapshot.of(scenario), scenario.now_ms)


def test_a_later_promise_leaves_an_older_one_its_quota() -> None:
    """`younger` for 4 h from +2 h would still use 8 of the 12 GPUs of its team when `older` starts at +5 h."""
    scenario = a_scenario(
        flat(3),
        teams=[a_team("a", limit={"*": 12})],
        running=[
            runs("r1", a_job(gpus=8, hours=6, preemptible=False), [("n1", range(8))]),
            runs("r2", a_job(gpus=8, hours=3, preemptible=False), [("n2", range(8))]),
            runs("r3", a_job(gpus=8, hours=9, preemptible=False), [("n3", range(8))]),
        ],
        waiting=[
            waits("older", a_job(gpus=8, team="a"), hours_ago=30),
            waits("younger", a_job(gpus=8, team="a", hours=4)),
        ],
        promises=[a_promise("older", [("n1", range(8))], in_hours=5)],
    )
    promised = [(promise.job, promise.start_ms) for promise in planned(scenario).promises]
    assert ("older", NOW_MS + 5 * HOUR_MS) in promised
    assert ("younger", NOW_MS + 2 * HOUR_MS) not in promised


def test_a_gang_that_still_waits_for_its_rack_does_not_start_early_across_racks() -> None:
    for relaxes_ms, starts in ((2 * HOUR_MS, []), (HOUR_MS, ["p"])):
        spec = a_job(gpus=8, workers=2, prefer="rack", relax_after_ms=relaxes_ms)
        scenario = a_scenario(
            racks(2, 1),
            waiting=[waits("p", spec, hours_ago=1)],
            promises=[a_promise("p", [("r1-n1", range(8)), ("r2-n1", range(8))], in_hours=1)],
        )
        assert [start.job for start in planned(scenario).starts] == starts


def test_a_job_that_starts_is_not_reported_as_blocked() -> None:
    scenario = a_scenario(
        flat(1),
        policy=Policy(hold_depth=0),
        running=[runs("r", a_job(gpus=4, hours=2), [("n1", range(4))])],
        waiting=[waits("young", a_job(gpus=4, priority=90)), waits("old", a_job(gpus=4, priority=10), hours_ago=5)],
        promises=[a_promise("old", [("n1", range(4))], in_hours=1)],
    )
    made = planned(scenario)
    assert [entry.job for entry in made.starts] == ["old"]
    assert [job for entry in made.blocked for job in entry.jobs] == ["young"]


def test_a_gang_that_still_waits_for_its_rack_does_not_grow_out_of_it() -> None:
    elastic = a_job(gpus=8, workers=(1, 2), prefer="rack", relax_after_ms=6 * HOUR_MS)
    (start,) = planned(a_scenario(racks(2, 1), waiting=[waits("p", elastic)])).starts
    assert len(start.workers) == 1


def test_a_promised_job_starts_even_when_the_cycle_comes_a_moment_late() -> None:
    """The next promise was made for the very end of this one: it moves by that moment, and no job loses its place."""
    scenario = a_scenario(
        flat(1),
        waiting=[waits("first", a_job(gpus=8, hours=3), hours_ago=5), waits("second", a_job(gpus=8, hours=3))],
        promises=[
            a_promise("first", [("n1", range(8))], in_hours=-0.01),
            a_promise("second", [("n1", range(8))], in_hours=2.99),
        ],
    )
    assert [start.job for start in planned(scenario).starts] == ["first"]


def test_a_gang_that_must_stay_on_one_node_is_promised_a_start() -> None:
    scenario = a_scenario(
        flat(1),
        running=[runs("r", a_job(gpus=8, hours=3), [("n1", range(8))])],
        waiting=[waits("w", a_job(gpus=8, within="node"))],
    )
    assert [promise.job for promise in planned(scenario).promises] == ["w"]


def test_a_promised_gang_of_shares_waits_until_its_gpu_has_room_for_all_of_them() -> None:
    shares = a_job(gpus=0.5, workers=2)
    promise = a_promise("w", [("n1", (0,)), ("n1", (0,))], in_hours=1)
    scenario = a_scenario(
        flat(1, gpus=1),
        running=[runs("r", a_job(gpus=0.5, hours=2), [("n1", (0,))], hours_ago=1)],
        waiting=[waits("w", shares)],
        promises=[evolve(promise, workers=tuple(evolve(worker, share_milli=500) for worker in promise.workers))],
    )
    assert not planned(scenario).starts


def test_a_blocked_gang_with_a_preference_is_reported_once() -> None:
    prefers = a_job(gpus=16, prefer="node", relax_after_ms=6 * HOUR_MS)
    scenario = a_scenario(flat(1), waiting=[waits("w", prefers)])
    assert [job for entry in planned(scenario).blocked for job in entry.jobs] == ["w"]


def test_a_preemptor_that_starts_only_after_its_victims_left_takes_no_promised_quota() -> None:
    """`second` would end two minutes after `first` was promised the whole limit of their team."""
    first = a_job(gpus=8, team="a", tier="production", hours=1, gpu_type="a100", priority=90)
    second = a_job(gpus=8, team="a", tier="production", hours=0.5, gpu_type="h100", priority=10)
    victim = a_job(gpus=8, team="x", tier="exploratory", checkpoint=True)
    scenario = a_scenario(
        a_cluster(a_node("n1"), a_node("n2", gpu_type="a100")),
        teams=[a_team("a", limit={"*": 8}), a_team("x")],
        running=[
            runs("victim", victim, [("n1", range(8))], saved_hours_ago=0),
            runs("firm", a_job(gpus=8, team="x", hours=1.5, preemptible=False), [("n2", range(8))]),
        ],
        waiting=[waits("first", first), waits("second", second)],
    )
    promised = {str(promise.job): promise.start_ms - NOW_MS for promise in planned(scenario).promises}
    assert promised["first"] == HOUR_MS // 2
    assert promised["second"] >= HOUR_MS + HOUR_MS // 2


def test_a_gang_whose_preference_relaxes_before_anything_ends_is_promised_that_moment() -> None:
    prefers = a_job(gpus=8, workers=2, prefer="rack", relax_after_ms=2 * HOUR_MS)
    running = [runs("r", a_job(gpus=8, hours=9, preemptible=False), [("r1-n2", range(8))])]
    cluster = a_cluster(*racks(1, 2).nodes, a_node("r2-n1", domains=("r2",)), levels=("rack",))
    scenario = a_scenario(cluster, running=running, waiting=[waits("w", prefers, hours_ago=1)])
    assert [(promise.job, promise.start_ms) for promise in planned(scenario).promises] == [("w", NOW_MS + HOUR_MS)]


def test_the_cycle_comes_back_when_the_first_of_equal_preferences_relaxes_whichever_job_is_ahead() -> None:
    prefers = a_job(gpus=8, workers=2, prefer="rack", relax_after_ms=2 * HOUR_MS)
    waiting = [waits("ahead", evolve(prefers, priority=90), hours_ago=0.5), waits("older", prefers, hours_ago=1.5)]
    made = planned(a_scenario(racks(2, 1), waiting=waiting, policy=Policy(hold_depth=0)))
    assert made.wake_ms == NOW_MS + HOUR_MS // 2


def test_a_job_that_gets_victims_for_a_lost_promise_is_told_why_it_moved() -> None:
    cluster = a_cluster(a_node("n1", state="down"), a_node("n2"))
    scenario = a_scenario(
        cluster,
        running=[runs("v", a_job(gpus=8, tier="exploratory"), [("n2", range(8))])],
        waiting=[waits("w", a_job(gpus=8))],
        promises=[a_promise("w", [("n1", range(8))], in_hours=1)],
    )
    (promise,) = planned(scenario).promises
    assert promise.moved_because == "node n1 no longer takes work"


def test_promises_stay_in_order_when_others_are_asked_to_leave_in_vain() -> None:
    """Even all jobs of lower tiers leave `first` too little room, and `second` may not ask. So nothing changes."""
    promises = [
        a_promise("first", [("n1", range(8))], in_hours=9),
        a_promise("second", [("n2", range(8))], in_hours=11),
    ]
    scenario = a_scenario(
        flat(2),
        running=[
            runs("firm", a_job(gpus=7, hours=10, preemptible=False), [("n1", range(7))]),
            runs("low", a_job(hours=10, tier="exploratory"), [("n1", [7])]),
            runs("firmer", a_job(gpus=8, hours=12, preemptible=False), [("n2", range(8))]),
        ],
        waiting=[waits("first", a_job(gpus=8)), waits("second", a_job(gpus=8), requeued=True)],
        promises=promises,
    )
    assert planned(scenario).promises == tuple(promises)
