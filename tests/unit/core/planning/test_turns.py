"""Taking turns: a job that has run longer than most gives way to those of its tier that never ran, and to no other."""

from typing import Any

import pytest

from muster.checker import violations
from muster.core.offline import decide
from muster.core.planning import plan
from muster.core.snapshot import Snapshot
from muster.model.job import RunningJob
from muster.model.plan import Basis, Plan, Why
from muster.model.policy import HOUR_MS, Policy
from muster.model.records import evolve
from muster.model.scenario import Scenario
from tests.builders import NOW_MS, a_job, a_promise, a_scenario, a_team, flat, runs, waits
from tests.unit.core.outcomes import with_dues

TURN_MS = 2 * HOUR_MS


def long_runner(name: str, node: str, gpus: range, *, hours_ago: float = 5, **fields: Any) -> RunningJob:
    return runs(name, a_job(gpus=len(gpus), checkpoint=True), [(node, gpus)], hours_ago=hours_ago, **fields)


def planned(scenario: Scenario) -> Plan:
    made = plan(Snapshot.of(scenario), scenario.now_ms)
    assert violations(scenario, made) == ()
    return made


def told(scenario: Scenario) -> dict[str, str]:
    made = planned(scenario)
    assert all(eviction.why is Why.TURN for eviction in made.evictions)
    return {eviction.job: eviction.for_job for eviction in made.evictions}


def full(*running: RunningJob, waiting: list[Any], turn_ms: int | None = TURN_MS, **fields: Any) -> Scenario:
    return a_scenario(flat(1), running=list(running), waiting=waiting, turn_ms=turn_ms, **fields)


def test_a_job_whose_turn_is_over_gives_way_to_one_that_never_ran() -> None:
    scenario = full(long_runner("old", "n1", range(8)), waiting=[waits("new", a_job(gpus=1))])
    made = planned(scenario)
    assert [(eviction.job, eviction.for_job, eviction.why) for eviction in made.evictions] == [("old", "new", Why.TURN)]
    assert [(promise.job, promise.basis) for promise in made.promises] == [("new", Basis.DEPARTURES)]


@pytest.mark.parametrize(("ran_ms", "leaves"), [(TURN_MS, {"old": "new"}), (TURN_MS - 1, {})])
def test_a_turn_is_over_to_the_moment(ran_ms: int, leaves: dict[str, str]) -> None:
    old = long_runner("old", "n1", range(8), hours_ago=ran_ms / HOUR_MS)
    assert told(full(old, waiting=[waits("new", a_job(gpus=1))])) == leaves


def test_no_job_gives_way_while_nothing_is_known_about_run_times() -> None:
    for turn_ms, leaves in ((None, {}), (TURN_MS, {"old": "new"})):
        scenario = full(long_runner("old", "n1", range(8)), waiting=[waits("new", a_job(gpus=1))], turn_ms=turn_ms)
        assert told(scenario) == leaves


@pytest.mark.parametrize(
    ("policy", "leaves"),
    [(Policy(turns=False), {}), (Policy(preemption=False), {}), (Policy(), {"old": "new"})],
    ids=["without turns", "without preemption", "as it is"],
)
def test_an_operator_may_switch_turns_off(policy: Policy, leaves: dict[str, str]) -> None:
    scenario = full(long_runner("old", "n1", range(8)), waiting=[waits("new", a_job(gpus=1))], policy=policy)
    assert told(scenario) == leaves


def test_a_turn_that_is_not_over_and_a_job_that_cannot_resume_are_safe() -> None:
    young = long_runner("young", "n1", range(4), hours_ago=1.9)
    stubborn = runs("stubborn", a_job(gpus=4), [("n1", range(4, 8))], hours_ago=50)
    assert told(full(young, stubborn, waiting=[waits("new", a_job(gpus=1))])) == {}
    older = long_runner("older", "n1", range(4), hours_ago=2.1)
    assert told(full(older, stubborn, waiting=[waits("new", a_job(gpus=1))])) == {"older": "new"}


def test_earlier_attempts_count_towards_a_turn_and_the_minimum_run_time_protects() -> None:
    resumed = long_runner("resumed", "n1", range(8), hours_ago=0.5, attained_gpu_ms=8 * 2 * HOUR_MS)
    assert told(full(resumed, waiting=[waits("new", a_job(gpus=1))])) == {"resumed": "new"}
    just_back = long_runner("back", "n1", range(8), hours_ago=0.1, attained_gpu_ms=8 * 9 * HOUR_MS)
    assert told(full(just_back, waiting=[waits("new", a_job(gpus=1))])) == {}


def test_the_job_with_most_gpu_time_leaves_first_and_none_leaves_in_vain() -> None:
    scenario = full(
        long_runner("longest", "n1", range(2), hours_ago=9),
        long_runner("widest", "n1", range(2, 6), hours_ago=8),
        long_runner("small", "n1", range(6, 8), hours_ago=3),
        waiting=[waits("new", a_job(gpus=2))],
    )
    assert told(scenario) == {"widest": "new"}


def test_several_give_way_to_a_gang_that_needs_them_all() -> None:
    scenario = a_scenario(
        flat(2),
        running=[
            long_runner(f"r{node}{half}", f"n{node}", range(4 * half, 4 * half + 4))
            for node in (1, 2)
            for half in (0, 1)
        ],
        waiting=[waits("gang", a_job(gpus=8, workers=2))],
        turn_ms=TURN_MS,
    )
    assert told(scenario) == dict.fromkeys(("r10", "r11", "r20", "r21"), "gang")


def test_a_job_takes_no_turn_of_another_tier() -> None:
    for tier, leaves in (("exploratory", {}), ("standard", {"old": "idea"})):
        scenario = full(long_runner("old", "n1", range(8)), waiting=[waits("idea", a_job(gpus=1, tier=tier))])
        assert told(scenario) == leaves


def test_a_job_that_ran_before_makes_no_job_leave_until_it_has_starved() -> None:
    old = long_runner("old", "n1", range(8))
    back = waits("back", a_job(gpus=1, checkpoint=True), requeued=True, attained_gpu_ms=9 * HOUR_MS)
    starved = waits("back", a_job(gpus=1, checkpoint=True), requeued=True, attained_gpu_ms=9 * HOUR_MS, starved=True)
    assert told(full(old, waiting=[back])) == {}
    assert told(full(old, waiting=[starved])) == {"old": "back"}


def test_a_job_that_has_starved_gives_way_last_and_only_to_jobs_that_never_ran() -> None:
    paid = long_runner("paid", "n1", range(4), hours_ago=20, starved=True)
    other = long_runner("other", "n1", range(4, 8), hours_ago=3)
    starved = waits("back", a_job(gpus=1, checkpoint=True), requeued=True, attained_gpu_ms=9 * HOUR_MS, starved=True)
    assert told(full(paid, other, waiting=[waits("new", a_job(gpus=1))])) == {"other": "new"}
    alone = full(long_runner("paid", "n1", range(8), hours_ago=20, starved=True), waiting=[starved])
    assert told(alone) == {}
    last = full(long_runner("paid", "n1", range(8), starved=True), waiting=[waits("new", a_job(gpus=1))])
    assert told(last) == {"paid": "new"}


def test_never_ran_comes_before_starved_comes_before_the_rest() -> None:
    ran = {"requeued": True, "attained_gpu_ms": HOUR_MS}
    spec = a_job(gpus=4, checkpoint=True)
    waiting = [
        waits("rest", spec, hours_ago=9, **ran),
        waits("starved", spec, hours_ago=5, starved=True, **ran),
        waits("new", spec, hours_ago=1),
    ]
    made = planned(a_scenario(flat(1), waiting=waiting, turn_ms=TURN_MS))
    assert [start.job for start in made.starts] == ["new", "starved"]


def test_the_last_free_gpus_are_kept_from_jobs_that_gave_way() -> None:
    cluster = flat(38)
    running = [runs(f"r{node}", a_job(gpus=8), [(f"n{node}", range(8))]) for node in range(1, 38)]
    running.append(runs("rest", a_job(gpus=6), [("n38", range(6))]))
    back = waits("back", a_job(gpus=1, checkpoint=True), requeued=True, attained_gpu_ms=HOUR_MS)
    new = waits("new", a_job(gpus=1))
    assert [start.job for start in planned(a_scenario(cluster, running=running, waiting=[back])).starts] == []
    assert [start.job for start in planned(a_scenario(cluster, running=running, waiting=[new])).starts] == ["new"]


def test_a_distant_promise_does_not_keep_its_job_from_taking_a_turn() -> None:
    running = [long_runner("a", "n1", range(4)), long_runner("b", "n1", range(4, 8))]
    first = planned(full(*running, waiting=[waits("gang", a_job(gpus=8))], turn_ms=None))
    assert [(promise.job, promise.basis) for promise in first.promises] == [("gang", Basis.LIMITS)]
    then = full(*running, waiting=[waits("gang", a_job(gpus=8))], promises=first.promises)
    assert told(then) == {"a": "gang", "b": "gang"}


def test_no_promise_is_made_that_comes_due_after_every_job_had_its_turn() -> None:
    young = long_runner("young", "n1", range(8), hours_ago=1)
    assert planned(full(young, waiting=[waits("new", a_job(gpus=8))])).promises == ()
    soon_over = runs("short", a_job(gpus=8, hours=1.5), [("n1", range(8))], hours_ago=1)
    assert [
        promise.start_ms - NOW_MS
        for promise in planned(full(soon_over, waiting=[waits("new", a_job(gpus=8))])).promises
    ] == [HOUR_MS // 2]


def test_the_plan_comes_back_when_the_next_turn_is_over() -> None:
    young = long_runner("young", "n1", range(8), hours_ago=1)
    assert planned(full(young, waiting=[waits("new", a_job(gpus=8))])).wake_ms == NOW_MS + HOUR_MS


def told_with_dues(scenario: Scenario) -> list[str]:
    made = plan(with_dues(scenario), scenario.now_ms)
    assert violations(scenario, made) == ()
    return sorted(eviction.job for eviction in made.evictions)


def of_team(name: str, team: str, node: str, gpus: range, *, hours_ago: float, waited_hours: float = 0) -> RunningJob:
    return runs(
        name,
        a_job(gpus=len(gpus), team=team, checkpoint=True),
        [(node, gpus)],
        hours_ago=hours_ago,
        submitted_ms=NOW_MS - round((hours_ago + waited_hours) * HOUR_MS),
    )


def test_where_teams_were_declared_a_job_ahead_of_its_share_gives_way_first() -> None:
    # Two teams of equal weight: `small` is due four of eight GPUs, and the two of the busy team two each.
    scenario = full(
        of_team("small", "calm", "n1", range(2), hours_ago=90),
        of_team("large", "busy", "n1", range(2, 6), hours_ago=9),
        of_team("other", "busy", "n1", range(6, 8), hours_ago=9),
        waiting=[waits("new", a_job(gpus=1, team="busy"))],
        teams=(a_team("calm"), a_team("busy")),
    )
    assert told_with_dues(scenario) == ["large"]
    assert told_with_dues(evolve(scenario, teams=())) == ["small"]


def test_a_situation_as_plain_values_is_decided_alike_where_what_is_due_comes_with_it() -> None:
    scenario = full(
        of_team("small", "calm", "n1", range(2), hours_ago=90),
        of_team("large", "busy", "n1", range(2, 6), hours_ago=9),
        of_team("other", "busy", "n1", range(6, 8), hours_ago=9),
        waiting=[waits("new", a_job(gpus=1, team="busy"))],
        teams=(a_team("calm"), a_team("busy")),
    )
    known = decide(scenario, with_dues(scenario).entitlements)
    assert [eviction.job for eviction in known.plan.evictions] == ["large"]
    assert [eviction.job for eviction in decide(scenario).plan.evictions] == ["small"]


def test_a_job_that_is_late_already_gives_way_before_one_that_was_never_kept_waiting() -> None:
    scenario = full(
        of_team("even", "calm", "n1", range(4), hours_ago=90),
        of_team("late", "busy", "n1", range(4, 8), hours_ago=9, waited_hours=5),
        waiting=[waits("new", a_job(gpus=1, team="calm"))],
        teams=(a_team("calm"), a_team("busy")),
    )
    assert told_with_dues(scenario) == ["late"]


def test_several_jobs_that_can_afford_it_leave_rather_than_one_that_was_never_kept_waiting() -> None:
    scenario = a_scenario(
        flat(2),
        running=[
            of_team("even", "calm", "n1", range(8), hours_ago=5),
            of_team("left", "busy", "n2", range(4), hours_ago=9, waited_hours=20),
            of_team("right", "busy", "n2", range(4, 8), hours_ago=9, waited_hours=20),
        ],
        waiting=[waits("new", a_job(gpus=4, workers=2, team="calm"))],
        teams=(a_team("calm"), a_team("busy")),
        turn_ms=TURN_MS,
    )
    assert told_with_dues(scenario) == ["left", "right"]


def test_a_distant_start_is_promised_where_no_running_job_can_resume() -> None:
    stubborn = runs("stubborn", a_job(gpus=8, hours=9), [("n1", range(8))])
    assert [promise.job for promise in planned(full(stubborn, waiting=[waits("new", a_job(gpus=8))])).promises] == [
        "new"
    ]


def test_a_job_that_gave_way_and_whose_promise_broke_gets_another_although_nothing_is_free() -> None:
    stays = [
        runs(f"r{node}", a_job(gpus=8, hours=hours, preemptible=False), [(f"n{node}", range(8))])
        for node, hours in ((1, 5), (2, 3))
    ]
    gave_way = [
        waits(name, a_job(gpus=8, checkpoint=True), attained_gpu_ms=HOUR_MS, requeued=True) for name in ("other", "w")
    ]
    promised = a_promise("w", [("n1", range(8))], in_hours=1)
    made = planned(a_scenario(flat(2), running=stays, waiting=gave_way, promises=[promised], turn_ms=TURN_MS))
    assert [(promise.job, promise.start_ms - NOW_MS) for promise in made.promises] == [("w", 2 * HOUR_MS)]
