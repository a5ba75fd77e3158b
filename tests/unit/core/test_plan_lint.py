"""Every rule of the linter fires on a plan made to break it, and a good plan passes."""

from typing import Any

import pytest

from muster.core.plan_lint import lint
from muster.core.planning import plan
from muster.core.snapshot import Snapshot
from muster.model.ids import JobId, NodeName, PoolName
from muster.model.job import Worker
from muster.model.plan import Eviction, Plan, Resize, Start, Why
from muster.model.policy import Pool
from muster.model.records import evolve
from muster.model.scenario import Scenario
from tests.builders import NOW_MS, a_cluster, a_job, a_node, a_promise, a_scenario, a_team, flat, racks, runs, waits

On = list[tuple[str, Any]]

PAIR = a_job(gpus=4, workers=(2, 3), team="a")
RUNNING = runs("r", PAIR, [("n1", range(4)), ("n1", range(4, 8))])
LEAVING = runs("gone", a_job(gpus=1), [("n2", (7,))], leaving_by_ms=NOW_MS + 1000)


def workers(on: On, *, role: str = "worker", first: int = 0, share: int | None = None) -> tuple[Worker, ...]:
    return tuple(
        Worker(rank=rank, role=role, node=NodeName(node), gpus=tuple(gpus), share_milli=share)
        for rank, (node, gpus) in enumerate(on, first)
    )


def a_plan(**parts: Any) -> Plan:
    return Plan(version=0, now_ms=NOW_MS, **parts)


def starts(on: On, job: str = "w", **fields: Any) -> Plan:
    return a_plan(starts=(Start(job=JobId(job), workers=workers(on, **fields)),))


def resizes(on: On, job: str = "r") -> Plan:
    return a_plan(resizes=(Resize(job=JobId(job), from_workers=2, to_workers=len(on), workers=workers(on)),))


def evicts(*jobs: str) -> Plan:
    return a_plan(
        evictions=tuple(Eviction(job=JobId(job), for_job=JobId("w"), why=Why.TIER, lost_gpu_ms=0) for job in jobs)
    )


def a_situation(spec: Any = None, **fields: Any) -> Scenario:
    """`r` fills n1, `gone` is leaving n2, `w` wants two whole GPUs, `idle` may not be considered."""
    return a_scenario(
        fields.pop("cluster", flat(2)),
        running=[RUNNING, LEAVING],
        waiting=[waits("w", spec or a_job(gpus=2, team="a")), waits("idle", held=True)],
        **fields,
    )


def problems(made: Plan, scenario: Scenario | None = None) -> str:
    return "; ".join(lint(made, Snapshot.of(scenario or a_situation())))


@pytest.mark.parametrize(
    "made",
    [
        a_plan(),
        starts([("n2", (0, 1))]),
        evicts("r"),
        resizes([("n1", range(4)), ("n1", range(4, 8)), ("n2", range(4))]),
        a_plan(promises=(a_promise("w", [("n2", (0, 1))], in_hours=1),)),
        a_plan(promises=(a_promise("r", [("n2", range(4)), ("n2", range(4))], in_hours=1),)),
    ],
)
def test_a_good_plan_passes(made: Plan) -> None:
    assert problems(made) == ""


def test_what_planning_makes_passes() -> None:
    snapshot = Snapshot.of(a_situation())
    assert lint(plan(snapshot, NOW_MS), snapshot) == ()


def test_a_plan_for_another_version_is_not_even_looked_at() -> None:
    made = evolve(starts([("n9", (0, 1))]), version=7)
    assert problems(made) == "plan was made for version 7, the snapshot is at 0"


SOUND = starts([("n2", (0, 1))]).starts

BAD: list[tuple[str, Plan]] = [
    ("w is decided twice", a_plan(starts=SOUND + starts([("n2", (2, 3))]).starts)),
    ("r is decided twice", evicts("r", "r")),
    (
        "r is decided twice",
        evolve(evicts("r"), resizes=resizes([("n1", range(4)), ("n1", range(4, 8))]).resizes),
    ),
    ("x starts but does not wait", starts([("n2", (0, 1))], job="x")),
    ("idle starts but does not wait", starts([("n2", (0,))], job="idle")),
    ("w is evicted or resized but does not run", evicts("w")),
    ("gone is evicted or resized but does not run, or is leaving", evicts("gone")),
    ("x is evicted or resized but does not run", resizes([("n2", range(4))] * 2, job="x")),
    ("w starts and is promised", a_plan(starts=SOUND, promises=(a_promise("w", [("n2", (0, 1))], in_hours=1),))),
    ("w has 2 workers of role worker, not 1..1", starts([("n2", (0, 1)), ("n2", (2, 3))])),
    ("w has 0 workers of role worker, not 1..1", starts([])),
    ("w has ranks with gaps", starts([("n2", (0, 1))], first=1)),
    ("w is placed on what is not free", starts([("n1", (0, 1))])),
    ("w is placed on what is not free", starts([("n2", (6, 7))])),
    ("r has 1 workers of role worker, not 2..3", resizes([("n1", range(4))])),
    (
        "r is placed on what is not free",
        resizes([("n1", range(4)), ("n1", range(4, 8)), ("n2", range(4, 8))]),
    ),
    ("w is promised a start in the past", a_plan(promises=(a_promise("w", [("n2", (0, 1))], in_hours=-1),))),
    ("x is promised a start but does not exist", a_plan(promises=(a_promise("x", [("n2", (0, 1))], in_hours=1),))),
    ("w is promised n9, which does not exist", a_plan(promises=(a_promise("w", [("n9", (0, 1))], in_hours=1),))),
]


@pytest.mark.parametrize(("problem", "made"), BAD)
def test_a_bad_plan_is_found_out(problem: str, made: Plan) -> None:
    assert problem in problems(made)


def test_two_starts_on_the_same_gpus_are_found_out() -> None:
    scenario = a_scenario(flat(1), waiting=[waits("w"), waits("w2")])
    made = a_plan(starts=starts([("n1", (0,))]).starts + starts([("n1", (0,))], job="w2").starts)
    assert problems(made, scenario) == "w2 is placed on what is not free"


def test_a_start_on_a_bad_gpu_or_a_node_that_takes_no_work_is_found_out() -> None:
    for ill in ({"bad_gpus": (1,)}, {"state": "draining"}):
        scenario = a_scenario(a_cluster(a_node("n1", **ill)), waiting=[waits("w")])
        assert problems(starts([("n1", (1,))]), scenario) == "w is placed on what is not free"


def test_a_start_without_the_cpus_it_needs_is_found_out() -> None:
    scenario = a_scenario(flat(1, cpus=2), waiting=[waits("w", a_job(cpus=4))])
    assert problems(starts([("n1", (0,))]), scenario) == "w is placed on what is not free"


def test_a_start_above_a_limit_is_found_out() -> None:
    scenario = a_situation(teams=[a_team("a", limit={"*": 9})])
    assert problems(starts([("n2", (0, 1))]), scenario) == "w takes a above its limit of *"


def test_growth_above_a_limit_is_found_out() -> None:
    scenario = a_situation(teams=[a_team("a", limit={"*": 11})])
    made = resizes([("n1", range(4)), ("n1", range(4, 8)), ("n2", range(4))])
    assert "r takes a above its limit" in problems(made, scenario)


UNSEEN: list[tuple[str, Scenario, Plan]] = [
    ("fewer GPUs than asked for", a_situation(), starts([("n2", (0,))])),
    ("more GPUs than asked for", a_situation(), starts([("n2", (0, 1, 2))])),
    ("the same GPU twice", a_situation(), starts([("n2", (0, 0))])),
    ("a node that does not exist", a_situation(), starts([("n9", (0, 1))])),
    ("a device that does not exist", a_situation(), starts([("n2", (6, 8))])),
    ("a role that does not exist", a_situation(), starts([("n2", (0, 1))], role="other")),
    ("a type that is not accepted", a_situation(a_job(gpus=2, gpu_type="a100")), starts([("n2", (0, 1))])),
    (
        "a pool that does not admit it",
        a_scenario(flat(1), waiting=[waits("w")], pools=[Pool(name=PoolName("main"), spot=True)]),
        starts([("n1", (0,))]),
    ),
    (
        "a whole GPU instead of a share",
        a_scenario(flat(1), waiting=[waits("w", a_job(gpus=0.5))]),
        starts([("n1", (0,))]),
    ),
    ("a share instead of a whole GPU", a_scenario(flat(1), waiting=[waits("w")]), starts([("n1", (0,))], share=500)),
    (
        "two racks for a gang within one",
        a_scenario(racks(2, 1), waiting=[waits("w", a_job(gpus=8, workers=2, within="rack"))]),
        starts([("r1-n1", range(8)), ("r2-n1", range(8))]),
    ),
    (
        "a tensor group on two nodes",
        a_scenario(flat(2), waiting=[waits("w", a_job(gpus=4, workers=2, tensor=8))]),
        starts([("n1", range(4)), ("n2", range(4))]),
    ),
]


@pytest.mark.parametrize(("what", "scenario", "made"), UNSEEN, ids=[what for what, _, _ in UNSEEN])
def test_a_gang_that_is_not_what_its_job_asked_for_is_found_out(what: str, scenario: Scenario, made: Plan) -> None:
    """As the checker finds it: lint says so in words and does not fall over."""
    assert problems(made, scenario), what
