"""Preemption by rank inside a tier: the worst leave, none without need, and never for an equal."""

from typing import Any

from muster.core.order.ranks import AttainedBands, Rank, ServiceLeft
from muster.core.plan_lint import lint
from muster.core.planning.by_rank import plan_by_rank
from muster.core.snapshot import Snapshot
from muster.model.job import RunningJob, WaitingJob
from muster.model.node import ClusterSpec
from muster.model.plan import Basis, Plan, ReasonCode, Why
from muster.model.policy import HOUR_MS, MINUTE_MS, Policy
from muster.model.spec import JobSpec
from tests.builders import NOW_MS, a_cluster, a_job, a_node, a_scenario, a_team, flat, racks, runs, waits

RULES = Policy(min_runtime_ms=0, hold_depth=0, preemption=False, consolidation=False, elastic=False)
BANDS = AttainedBands((HOUR_MS, 10 * HOUR_MS))


def long(hours: float, *, gpus: float = 1, **fields: Any) -> JobSpec:
    """A job that can resume and says how long it runs."""
    return a_job(gpus=gpus, checkpoint=True, expected_duration_ms=round(hours * HOUR_MS), **fields)


def resumable(gpus: float = 1, **fields: Any) -> JobSpec:
    return a_job(gpus=gpus, checkpoint=True, **fields)


def planned(
    cluster: ClusterSpec,
    running: list[RunningJob],
    waiting: list[WaitingJob],
    *,
    rank: Rank | None = None,
    policy: Policy = RULES,
    **fields: Any,
) -> Plan:
    """One cycle by remaining service, or by another rank; its plan is sound."""
    scenario = a_scenario(cluster, running=running, waiting=waiting, policy=policy, **fields)
    snapshot = Snapshot.of(scenario)
    made = plan_by_rank(rank or ServiceLeft())(snapshot, scenario.now_ms)
    assert lint(made, snapshot) == ()
    return made


def told(made: Plan) -> list[tuple[str, str]]:
    return [(eviction.job, eviction.for_job) for eviction in made.evictions]


def test_the_job_with_most_left_to_do_leaves_and_its_gpu_is_promised() -> None:
    made = planned(
        flat(1, gpus=3),
        [
            runs("medium", long(5), [("n1", [0])]),
            runs("longest", long(9), [("n1", [1])]),
            runs("short", long(2), [("n1", [2])]),
        ],
        [waits("new", long(3))],
    )
    assert told(made) == [("longest", "new")]
    assert made.evictions[0].why is Why.TURN
    assert not made.starts
    [promise] = made.promises
    assert (promise.job, promise.basis, promise.workers[0].gpus) == ("new", Basis.DEPARTURES, (1,))
    assert promise.start_ms == NOW_MS + 120_000


def test_what_has_been_done_already_counts() -> None:
    made = planned(
        flat(1, gpus=2),
        [
            runs("nearly-done", long(20), [("n1", [0])], hours_ago=1, attained_gpu_ms=18 * HOUR_MS),
            runs("fresh", long(4), [("n1", [1])], hours_ago=1),
        ],
        [waits("new", long(2))],
    )
    assert told(made) == [("fresh", "new")]


def test_service_counts_gpus_as_well_as_time() -> None:
    made = planned(
        flat(1, gpus=5),
        [runs("wide", long(3, gpus=4), [("n1", range(4))]), runs("narrow", long(7), [("n1", [4])])],
        [waits("new", long(1))],
    )
    assert told(made) == [("wide", "new")]


def test_a_job_that_fits_starts_and_no_job_leaves() -> None:
    made = planned(flat(1, gpus=2), [runs("longest", long(9), [("n1", [0])])], [waits("new", long(1))])
    assert [start.job for start in made.starts] == ["new"]
    assert not made.evictions


def test_an_equal_is_not_stopped() -> None:
    made = planned(flat(1, gpus=1), [runs("same", long(4), [("n1", [0])], hours_ago=1)], [waits("new", long(3))])
    assert not made.evictions
    assert [(entry.jobs, entry.code) for entry in made.blocked] == [(("new",), ReasonCode.CAPACITY)]


def test_a_job_that_was_preempted_may_preempt() -> None:
    waiting = waits("back", long(9), requeued=True, attained_gpu_ms=8 * HOUR_MS)
    made = planned(flat(1, gpus=1), [runs("long", long(5), [("n1", [0])])], [waiting])
    assert told(made) == [("long", "back")]


def test_two_short_jobs_share_the_place_of_one_that_leaves() -> None:
    made = planned(
        flat(2, gpus=2),
        [runs("wide", long(9, gpus=2), [("n1", [0, 1])]), runs("other", long(8, gpus=2), [("n2", [0, 1])])],
        [waits("one", long(1)), waits("two", long(2))],
    )
    assert told(made) == [("wide", "one")]
    assert sorted(promise.job for promise in made.promises) == ["one", "two"]


def test_no_job_leaves_for_one_that_jobs_already_leaving_make_room_for() -> None:
    made = planned(
        flat(2, gpus=1),
        [
            runs("going", long(9), [("n1", [0])], leaving_by_ms=NOW_MS + MINUTE_MS),
            runs("staying", long(8), [("n2", [0])]),
        ],
        [waits("new", long(1))],
    )
    assert not made.evictions
    assert [(promise.job, promise.start_ms) for promise in made.promises] == [("new", NOW_MS + MINUTE_MS)]


def test_a_promise_stands_unchanged_until_the_victim_has_left() -> None:
    running, waiting = [runs("long", long(9), [("n1", [0])])], [waits("new", long(1))]
    first = planned(flat(1, gpus=1), running, waiting)
    leaving = [runs("long", long(9), [("n1", [0])], leaving_by_ms=first.promises[0].start_ms)]
    later = planned(flat(1, gpus=1), leaving, waiting, promises=first.promises, now_ms=NOW_MS + MINUTE_MS)
    assert later.promises == first.promises
    assert not later.evictions


def test_a_gang_takes_only_as_many_as_it_needs_on_the_nodes_it_gets() -> None:
    made = planned(
        flat(2, gpus=2),
        [
            runs("worst", long(90), [("n1", [0])]),
            runs("beside-it", long(30), [("n1", [1])]),
            runs("second", long(80), [("n2", [0])]),
            runs("third", long(70), [("n2", [1])]),
        ],
        [waits("pair", long(5, gpus=2))],
    )
    assert sorted(told(made)) == [("second", "pair"), ("third", "pair")]


def test_a_gang_across_nodes_takes_the_worst_on_each() -> None:
    running = [
        runs(f"{name}{node}", long(hours), [(f"n{node}", [device])])
        for node in (1, 2)
        for device, (name, hours) in enumerate((("long", 50 + node), ("short", 2)))
    ]
    made = planned(flat(2, gpus=2), running, [waits("gang", long(3, gpus=1, workers=2))])
    assert sorted(told(made)) == [("long1", "gang"), ("long2", "gang")]
    assert made.promises[0].nodes == ("n1", "n2")


def test_a_gang_that_stays_in_a_rack_takes_those_of_one_rack() -> None:
    running = [
        runs(f"v{rack}{node}", long(hours, gpus=8), [(f"r{rack}-n{node}", range(8))])
        for rack, node, hours in ((1, 1, 90), (1, 2, 10), (2, 1, 80), (2, 2, 70))
    ]
    made = planned(racks(2, 2), running, [waits("gang", long(2, gpus=8, workers=2, within="rack"))])
    assert sorted(told(made)) == [("v21", "gang"), ("v22", "gang")]


def test_no_job_leaves_for_a_gang_that_still_would_not_fit() -> None:
    for other_hours, leave in ((2, []), (80, [("long", "pair"), ("other", "pair")])):
        made = planned(
            flat(1, gpus=2),
            [runs("long", long(90), [("n1", [0])]), runs("other", long(other_hours), [("n1", [1])])],
            [waits("pair", long(3, gpus=2))],
        )
        assert told(made) == leave


def test_jobs_that_cannot_resume_or_be_preempted_and_other_tiers_are_left_alone() -> None:
    safe = [
        runs("loses-all", a_job(expected_duration_ms=90 * HOUR_MS), [("n1", [0])]),
        runs("protected", long(80, preemptible=False), [("n1", [1])]),
        runs("below", long(70, tier="exploratory"), [("n1", [2])]),
    ]
    assert told(planned(flat(1, gpus=3), safe, [waits("new", long(1))])) == []
    beside = runs("beside", long(5), [("n1", [3])])
    assert told(planned(flat(1, gpus=4), [*safe, beside], [waits("new", long(1))])) == [("beside", "new")]


def test_priority_comes_before_rank() -> None:
    made = planned(
        flat(1, gpus=2),
        [runs("urgent", long(90, priority=90), [("n1", [0])]), runs("short", long(2), [("n1", [1])])],
        [waits("new", long(9, priority=70))],
    )
    assert told(made) == [("short", "new")]


def test_a_team_at_its_limit_makes_no_job_leave() -> None:
    made = planned(
        flat(1, gpus=2),
        [runs("own", long(9, team="a"), [("n1", [0])]), runs("other", long(9, team="b"), [("n1", [1])])],
        [waits("new", long(1, team="a"))],
        teams=[a_team("a", limit={"*": 1})],
    )
    assert not made.evictions
    assert made.blocked[0].code is ReasonCode.QUOTA_LIMIT


def test_a_team_that_may_not_have_one_type_does_not_keep_another_team_from_it() -> None:
    cluster = a_cluster(a_node("n1", gpus=1, gpu_type="a100"), a_node("n2", gpus=1, gpu_type="h100"))
    made = planned(
        cluster,
        [runs("fixed", long(90, preemptible=False), [("n1", [0])]), runs("long", long(90), [("n2", [0])])],
        [waits("refused", long(1, team="a")), waits("allowed", long(2, team="b"))],
        teams=[a_team("a", limit={"h100": 0})],
    )
    assert told(made) == [("long", "allowed")]


def test_a_job_without_gpus_makes_no_job_leave() -> None:
    for gpus, leave in ((0, []), (8, [("busy", "new")])):
        busy = runs("busy", resumable(gpus=gpus, cpus=8), [("n1", range(gpus))])
        assert told(planned(flat(1, cpus=8), [busy], [waits("new", long(1, gpus=gpus, cpus=8))])) == leave


def test_a_job_that_just_started_is_protected_where_the_policy_says_so() -> None:
    policy = Policy(min_runtime_ms=2 * HOUR_MS, hold_depth=0)
    made = planned(flat(1, gpus=1), [runs("long", long(9), [("n1", [0])])], [waits("new", long(1))], policy=policy)
    assert not made.evictions
    assert made.wake_ms == NOW_MS + HOUR_MS


def test_a_job_that_does_not_say_how_long_it_runs_comes_last() -> None:
    made = planned(flat(1, gpus=1), [runs("unknown", resumable(), [("n1", [0])])], [waits("new", long(90))])
    assert told(made) == [("unknown", "new")]


def test_a_job_that_received_much_leaves_for_one_that_received_little() -> None:
    made = planned(
        flat(1, gpus=2),
        [
            runs("much", resumable(), [("n1", [0])], hours_ago=2),
            runs("little", resumable(), [("n1", [1])], hours_ago=0.5),
        ],
        [waits("new", resumable(), hours_ago=0)],
        rank=BANDS,
    )
    assert told(made) == [("much", "new")]


def test_gpus_count_in_what_was_received() -> None:
    wide = runs("wide", resumable(gpus=4), [("n1", range(4))], hours_ago=0.25, submitted_ms=0)
    assert told(planned(flat(1, gpus=4), [wide], [waits("new", resumable())], rank=BANDS)) == [("wide", "new")]


def test_inside_a_band_the_first_to_come_is_not_stopped_and_stops_later_ones() -> None:
    old = runs("old", resumable(), [("n1", [0])], hours_ago=2, submitted_ms=NOW_MS - 9 * HOUR_MS)
    young = runs("young", resumable(), [("n2", [0])], hours_ago=2, submitted_ms=NOW_MS - 3 * HOUR_MS)
    waiting = waits("between", resumable(), hours_ago=6, attained_gpu_ms=5 * HOUR_MS, requeued=True)
    assert told(planned(flat(2, gpus=1), [old, young], [waiting], rank=BANDS)) == [("young", "between")]


def test_the_next_cycle_comes_when_a_running_job_leaves_its_band_while_others_wait() -> None:
    running = [
        runs("soon", resumable(gpus=2), [("n1", [0, 1])], hours_ago=0.25, submitted_ms=NOW_MS - HOUR_MS),
        runs("later", resumable(), [("n1", [2])], hours_ago=0.25, submitted_ms=NOW_MS - HOUR_MS),
    ]
    made = planned(flat(1, gpus=3), running, [waits("new", resumable(), hours_ago=0)], rank=BANDS)
    assert not made.evictions
    assert made.wake_ms == NOW_MS + HOUR_MS // 4


def test_no_cycle_is_woken_for_a_change_that_helps_no_job() -> None:
    running = [runs("first-band", resumable(), [("n1", [0])], hours_ago=0.25, submitted_ms=NOW_MS - HOUR_MS)]
    for attained_ms, wakes in ((20 * HOUR_MS, False), (0, True)):
        waiting = [waits("other-band", resumable(), hours_ago=0, attained_gpu_ms=attained_ms)]
        made = planned(flat(1, gpus=1), running, waiting, rank=BANDS)
        assert (made.wake_ms is not None) is wakes
