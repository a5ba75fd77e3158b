"""A job that would begin on slow GPUs takes the place of one that has had its turn on fast ones."""

from typing import Any

from muster.checker import violations
from muster.core.plan_lint import lint
from muster.core.planning import plan
from muster.core.snapshot import Snapshot
from muster.model.ids import GpuType
from muster.model.job import RunningJob
from muster.model.plan import Basis
from muster.model.policy import HOUR_MS, MINUTE_MS, Policy
from muster.model.records import evolve
from muster.model.scenario import Scenario
from tests.builders import NOW_MS, a_cluster, a_job, a_node, a_promise, a_scenario, a_team, runs, waits
from tests.unit.core.outcomes import evicted, nodes_used, promised, started, with_dues

FAST_AND_SLOW = a_cluster(a_node("f", gpu_type="h100"), a_node("s", gpu_type="k80"))
KNOWN = Policy(throughput=((GpuType("k80"), 250),))
TURN_MS = 2 * HOUR_MS
LEAVES = ("old", "new", "turn")


def on_fast(job_id: str = "old", gpus: range = range(8), *, hours_ago: float = 5, **fields: Any) -> RunningJob:
    spec = a_job(gpus=len(gpus), checkpoint=True, **fields.pop("spec", {}))
    return runs(job_id, spec, [("f", gpus)], hours_ago=hours_ago, saved_hours_ago=0, **fields)


def fast_are_taken(*running: RunningJob, **fields: Any) -> Scenario:
    """Everything slow is free."""
    given: dict[str, Any] = {
        "running": list(running) or [on_fast()],
        "waiting": [waits("new", a_job(gpus=1))],
        "policy": KNOWN,
        "turn_ms": TURN_MS,
    }
    return a_scenario(FAST_AND_SLOW, **(given | fields))


def test_a_job_that_has_had_its_turn_on_fast_gpus_leaves_them_to_one_that_would_begin_on_slow_ones() -> None:
    scenario = fast_are_taken()
    assert evicted(scenario) == [("old", "new", "turn")]
    assert [nodes for _, nodes in promised(scenario).values()] == [("f",)]
    assert started(scenario) == []


def test_several_leave_to_a_gang() -> None:
    scenario = fast_are_taken(
        on_fast("a", range(4)), on_fast("b", range(4, 8)), waiting=[waits("gang", a_job(gpus=4, workers=2))]
    )
    assert sorted(evicted(scenario)) == [("a", "gang", "turn"), ("b", "gang", "turn")]


def test_a_job_begins_on_slow_gpus_when_no_job_has_had_its_turn_on_fast_ones() -> None:
    scenario = fast_are_taken(on_fast(hours_ago=0.1))
    assert evicted(scenario) == []
    assert nodes_used(scenario, "new") == ["s"]


def test_jobs_that_come_at_once_do_not_get_the_same_gpus() -> None:
    scenario = fast_are_taken(waiting=[waits(f"new{number}", a_job(gpus=1)) for number in range(3)])
    made = plan(Snapshot.of(scenario), NOW_MS)
    assert [eviction.job for eviction in made.evictions] == ["old"]
    assert len({promise.workers[0].gpus for promise in made.promises}) == len(made.promises) == 3
    assert violations(scenario, made) == ()


def test_a_job_that_moved_to_fast_gpus_is_asked_ever_more_rarely_to_leave_them() -> None:
    """Twelve hours before this attempt: a quarter of all it has run is over after four hours of it."""
    attained_gpu_ms = 8 * 12 * HOUR_MS
    assert evicted(fast_are_taken(on_fast(hours_ago=3.9, attained_gpu_ms=attained_gpu_ms))) == []
    assert len(evicted(fast_are_taken(on_fast(hours_ago=4, attained_gpu_ms=attained_gpu_ms)))) == 1


def test_a_job_that_accepts_no_slower_gpus_stays() -> None:
    assert evicted(fast_are_taken(on_fast(spec={"gpu_type": "h100"}))) == []
    assert evicted(fast_are_taken(on_fast(spec={"gpu_type": ("h100", "k80")}))) == [LEAVES]


def test_no_job_waits_longer_for_fast_gpus_than_they_save() -> None:
    """By what is known it runs for a turn, and would get on by 3 hours 45 minutes."""
    for grace_ms, asked in ((4 * HOUR_MS, 0), (3 * HOUR_MS, 1)):
        assert len(evicted(fast_are_taken(on_fast(spec={"grace_ms": grace_ms})))) == asked


def test_a_job_that_was_promised_fast_gpus_that_do_not_come_free_begins_on_slow_ones() -> None:
    leaving = on_fast(leaving_by_ms=NOW_MS - HOUR_MS)
    late = a_promise("new", [("f", range(1))], in_hours=-0.5, basis=Basis.DEPARTURES)
    assert nodes_used(fast_are_taken(leaving, promises=(late,)), "new") == ["s"]


def test_the_job_to_ask_is_found_behind_any_number_of_others_on_slow_gpus() -> None:
    cluster = a_cluster(a_node("f", gpu_type="h100"), *(a_node(f"s{n}", gpu_type="k80") for n in range(10)))
    slow = [
        runs(f"r{n}{gpu}", a_job(gpus=1, checkpoint=True), [(f"s{n}", range(gpu, gpu + 1))], hours_ago=50)
        for n in range(10)
        for gpu in range(7)
    ]
    scenario = a_scenario(
        cluster, running=[*slow, on_fast()], waiting=[waits("new", a_job(gpus=1))], policy=KNOWN, turn_ms=TURN_MS
    )
    assert evicted(scenario) == [("old", "new", "turn")]


def test_gpus_as_fast_as_a_share_of_all_would_be_are_not_slow() -> None:
    """A third of each type would be 0.57 times as fast as the fastest alone."""
    cluster = a_cluster(*(a_node(name, gpu_type=kind) for name, kind in (("f", "h100"), ("m", "a100"), ("s", "k80"))))
    speeds = Policy(throughput=((GpuType("a100"), 600), (GpuType("k80"), 100)))
    scenario = a_scenario(
        cluster, running=[on_fast()], waiting=[waits("new", a_job(gpus=1))], policy=speeds, turn_ms=TURN_MS
    )
    assert evicted(scenario) == []
    assert nodes_used(scenario, "new") == ["m"]


def test_no_job_leaves_for_one_that_would_save_less_than_a_restart_costs() -> None:
    """Eight GPUs for five minutes each. On one slow GPU it takes thrice as long again as on a fast one."""
    long = evolve(a_job(gpus=1), expected_duration_ms=22 * MINUTE_MS)
    short = evolve(a_job(gpus=1), expected_duration_ms=21 * MINUTE_MS)
    assert evicted(fast_are_taken(waiting=[waits("new", long)])) == [("old", "new", "turn")]
    assert evicted(fast_are_taken(waiting=[waits("new", short)])) == []


def test_how_long_a_job_will_run_is_learnt_from_those_like_it() -> None:
    for usual_ms, asked in ((MINUTE_MS, 0), (5 * HOUR_MS, 1)):
        snapshot = Snapshot.of(fast_are_taken())
        for _ in range(8):
            snapshot.run_times.learn(a_job(gpus=1), usual_ms)
        assert len(plan(snapshot, NOW_MS).evictions) == asked


def test_a_job_waits_for_fast_gpus_that_others_are_leaving_anyway() -> None:
    leaving = on_fast("gone", range(4), leaving_by_ms=NOW_MS + MINUTE_MS)
    scenario = fast_are_taken(leaving, on_fast("old", range(4, 8)))
    assert evicted(scenario) == []
    assert promised(scenario) == {"new": (MINUTE_MS, ("f",))}


def test_a_job_that_ran_before_begins_where_there_is_room() -> None:
    back = waits("back", a_job(gpus=1, checkpoint=True), requeued=True, attained_gpu_ms=9 * HOUR_MS)
    starved = waits("back", a_job(gpus=1, checkpoint=True), requeued=True, attained_gpu_ms=9 * HOUR_MS, starved=True)
    for waiting in (back, starved):
        assert evicted(fast_are_taken(waiting=[waiting])) == []
        assert nodes_used(fast_are_taken(waiting=[waiting]), "back") == ["s"]
    never_ran = waits("new", a_job(gpus=1, checkpoint=True))
    assert evicted(fast_are_taken(waiting=[never_ran])) == [LEAVES]


def test_a_job_that_has_starved_keeps_fast_gpus() -> None:
    assert evicted(fast_are_taken(on_fast(starved=True))) == []
    assert evicted(fast_are_taken(on_fast(starved=False))) == [LEAVES]


def test_no_job_leaves_where_turns_or_preemption_are_switched_off_or_no_speed_is_known() -> None:
    for policy in (
        Policy(throughput=KNOWN.throughput, turns=False),
        Policy(throughput=KNOWN.throughput, preemption=False),
        Policy(),
    ):
        assert evicted(fast_are_taken(policy=policy)) == []
    assert evicted(fast_are_taken(policy=Policy(throughput=KNOWN.throughput))) == [LEAVES]


def asked_with_dues(job: RunningJob) -> list[str]:
    scenario = fast_are_taken(job, teams=(a_team("ml"),))
    return [eviction.job for eviction in plan(with_dues(scenario), NOW_MS).evictions]


def test_only_a_job_ahead_of_its_share_is_asked_and_fast_gpus_bring_a_job_ahead() -> None:
    """For what it did in 20 hours on fast GPUs it would have needed 32 on a share of both types."""
    ahead = on_fast(hours_ago=20, submitted_ms=NOW_MS - 20 * HOUR_MS, spec={"team": "ml"})
    kept_waiting = on_fast(hours_ago=20, submitted_ms=NOW_MS - 24 * HOUR_MS, spec={"team": "ml"})
    assert asked_with_dues(ahead) == ["old"]
    assert asked_with_dues(kept_waiting) == []


def test_lint_and_checker_accept_the_change() -> None:
    scenario = fast_are_taken()
    snapshot = Snapshot.of(scenario)
    made = plan(snapshot, NOW_MS)
    assert made.evictions
    assert lint(made, snapshot) == ()
    assert violations(scenario, made) == ()
