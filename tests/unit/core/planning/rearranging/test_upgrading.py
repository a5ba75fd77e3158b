"""Moving jobs that can resume to a faster GPU type that has come free while no job waits, when the move pays."""

from typing import Any

import pytest

from muster.checker import violations
from muster.core.plan_lint import lint
from muster.core.planning import plan
from muster.core.snapshot import Snapshot
from muster.model.ids import GpuType, JobId, PoolName, TeamPath, TierName
from muster.model.job import RunningJob
from muster.model.policy import HOUR_MS, MINUTE_MS, Policy, Pool
from muster.model.records import evolve
from muster.model.scenario import Scenario
from tests.builders import NOW_MS, a_cluster, a_job, a_node, a_scenario, a_team, runs, waits
from tests.unit.core.outcomes import evicted, planned, promised, started

FAST_AND_SLOW = a_cluster(a_node("f", gpu_type="h100"), a_node("s", gpu_type="k80"))
SPEEDS = ((GpuType("k80"), 250),)
KNOWN = Policy(throughput=SPEEDS)
MOVE = ("j", "j", "consolidation")


def on_slow(job_id: str = "j", *, gpus: int = 4, first: int = 0, **fields: Any) -> RunningJob:
    """A job on slow GPUs that can resume and has just saved itself."""
    spec = a_job(gpus=gpus, checkpoint=fields.pop("checkpoint", True), **fields.pop("spec", {}))
    fields.setdefault("saved_hours_ago", 0)
    return runs(job_id, spec, [(fields.pop("node", "s"), range(first, first + gpus))], **fields)


def slow_only(job: RunningJob | None = None, *, policy: Policy = KNOWN, **fields: Any) -> Scenario:
    """Everything fast is free."""
    return a_scenario(FAST_AND_SLOW, running=[job or on_slow()], policy=policy, **fields)


def test_a_job_moves_to_faster_gpus_that_are_free() -> None:
    assert evicted(slow_only()) == [("j", "j", "consolidation")]
    assert promised(slow_only()) == {"j": (120_000, ("f",))}


def test_lint_and_checker_accept_the_move() -> None:
    scenario = slow_only()
    snapshot = Snapshot.of(scenario)
    made = plan(snapshot, NOW_MS)
    assert made.evictions
    assert lint(made, snapshot) == ()
    assert violations(scenario, made) == ()


def test_no_job_moves_when_no_speed_is_known() -> None:
    assert evicted(slow_only(policy=Policy())) == []
    assert planned(slow_only(policy=Policy())).wake_ms is None
    assert evicted(slow_only(policy=KNOWN)) == [MOVE]


def test_no_job_moves_to_gpus_that_are_as_fast_or_slower() -> None:
    assert evicted(slow_only(policy=Policy(throughput=((GpuType("k80"), 1000),)))) == []
    assert evicted(slow_only(policy=Policy(throughput=((GpuType("k80"), 500),)))) == [MOVE]
    assert evicted(slow_only(on_slow(node="f"))) == []
    assert evicted(slow_only(on_slow(node="f"), policy=Policy(throughput=((GpuType("h100"), 250),)))) == [MOVE]


def test_no_job_moves_to_a_type_that_it_does_not_accept() -> None:
    assert evicted(slow_only(on_slow(spec={"gpu_type": "k80"}))) == []
    assert evicted(slow_only(on_slow(spec={"gpu_type": ("k80", "h100")}))) == [MOVE]


def test_the_policy_may_forbid_it() -> None:
    for is_allowed in (False, True):
        assert evicted(slow_only(policy=evolve(KNOWN, consolidation=is_allowed))) == [MOVE] * is_allowed


@pytest.mark.parametrize(
    "job",
    [
        on_slow(checkpoint=False, saved_hours_ago=None),
        on_slow(saved_hours_ago=None),
        on_slow(spec={"preemptible": False}),
        on_slow(spec={"tier": "production"}),
        on_slow(leaving_by_ms=NOW_MS + MINUTE_MS),
        on_slow(hours_ago=0.1),
    ],
    ids=["cannot resume", "never saved itself", "not preemptible", "its tier is not", "leaves", "began just now"],
)
def test_a_job_that_may_not_be_told_to_leave_does_not_move(job: RunningJob) -> None:
    policy = evolve(KNOWN, restart_cost_ms=0)
    assert evicted(slow_only(job, policy=policy)) == []
    assert evicted(slow_only(on_slow(), policy=policy)) == [MOVE]


def test_a_move_must_save_more_than_it_costs() -> None:
    """Three quarters of an hour saved; twice what a restart costs, or three times."""
    dear = evolve(KNOWN, restart_cost_ms=20 * MINUTE_MS)
    assert len(evicted(slow_only(policy=dear))) == 1
    assert evicted(slow_only(policy=evolve(dear, consolidation_gain_milli=3000))) == []


def test_what_was_not_saved_counts_as_cost() -> None:
    assert evicted(slow_only(on_slow(saved_hours_ago=0.5))) == []
    assert evicted(slow_only(on_slow(saved_hours_ago=0.1))) == [MOVE]


def test_a_job_that_is_about_to_reach_its_limit_stays() -> None:
    assert evicted(slow_only(on_slow(spec={"hours": 1.1}))) == []
    assert evicted(slow_only(on_slow(spec={"hours": 2}))) == [MOVE]


def test_all_the_time_that_a_job_has_run_counts() -> None:
    """Half an hour in this attempt, four hours before."""
    policy = evolve(KNOWN, restart_cost_ms=20 * MINUTE_MS)
    assert evicted(slow_only(on_slow(hours_ago=0.5), policy=policy)) == []
    assert len(evicted(slow_only(on_slow(hours_ago=0.5, attained_gpu_ms=16 * HOUR_MS), policy=policy))) == 1


def test_no_job_moves_while_another_waits() -> None:
    assert evicted(slow_only(waiting=[waits("w", a_job(gpus=8, workers=2))])) == []
    assert evicted(slow_only(waiting=[waits("w", a_job(gpus=8, workers=2), held=True)])) == [MOVE]


def test_a_job_that_starts_in_the_same_plan_goes_first() -> None:
    scenario = slow_only(waiting=[waits("w", a_job(gpus=8))])
    assert evicted(scenario) == []
    assert started(scenario) == ["w"]


def test_no_job_moves_where_its_gang_does_not_fit_whole() -> None:
    for taken, moves in ((5, []), (4, [MOVE])):
        running = [on_slow(), runs("r", a_job(gpus=taken), [("f", range(taken))])]
        assert evicted(a_scenario(FAST_AND_SLOW, running=running, policy=KNOWN)) == moves


def test_the_job_that_has_run_longest_moves_first() -> None:
    running = [on_slow("young"), on_slow("old", first=4, hours_ago=9), runs("r", a_job(gpus=4), [("f", range(4))])]
    assert evicted(a_scenario(FAST_AND_SLOW, running=running, policy=KNOWN)) == [("old", "old", "consolidation")]


def test_a_job_moves_to_the_fastest_type_that_has_room() -> None:
    cluster = a_cluster(a_node("f", gpu_type="h100"), a_node("m", gpu_type="a100"), a_node("s", gpu_type="k80"))
    policy = Policy(throughput=((GpuType("a100"), 500), *SPEEDS))
    full = runs("r", a_job(gpus=8), [("f", range(8))])
    assert promised(a_scenario(cluster, running=[on_slow()], policy=policy))["j"][1] == ("f",)
    assert promised(a_scenario(cluster, running=[on_slow(), full], policy=policy))["j"][1] == ("m",)


def test_no_job_moves_into_a_pool_that_is_kept_for_others() -> None:
    """It could start there, but only where no open pool has room: slow GPUs in an open pool come first."""
    cluster = a_cluster(a_node("f", gpu_type="h100", pool="kept"), a_node("s", gpu_type="k80"))
    pools = [Pool(name=PoolName("kept"), tiers=(TierName("standard"),))]
    assert evicted(a_scenario(cluster, running=[on_slow()], pools=pools, policy=KNOWN)) == []
    open_to_all = [Pool(name=PoolName("kept"))]
    assert evicted(a_scenario(cluster, running=[on_slow()], pools=open_to_all, policy=KNOWN)) == [MOVE]


def test_limits_hold_for_the_new_type() -> None:
    assert evicted(slow_only(teams=[a_team("default", limit={"h100": 3})])) == []
    assert len(evicted(slow_only(teams=[a_team("default", limit={"h100": 4})]))) == 1


def test_two_moves_do_not_share_what_a_limit_leaves_for_one() -> None:
    teams = [a_team("default", limit={"h100": 4})]
    running = [on_slow("a"), on_slow("b", first=4)]
    assert len(evicted(a_scenario(FAST_AND_SLOW, running=running, teams=teams, policy=KNOWN))) == 1


def test_a_team_loses_no_more_jobs_in_an_hour_than_it_may() -> None:
    policy = evolve(KNOWN, preemptions_per_team_hour=2)
    told = ((TeamPath("default"), 1),)
    running = [on_slow("a"), on_slow("b", first=4)]
    assert len(evicted(a_scenario(FAST_AND_SLOW, running=running, policy=policy, recent_preemptions=told))) == 1


def test_the_job_starts_where_it_was_promised_and_moves_no_more() -> None:
    snapshot = Snapshot.of(slow_only())
    moved = plan(snapshot, NOW_MS)
    snapshot.leaving(JobId("j"), NOW_MS + 120_000)
    snapshot.promise(moved.promises)
    assert not plan(snapshot, NOW_MS).changes_anything
    spec = snapshot.finish(JobId("j")).spec
    snapshot.enqueue(waits("j", spec, requeued=True, attained_gpu_ms=4 * HOUR_MS))
    (start,) = plan(snapshot, NOW_MS + 60_000).starts
    assert {worker.node for worker in start.workers} == {"f"}
    snapshot.start(
        RunningJob(id=start.job, spec=spec, started_ms=NOW_MS, workers=start.workers, checkpointed_ms=NOW_MS)
    )
    assert not plan(snapshot, NOW_MS + 100 * HOUR_MS).evictions
    assert snapshot.is_idle


def test_a_plan_is_made_again_when_a_move_may_begin_to_pay() -> None:
    """Twice five minutes are to be saved, three quarters of the time: after 13 minutes and 20 seconds."""
    job = on_slow(hours_ago=0.2)
    wake_ms = planned(slow_only(job)).wake_ms
    assert wake_ms is not None
    assert 800_000 < wake_ms - job.started_ms < 802_000
    assert evicted(evolve(slow_only(evolve(job, checkpointed_ms=wake_ms)), now_ms=wake_ms)) != []


def test_a_save_calls_for_a_plan_where_faster_gpus_are_free() -> None:
    for rest, is_news in (([], True), ([runs("r", a_job(gpus=8), [("f", range(8))])], False)):
        snapshot = Snapshot.of(a_scenario(FAST_AND_SLOW, running=[on_slow(), *rest], policy=KNOWN))
        before = snapshot.news
        snapshot.checkpointed(JobId("j"), NOW_MS)
        assert (snapshot.news > before) is is_news


def test_an_exit_calls_for_a_plan_while_a_job_would_run_faster_elsewhere() -> None:
    running = [on_slow(), runs("r", a_job(gpus=8), [("f", range(8))])]
    snapshot = Snapshot.of(a_scenario(FAST_AND_SLOW, running=running, policy=KNOWN))
    assert not snapshot.is_idle
    before = snapshot.news
    snapshot.finish(JobId("r"))
    assert snapshot.news > before
