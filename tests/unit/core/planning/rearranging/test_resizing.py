"""Elastic jobs: minimums first, then idle capacity to the job that gains most from it."""

from typing import Any

from muster.model.job import RunningJob
from muster.model.policy import HOUR_MS, MINUTE_MS, Policy
from tests.builders import NOW_MS, a_cluster, a_job, a_node, a_scenario, a_team, flat, racks, runs, waits
from tests.unit.core.outcomes import planned, promised, resized, seats, started


def elastic(
    job_id: str, node: str, size: int, *, low: int = 1, high: int = 4, gpus: int = 2, **fields: Any
) -> RunningJob:
    hours_ago = fields.pop("hours_ago", 1)
    submitted_ms = fields.pop("submitted_ms", NOW_MS)
    spec = a_job(gpus=gpus, workers=(low, high), **fields)
    on = [(node, range(gpus * at, gpus * (at + 1))) for at in range(size)]
    return runs(job_id, spec, on, hours_ago=hours_ago, submitted_ms=submitted_ms)


def test_a_job_starts_as_large_as_the_idle_cluster_lets_it() -> None:
    scenario = a_scenario(flat(1), waiting=[waits("w", a_job(gpus=2, workers=(1, 3)))])
    assert seats(scenario) == {"w": [("n1", (0, 1)), ("n1", (2, 3)), ("n1", (4, 5))]}


def test_minimums_come_before_growth() -> None:
    waiting = [waits("e", a_job(gpus=2, workers=(1, 4), priority=90)), waits("w", a_job(gpus=6, priority=1))]
    scenario = a_scenario(flat(1), waiting=waiting)
    assert sorted(started(scenario)) == ["e", "w"]
    assert len(seats(scenario)["e"]) == 1


def test_a_running_job_grows_into_idle_gpus() -> None:
    scenario = a_scenario(flat(1), running=[elastic("e", "n1", 2)])
    assert resized(scenario) == [("e", 2, 4, None)]
    (resize,) = planned(scenario).resizes
    assert [worker.rank for worker in resize.workers] == [0, 1, 2, 3]


def test_the_job_with_the_fewest_gpus_grows_first() -> None:
    running = [elastic("small", "n1", 1, high=8), elastic("large", "n2", 3, high=8)]
    scenario = a_scenario(flat(2), running=running)
    assert resized(scenario) == [("small", 1, 4, None), ("large", 3, 4, None)] or resized(scenario) == [
        ("large", 3, 4, None),
        ("small", 1, 4, None),
    ]


def test_growth_stays_below_the_limit_of_the_team() -> None:
    scenario = a_scenario(flat(1), teams=[a_team("a", limit={"*": 6})], running=[elastic("e", "n1", 2, team="a")])
    assert resized(scenario) == [("e", 2, 3, None)]


def test_growth_leaves_promised_gpus_alone() -> None:
    """Four GPUs are free; in an hour they and two more are promised to another."""
    firm = runs("firm", a_job(gpus=2, hours=2, preemptible=False), [("n1", (2, 3))])
    running = [elastic("e", "n1", 1, hours=9), firm]
    assert promised(a_scenario(flat(1), running=running, waiting=[waits("w", a_job(gpus=6))])) == {
        "w": (HOUR_MS, ("n1",))
    }
    assert resized(a_scenario(flat(1), running=running, waiting=[waits("w", a_job(gpus=6))])) == []


def test_growth_leaves_promised_quota_alone() -> None:
    firm = runs("firm", a_job(gpus=8, hours=3, preemptible=False), [("n2", range(8))])
    for limit, grow in ((10, []), (12, [("e", 1, 2, None)])):
        scenario = a_scenario(
            flat(2),
            teams=[a_team("a", limit={"*": limit})],
            running=[elastic("e", "n1", 1, team="a"), firm],
            waiting=[waits("w", a_job(gpus=8, team="a", within="node"))],
        )
        assert resized(scenario) == grow


def test_a_job_grows_on_its_own_type_and_as_close_by_as_possible() -> None:
    cluster = a_cluster(
        a_node("a1", gpus=2, domains=("r1",)),
        a_node("a2", gpus=2, gpu_type="a100", domains=("r1",)),
        a_node("b1", gpus=2, domains=("r2",)),
        a_node("b2", gpus=2, domains=("r1",)),
        levels=("rack",),
    )
    (resize,) = planned(a_scenario(cluster, running=[elastic("e", "a1", 1, high=2)])).resizes
    assert [worker.node for worker in resize.workers] == ["a1", "b2"]


def test_growth_stays_within_the_level_it_must_not_leave() -> None:
    scenario = a_scenario(racks(2, 1, gpus=4), running=[elastic("e", "r1-n1", 1, high=4, within="rack")])
    assert resized(scenario) == [("e", 1, 2, None)]


def test_a_job_that_has_just_started_or_is_about_to_end_or_to_leave_does_not_grow() -> None:
    policy = Policy(min_runtime_ms=10 * MINUTE_MS, restart_cost_ms=5 * MINUTE_MS)
    young = elastic("e", "n1", 1, hours_ago=0.1)
    ending = elastic("e", "n1", 1, hours=1.1)
    leaving = runs("e", a_job(workers=(1, 4)), [("n1", (0,))], leaving_by_ms=NOW_MS + 1000)
    for job in (young, ending, leaving):
        assert resized(a_scenario(flat(1), policy=policy, running=[job])) == []
    assert resized(a_scenario(flat(1), policy=policy, running=[elastic("e", "n1", 1)])) == [("e", 1, 4, None)]


def test_the_policy_may_forbid_growth() -> None:
    for is_elastic, grow in ((False, []), (True, [("e", 1, 4, None)])):
        policy = Policy(elastic=is_elastic)
        assert resized(a_scenario(flat(1), policy=policy, running=[elastic("e", "n1", 1)])) == grow


def test_a_job_in_tensor_groups_grows_by_whole_groups() -> None:
    scenario = a_scenario(flat(1, gpus=7), running=[elastic("e", "n1", 2, low=2, high=6, gpus=1, tensor=2)])
    assert resized(scenario) == [("e", 2, 6, None)]
    scenario = a_scenario(flat(1, gpus=5), running=[elastic("e", "n1", 2, low=2, high=6, gpus=1, tensor=2)])
    assert resized(scenario) == [("e", 2, 4, None)]


def test_a_job_whose_tensor_groups_span_nodes_grows_by_whole_groups_as_well() -> None:
    cluster = a_cluster(*racks(1, 4).nodes, levels=("rack",), nvlink="rack")
    scenario = a_scenario(cluster, waiting=[waits("w", a_job(gpus=8, workers=(2, 4), tensor=16))])
    assert len(seats(scenario)["w"]) == 4


def test_a_job_on_a_type_that_it_no_longer_accepts_does_not_grow() -> None:
    for accepted, grow in (("a100", []), (("a100", "h100"), [("e", 1, 4, None)])):
        scenario = a_scenario(flat(1), running=[elastic("e", "n1", 1, gpu_type=accepted)])
        assert resized(scenario) == grow


def test_ranks_of_a_job_that_grows_as_it_starts_follow_the_tree() -> None:
    spec = a_job(gpus=8, workers=(2, 4))
    (start,) = planned(a_scenario(racks(2, 2), waiting=[waits("w", spec)])).starts
    assert [worker.node for worker in start.workers] == ["r1-n1", "r1-n2", "r2-n1", "r2-n2"]


def test_the_cycle_comes_back_when_a_young_job_may_grow() -> None:
    scenario = a_scenario(flat(1), running=[elastic("e", "n1", 1, hours_ago=0.1)])
    assert planned(scenario).wake_ms == NOW_MS + 4 * MINUTE_MS
