"""Taking turns: a running job leaves for one of its tier that has had less GPU time, or as much and waits longer."""

from typing import Any

import pytest

from muster.checker import violations
from muster.core.planning import plan
from muster.core.snapshot import Snapshot
from muster.model.job import RunningJob, WaitingJob
from muster.model.limits import BAND_FACTOR, FIRST_BAND_GPU_MS, SETTLING_MS
from muster.model.plan import Basis, Plan, Why
from muster.model.policy import HOUR_MS, Policy
from muster.model.records import evolve
from muster.model.scenario import Scenario
from tests.builders import NOW_MS, a_job, a_promise, a_scenario, flat, runs, waits

TURN_MS = 2 * HOUR_MS


def long_runner(name: str, node: str, gpus: range, *, hours_ago: float = 5, **fields: Any) -> RunningJob:
    fields = {"submitted_ms": NOW_MS - round(hours_ago * HOUR_MS)} | fields
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


@pytest.mark.parametrize(("gpu_ms", "leaves"), [(FIRST_BAND_GPU_MS, {"old": "new"}), (FIRST_BAND_GPU_MS - 1, {})])
def test_a_band_ends_to_the_moment(gpu_ms: int, leaves: dict[str, str]) -> None:
    # The quarter of an hour since it started is two GPU hours already.
    old = long_runner("old", "n1", range(2), hours_ago=0.25, attained_gpu_ms=gpu_ms - HOUR_MS // 2)
    keeps = runs("keeps", a_job(gpus=6), [("n1", range(2, 8))])
    assert told(full(old, keeps, waiting=[waits("new", a_job(gpus=1))])) == leaves


@pytest.mark.parametrize(("ran_ms", "leaves"), [(TURN_MS, {"young": "older"}), (TURN_MS - 1, {})])
def test_in_a_band_a_job_leaves_for_an_older_one_after_its_turn_to_the_moment(
    ran_ms: int, leaves: dict[str, str]
) -> None:
    young = long_runner("young", "n1", range(8), hours_ago=ran_ms / HOUR_MS)
    older = waits("older", a_job(gpus=1), hours_ago=9, attained_gpu_ms=BAND_FACTOR * FIRST_BAND_GPU_MS)
    assert told(full(young, waiting=[older])) == leaves


def test_in_a_band_no_job_leaves_for_a_younger_one_unless_its_priority_makes_it_older() -> None:
    running = long_runner("running", "n1", range(8), hours_ago=9)
    ran = {"hours_ago": 8, "attained_gpu_ms": BAND_FACTOR * FIRST_BAND_GPU_MS}
    assert told(full(running, waiting=[waits("younger", a_job(gpus=1), **ran)])) == {}
    urgent = waits("urgent", a_job(gpus=1, priority=52), **ran)
    assert told(full(running, waiting=[urgent])) == {"running": "urgent"}


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


def test_a_job_of_the_first_band_and_a_job_that_cannot_resume_are_safe() -> None:
    young = long_runner("young", "n1", range(4), hours_ago=0.24)
    stubborn = runs("stubborn", a_job(gpus=4), [("n1", range(4, 8))], hours_ago=50)
    assert told(full(young, stubborn, waiting=[waits("new", a_job(gpus=1))])) == {}
    older = long_runner("older", "n1", range(4), hours_ago=0.26)
    assert told(full(older, stubborn, waiting=[waits("new", a_job(gpus=1))])) == {"older": "new"}


def test_earlier_attempts_count_and_a_job_that_was_started_again_is_left_alone_until_it_has_settled() -> None:
    resumed = long_runner("resumed", "n1", range(8), hours_ago=0.05, attained_gpu_ms=8 * 2 * HOUR_MS)
    assert told(full(resumed, waiting=[waits("new", a_job(gpus=1))])) == {"resumed": "new"}
    just_back = long_runner("back", "n1", range(8), hours_ago=0.03, attained_gpu_ms=8 * 9 * HOUR_MS)
    assert told(full(just_back, waiting=[waits("new", a_job(gpus=1))])) == {}


def test_a_large_gang_runs_for_the_minimum_run_time_however_soon_it_has_had_its_gpu_hour() -> None:
    for minutes, leaves in ((9, {}), (11, {"gang": "new"})):
        gang = long_runner("gang", "n1", range(8), hours_ago=minutes / 60)
        assert told(full(gang, waiting=[waits("new", a_job(gpus=1))])) == leaves


def test_the_job_with_most_gpu_time_leaves_first_and_none_leaves_in_vain() -> None:
    scenario = full(
        long_runner("longest", "n1", range(2), hours_ago=9),
        long_runner("widest", "n1", range(2, 6), hours_ago=8),
        long_runner("small", "n1", range(6, 8), hours_ago=3),
        waiting=[waits("new", a_job(gpus=2))],
    )
    assert told(scenario) == {"widest": "new"}


def test_a_large_gang_leaves_for_one_gpu_only_if_nothing_else_makes_room() -> None:
    gang = runs(
        "gang",
        a_job(gpus=8, workers=3, checkpoint=True),
        [(f"n{node}", range(8)) for node in (1, 2, 3)],
        hours_ago=90,
        submitted_ms=NOW_MS - 90 * HOUR_MS,
    )
    new = waits("new", a_job(gpus=1))
    beside = long_runner("small", "n4", range(8), hours_ago=2)
    stays = runs("stays", a_job(gpus=8), [("n4", range(8))], hours_ago=2)
    for other, leaves in ((beside, {"small": "new"}), (stays, {"gang": "new"})):
        assert told(a_scenario(flat(4), running=[gang, other], waiting=[new], turn_ms=TURN_MS)) == leaves
    large = waits("new", a_job(gpus=2))
    assert told(a_scenario(flat(4), running=[gang, beside], waiting=[large], turn_ms=TURN_MS)) == {"gang": "new"}


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


def test_a_job_that_ran_before_makes_jobs_leave_that_have_had_ten_times_as_much() -> None:
    back = waits("back", a_job(gpus=1, checkpoint=True), requeued=True, attained_gpu_ms=9 * HOUR_MS)
    assert told(full(long_runner("old", "n1", range(8), hours_ago=1), waiting=[back])) == {}
    assert told(full(long_runner("old", "n1", range(8), hours_ago=2), waiting=[back])) == {"old": "back"}


def test_a_job_that_has_starved_stands_in_the_third_band_whether_it_waits_or_runs() -> None:
    ran = {"hours_ago": 90, "requeued": True, "attained_gpu_ms": 2000 * HOUR_MS}
    back = waits("back", a_job(gpus=1, checkpoint=True), **ran)
    starved = waits("back", a_job(gpus=1, checkpoint=True), starved=True, **ran)
    longer = long_runner("longer", "n1", range(8), hours_ago=20)
    assert told(full(longer, waiting=[back])) == {}
    assert told(full(longer, waiting=[starved])) == {"longer": "back"}
    paid = long_runner("paid", "n1", range(8), hours_ago=20, starved=True)
    ten_hours = waits("other", a_job(gpus=1, checkpoint=True), attained_gpu_ms=10 * HOUR_MS)
    assert told(full(paid, waiting=[ten_hours])) == {}
    assert told(full(paid, waiting=[waits("new", a_job(gpus=1))])) == {"paid": "new"}


def test_a_band_comes_before_the_next_and_inside_a_band_the_older_job_comes_first() -> None:
    spec = a_job(gpus=2, checkpoint=True)
    waiting = [
        waits("much", spec, hours_ago=99, attained_gpu_ms=50 * HOUR_MS),
        waits("late", spec, hours_ago=1, attained_gpu_ms=2 * HOUR_MS),
        waits("early", spec, hours_ago=2, attained_gpu_ms=9 * HOUR_MS),
        waits("new", spec, hours_ago=0.5),
        waits("starved", spec, hours_ago=200, attained_gpu_ms=5000 * HOUR_MS, starved=True),
    ]
    made = planned(a_scenario(flat(1), waiting=waiting, turn_ms=TURN_MS))
    assert [start.job for start in made.starts] == ["new", "early", "late", "starved"]


def test_the_last_free_gpus_are_kept_from_jobs_that_gave_way() -> None:
    cluster = flat(38)
    running = [runs(f"r{node}", a_job(gpus=8), [(f"n{node}", range(8))]) for node in range(1, 38)]
    running.append(runs("rest", a_job(gpus=4), [("n38", range(4))]))
    back = waits("back", a_job(gpus=1, checkpoint=True), requeued=True, attained_gpu_ms=HOUR_MS)
    new = waits("new", a_job(gpus=1))
    for last, starts in ((back, []), (new, ["new"])):
        kept = a_scenario(cluster, running=running, waiting=[last])
        assert [start.job for start in planned(kept).starts] == starts


def test_a_distant_promise_does_not_keep_its_job_from_taking_a_turn() -> None:
    running = [long_runner("a", "n1", range(4)), long_runner("b", "n1", range(4, 8))]
    first = planned(full(*running, waiting=[waits("gang", a_job(gpus=8))], turn_ms=None))
    assert [(promise.job, promise.basis) for promise in first.promises] == [("gang", Basis.LIMITS)]
    then = full(*running, waiting=[waits("gang", a_job(gpus=8))], promises=first.promises)
    assert told(then) == {"a": "gang", "b": "gang"}


def test_no_promise_is_made_that_comes_due_after_every_job_had_its_turn() -> None:
    young = long_runner("young", "n1", range(8), hours_ago=0.1)
    assert planned(full(young, waiting=[waits("new", a_job(gpus=8))])).promises == ()
    soon_over = runs("short", a_job(gpus=8, hours=1.5), [("n1", range(8))], hours_ago=1)
    assert [
        promise.start_ms - NOW_MS
        for promise in planned(full(soon_over, waiting=[waits("new", a_job(gpus=8))])).promises
    ] == [HOUR_MS // 2]


@pytest.mark.parametrize(
    ("running", "waiting", "in_hours"),
    [
        (long_runner("r", "n1", range(4), hours_ago=0.2), waits("new", a_job(gpus=8)), 0.05),
        (long_runner("r", "n1", range(8), hours_ago=0.1), waits("new", a_job(gpus=8)), 1 / 6 - 0.1),
        (
            long_runner("r", "n1", range(8), hours_ago=1.5),
            waits("new", a_job(gpus=8), hours_ago=9, attained_gpu_ms=50 * HOUR_MS),
            0.5,
        ),
        (
            long_runner("r", "n1", range(4), hours_ago=2.4),
            waits("new", a_job(gpus=8), hours_ago=9, attained_gpu_ms=50 * HOUR_MS),
            0.1,
        ),
    ],
    ids=[
        "it enters the next band",
        "it has run for as long as any job may",
        "its turn is over",
        "its turn is over and it enters the band",
    ],
)
def test_the_plan_comes_back_when_a_job_will_have_to_leave(
    running: RunningJob, waiting: WaitingJob, in_hours: float
) -> None:
    scenario, cycles = full(running, waiting=[waiting]), 0
    while not (made := planned(scenario)).evictions:
        assert made.wake_ms is not None
        scenario, cycles = evolve(scenario, now_ms=made.wake_ms), cycles + 1
    assert scenario.now_ms - NOW_MS == pytest.approx(in_hours * HOUR_MS, abs=2)
    assert 1 <= cycles <= 3


def test_the_plan_comes_back_when_a_job_that_it_starts_could_have_to_leave() -> None:
    """The first job starts because the second does not fit beside what stays. Then that ends."""
    stays = runs("stays", a_job(gpus=4, hours=0.4), [("n1", range(4, 8))])
    starts = waits("starts", a_job(gpus=4, checkpoint=True), hours_ago=1)
    gang = waits("gang", a_job(gpus=8, checkpoint=True), hours_ago=9)
    made = planned(full(stays, waiting=[starts, gang], policy=Policy(hold_depth=0)))
    assert [start.job for start in made.starts] == ["starts"]
    assert made.wake_ms == NOW_MS + SETTLING_MS


def test_no_distant_start_is_promised_where_jobs_that_can_resume_have_only_just_started() -> None:
    gang = waits("gang", a_job(gpus=8), hours_ago=1)
    for can_resume, promised in ((True, []), (False, ["gang"])):
        first = waits("first", a_job(gpus=4, checkpoint=can_resume), hours_ago=2)
        made = planned(full(waiting=[first, gang]))
        assert [start.job for start in made.starts] == ["first"]
        assert [promise.job for promise in made.promises] == promised


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
