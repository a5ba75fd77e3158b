from pathlib import Path
from typing import Any

import pytest

from muster.formats.scenarios.scenario_file import read_scenario, scenario_from_document
from muster.formats.text.document import parse_document
from muster.model.job import Worker
from muster.model.plan import Basis
from muster.model.policy import DEFAULT_TIERS, HOUR_MS, MINUTE_MS, Order, Policy, Pool, Tier
from tests.unit.formats.scenarios.builders import (
    EARLIER,
    LATER,
    a_cluster,
    a_job,
    a_node,
    a_running,
    a_scenario,
    a_waiting,
    a_worker,
    scenario,
    scenario_errors,
)

NOW_MS = 1_767_225_600_000
EXAMPLES = Path(__file__).parents[4] / "examples"


def test_the_example_is_a_valid_scenario() -> None:
    assert read_scenario(EXAMPLES / "demo.yaml").waiting


def test_what_a_scenario_leaves_out_is_as_in_the_live_system() -> None:
    value = scenario()
    assert value.now_ms == NOW_MS
    assert (value.pools, value.teams, value.tiers, value.policy) == ((), (), DEFAULT_TIERS, Policy())
    assert (value.usage, value.running, value.waiting, value.promises) == ((), (), (), ())


def test_rules_are_read() -> None:
    value = scenario(
        pools={"main": None, "urgent": {"tiers": ["production"]}, "spot": {"spot": True, "price": 0.9, "teams": ["a"]}},
        tiers=[{"name": "production", "preempts": True, "preemptible": False}, {"name": "low", "max_duration": "1h"}],
        teams={"a": {}},
        usage={"a": 1.5},
        recent_preemptions={"a": 3},
    )
    assert value.pools == (
        Pool(name="main"),  # type: ignore[arg-type]
        Pool(name="urgent", tiers=("production",)),  # type: ignore[arg-type]
        Pool(name="spot", spot=True, price_milli=900, teams=("a",)),  # type: ignore[arg-type]
    )
    assert value.tiers == (
        Tier(name="production", preempts=True, preemptible=False),  # type: ignore[arg-type]
        Tier(name="low", max_duration_ms=HOUR_MS),  # type: ignore[arg-type]
    )
    assert (value.usage, value.recent_preemptions) == ((("a", 1500),), (("a", 3),))


def test_every_key_of_the_policy_is_read() -> None:
    policy = {
        "order": "las",
        "backfill": False,
        "fair_share": False,
        "hold_depth": 1,
        "starvation_limit": "1h",
        "ageing": "2h",
        "half_life": "3h",
        "preemption": False,
        "min_runtime": "1m",
        "preemptions_per_team_hour": 5,
        "restart_cost": "2m",
        "stop_grace": "3m",
        "consolidation": False,
        "consolidation_gain": 1.5,
        "elastic": False,
        "throughput": {"h100": 2},
    }
    assert scenario(policy=policy).policy == Policy(
        order=Order.LEAST_ATTAINED,
        backfill=False,
        fair_share=False,
        hold_depth=1,
        starvation_limit_ms=HOUR_MS,
        ageing_ms=2 * HOUR_MS,
        half_life_ms=3 * HOUR_MS,
        preemption=False,
        min_runtime_ms=MINUTE_MS,
        preemptions_per_team_hour=5,
        restart_cost_ms=2 * MINUTE_MS,
        stop_grace_ms=3 * MINUTE_MS,
        consolidation=False,
        consolidation_gain_milli=1500,
        elastic=False,
        throughput=(("h100", 2000),),  # type: ignore[arg-type]
    )


def test_a_running_job_shows_its_size_by_its_workers() -> None:
    workers = [a_worker("n2", rank=1), a_worker("n1", rank=0)]
    job = scenario(running=[a_running(*workers, job=a_job(workers="1..4"), checkpointed=EARLIER)]).running[0]
    assert job.workers == (
        Worker(rank=0, role="worker", node="n1", gpus=tuple(range(8))),  # type: ignore[arg-type]
        Worker(rank=1, role="worker", node="n2", gpus=tuple(range(8))),  # type: ignore[arg-type]
    )
    assert job.started_ms == job.checkpointed_ms == job.submitted_ms == NOW_MS - 4 * HOUR_MS
    assert job.spec.name == "r1"


def test_fractional_workers_share_a_gpu() -> None:
    halves = [
        a_running(a_worker("n1", [0], share=0.5), id="a", job=a_job(0.5)),
        a_running(a_worker("n1", [0]), id="b", job=a_job(0.5)),
    ]
    assert [job.workers[0].share_milli for job in scenario(running=halves).running] == [500, 500]


def test_what_a_waiting_job_brings_along_is_read() -> None:
    item = a_waiting(requeued=True, held=True, unmet=["x"], attained_gpu_s=2.5, predicted="1h")
    job = scenario(waiting=[item]).waiting[0]
    assert (job.requeued, job.held, job.unmet, job.attained_gpu_ms, job.predicted_ms) == (
        True,
        True,
        ("x",),
        2500,
        HOUR_MS,
    )


def test_a_waiting_job_without_a_time_was_submitted_now() -> None:
    assert scenario(waiting=[{"id": 7, "job": {}}]).waiting[0].submitted_ms == NOW_MS


def test_a_dependency_is_unmet_while_the_job_runs_or_waits_or_is_not_in_the_file() -> None:
    value = scenario(
        running=[a_running(id="r1", job=a_job(name="prep"))],
        waiting=[
            a_waiting("w1", a_job(depends_on=["r1", "gone", {"job": "w2", "when": "failed"}])),
            a_waiting("w2", a_job(depends_on=["prep"])),
        ],
    )
    assert [job.unmet for job in value.waiting] == [("r1", "gone", "w2"), ("r1",)]


def test_what_a_file_says_of_dependencies_goes_before_what_is_concluded() -> None:
    ended = a_waiting("w1", a_job(depends_on=["gone"]), unmet=[])
    assert scenario(waiting=[ended]).waiting[0].unmet == ()


def test_equal_jobs_share_one_spec() -> None:
    value = scenario(waiting=[a_waiting(name, a_job(name="same")) for name in "ab"])
    assert value.waiting[0].spec is value.waiting[1].spec


def test_promises_of_an_earlier_cycle_are_read() -> None:
    promise = {
        "job": "w1",
        "start": LATER,
        "made": EARLIER,
        "nodes": ["n1"],
        "workers": [a_worker()],
        "basis": "departures",
    }
    found = scenario(waiting=[a_waiting()], holds=[promise]).promises[0]
    assert (found.job, found.start_ms, found.made_ms) == ("w1", NOW_MS + 4 * HOUR_MS, NOW_MS - 4 * HOUR_MS)
    assert (found.nodes, found.basis) == (("n1",), Basis.DEPARTURES)


def test_jobs_that_name_no_team_are_in_one_that_always_exists() -> None:
    value = scenario(teams={"a": {}}, waiting=[a_waiting()])
    assert [team.path for team in value.teams] == ["a", "default"]


def test_nodes_that_name_no_pool_are_in_one_that_always_exists() -> None:
    assert [pool.name for pool in scenario(pools={"spot": {"spot": True}}).pools] == ["spot", "main"]


def test_usage_above_a_limit_is_legal_because_limits_change() -> None:
    running = [a_running(job=a_job(team="a"))]
    assert scenario_errors(teams={"a": {"limit": {"h100": 1}}}, running=running) == []


def test_a_checkpoint_from_an_earlier_attempt_is_legal() -> None:
    assert scenario_errors(running=[a_running(checkpointed="2025-12-01T00:00:00Z")]) == []


ROLES = {"roles": {"a": {"resources": {"gpus": 8}}, "b": {"resources": {"gpus": 8}}}}


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ({"now": None}, "now: is required and was not given"),
        ({"now": "2026-01-01T00:00:00"}, "now: '2026-01-01T00:00:00' does not say its time zone (end it with Z"),
        ({"cluster": None}, "cluster: is required"),
        ({"wating": []}, "wating: unknown key (did you mean 'waiting'?)"),
        ({"waiting": {}}, "waiting: must be a list, not a mapping"),
        ({"policy": {"orders": "fair"}}, "policy.orders: unknown key (did you mean 'order'?)"),
        ({"policy": {"order": "random"}}, "policy.order: must be one of fair, fifo, shortest, las"),
        ({"policy": {"half_life": 0}}, "policy.half_life: must be longer than zero"),
        ({"tiers": []}, "tiers: has 0 tiers"),
        ({"tiers": {}}, "tiers: must be a list of tiers"),
        ({"tiers": [{"name": "a"}, {"name": "a"}]}, "tiers[1].name: tier 'a' is given twice"),
        ({"pools": {"a": {"tiers": ["prod"]}}}, "pools.a.tiers: there is no tier 'prod' (did you mean 'production'?)"),
        ({"pools": {"a": {"teams": ["x"]}}, "teams": {"y": {}}}, "pools.a.teams[0]: there is no team 'x'"),
        ({"pools": {"a b": {}}}, "pools.a b: 'a b' is not a name for a pool"),
        ({"pools": []}, "pools: must be a mapping"),
        (
            {"pools": {"main": {}}, "cluster": a_cluster(a_node(pool="man"))},
            "cluster.nodes[0].pool: there is no pool 'man' (did you mean 'main'?)",
        ),
        ({"usage": {"x": 1}, "teams": {"y": {}}}, "usage.x: there is no team 'x'"),
        ({"usage": {"x": "much"}}, "usage.x: must be a number"),
        ({"recent_preemptions": {"x": -1}}, "recent_preemptions.x: must be greater than or equal to 0"),
        (
            {"waiting": [a_waiting(job=a_job(team="nlq"))], "teams": {"nlp": {}}},
            "waiting[0].job.team: there is no team 'nlq' (did you mean 'nlp'?)",
        ),
        ({"waiting": [a_waiting(job=a_job(tier="prod"))]}, "waiting[0].job.tier: there is no tier 'prod'"),
        (
            {"tiers": [{"name": "gold"}], "waiting": [a_waiting()]},
            "waiting[0].job.tier: there is no tier 'standard', which is that of a job that names none (known: gold)",
        ),
        (
            {"waiting": [a_waiting(job=a_job(topology={"within": "rack"}))]},
            "waiting[0].job.topology.within: 'rack' is not a level of the cluster",
        ),
        (
            {"waiting": [a_waiting(job=a_job(topology={"prefer": "rack"}))]},
            "waiting[0].job.topology.prefer: 'rack' is not a level",
        ),
        ({"waiting": [a_waiting(job={"resources": {"gpus": 1.5}})]}, "waiting[0].job.resources.gpus: 1.5 GPUs"),
        ({"waiting": [a_waiting(), a_waiting()]}, "waiting[1].id: the id 'w1' is also that of waiting[0]"),
        (
            {"running": [a_running(id="x")], "waiting": [a_waiting("x")]},
            "waiting[0].id: the id 'x' is also that of running[0]",
        ),
        ({"waiting": [a_waiting(submitted=LATER)]}, "waiting[0].submitted: 2026-01-01T04:00:00Z is in the future"),
        (
            {"waiting": [a_waiting(job=a_job(depends_on=["w1"]))]},
            "waiting[0].job.depends_on: job 'w1' depends on itself",
        ),
        ({"waiting": [{"job": {}}]}, "waiting[0].id: is required"),
        ({"waiting": ["x"]}, "waiting[0]: must be a mapping"),
        ({"running": [a_running(started=LATER)]}, "running[0].started: 2026-01-01T04:00:00Z is in the future"),
        (
            {"running": [a_running(checkpointed=LATER)]},
            "running[0].checkpointed: 2026-01-01T04:00:00Z is in the future",
        ),
        ({"running": [{"id": "a", "job": {}}]}, "running[0].started: is required"),
        ({"running": [a_running(a_worker("n9"))]}, "running[0].workers[0].node: there is no node 'n9'"),
        (
            {"running": [a_running(a_worker(gpus=[*range(1, 9)]))]},
            "running[0].workers[0].gpus: there is no GPU 8 on 'n1' (it has 8, counted from 0)",
        ),
        (
            {"running": [a_running(a_worker(gpus=[0, 0], share=None), job=a_job(2))]},
            "running[0].workers[0].gpus: names a GPU twice",
        ),
        (
            {"running": [a_running(a_worker(gpus=[0]))]},
            "running[0].workers[0].gpus: has 1 GPUs, and the job asks for 8 for each worker",
        ),
        (
            {"running": [a_running(a_worker(gpus=[0], share=0.25), job=a_job(0.5))]},
            "running[0].workers[0].share: is 0.25, and the job asks for 0.5",
        ),
        (
            {"running": [a_running(a_worker(role="chief"))]},
            "running[0].workers[0].role: the job has no role 'chief'",
        ),
        ({"running": [a_running(job=ROLES)]}, "running[0].workers[0].role: is required: the job has several roles"),
        (
            {"running": [a_running(a_worker(role="a"), job=ROLES)]},
            "running[0].workers: 0 workers in role 'b', and the job runs with 1",
        ),
        (
            {"running": [a_running(job=a_job(workers="2..4"))]},
            "running[0].workers: 1 workers, and the job runs with 2 to 4",
        ),
        (
            {"running": [a_running(a_worker("n1"), a_worker("n2"), job=a_job())]},
            "running[0].workers: 2 workers, and the job runs with 1",
        ),
        (
            {"running": [a_running(a_worker("n1", rank=1), a_worker("n2", rank=1))]},
            "running[0].workers[0].rank: rank 1 is given 2 times",
        ),
        (
            {"running": [a_running(id="a"), a_running(id="b")]},
            "running[1].workers: GPU 0 of 'n1' is taken by 'a' and 'b', 2 GPUs in all",
        ),
        (
            {"running": [a_running(a_worker(gpus=[3]), id=name, job=a_job(0.4)) for name in "abc"]},
            "running[2].workers: GPU 3 of 'n1' is taken by 'a' and 'c', 1.2 GPUs in all",
        ),
        (
            {"running": [a_running(a_worker(), a_worker())]},
            "running[0].workers: GPU 0 of 'n1' is taken twice by 'r1'",
        ),
        (
            {
                "running": [
                    a_running(a_worker(gpus=[n]), id=f"r{n}", job={"resources": {"gpus": 1, "cpus": 65}})
                    for n in (0, 1)
                ]
            },
            "running[1].workers: 'n1' has 128 CPUs, and the jobs that run there need 130",
        ),
        (
            {"running": [a_running(job={"resources": {"gpus": 8, "memory": "2TiB"}})]},
            "running[0].workers: 'n1' has 1TiB memory, and the jobs that run there need 2TiB",
        ),
        ({"holds": [{"job": "w1", "start": LATER, "workers": [a_worker()]}]}, "holds[0].job: no job 'w1' waits"),
        (
            {"waiting": [a_waiting()], "holds": [{"job": "w1", "start": LATER, "workers": [a_worker()]}] * 2},
            "holds[1].job: job 'w1' has two holds",
        ),
        (
            {"waiting": [a_waiting()], "holds": [{"job": "w1", "start": LATER, "workers": [a_worker("n9")]}]},
            "holds[0].workers[0].node: there is no node 'n9'",
        ),
    ],
)
def test_a_contradiction_is_named_with_its_place(parts: dict[str, Any], expected: str) -> None:
    errors = scenario_errors(**parts)
    assert any(error.startswith(expected) for error in errors), errors


def test_mistakes_in_different_parts_are_reported_together() -> None:
    errors = scenario_errors(
        now=None, policy={"x": 1}, teams={"a": 5}, running=[a_running(a_worker(gpus=[9]))], waiting=[{"id": "w"}]
    )
    assert [error.split(":")[0] for error in errors] == [
        "now",
        "teams.a",
        "policy.x",
        "running[0].workers[0].gpus",
        "waiting[0].job",
    ]


def test_jobs_are_not_blamed_for_parts_that_could_not_be_read() -> None:
    errors = scenario_errors(
        cluster=a_cluster(a_node(gpus=99)),
        teams={"a": 5},
        tiers=[{}],
        running=[a_running()],
        waiting=[a_waiting(job=a_job(team="b", tier="x", topology={"within": "rack"}))],
    )
    assert [error.split(":")[0] for error in errors] == ["cluster.nodes[0].gpus", "tiers[0].name", "teams.a"]


def test_what_is_no_mapping_at_all_is_refused() -> None:
    with pytest.raises(Exception, match="must be a mapping"):
        scenario_from_document(parse_document("just text", file="s.yaml"))


def test_an_error_names_file_line_and_path() -> None:
    text = (
        "now: 2026-01-01T00:00:00Z\ncluster: 2x8\nwaiting:\n  - id: a\n    job:\n      resources:\n        gpus: many\n"
    )
    with pytest.raises(Exception, match=r"s\.yaml:7: waiting\[0\]\.job\.resources\.gpus: must be a number of GPUs"):
        scenario_from_document(parse_document(text, file="s.yaml"))


def test_an_unquoted_time_with_an_offset_is_read() -> None:
    document = parse_document("now: 2026-01-01T01:00:00+01:00\ncluster: 1x1", file="s.yaml")
    assert scenario_from_document(document).now_ms == NOW_MS


def test_a_scenario_of_the_documented_shape_is_read() -> None:
    assert scenario_errors(**a_scenario()) == []
