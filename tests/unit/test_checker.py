"""Every rule of the checker fires on a plan made to break it, and on nothing else."""

from typing import Any

import pytest

from muster.checker import violations
from muster.model.ids import JobId, LevelName, NodeName, PoolName, TeamPath, TierName
from muster.model.job import RunningJob, WaitingJob, Worker
from muster.model.plan import Basis, Blocked, Eviction, Plan, Promise, ReasonCode, Resize, Start, Why
from muster.model.policy import HOUR_MS, MINUTE_MS, Policy, Pool
from muster.model.records import evolve
from muster.model.scenario import Scenario
from muster.model.spec import JobSpec
from tests.builders import NOW_MS, a_cluster, a_job, a_node, a_promise, a_scenario, a_team, flat, racks, runs, waits

On = list[tuple[str, Any]]


def workers(on: On, *, share: int | None = None, role: str = "worker") -> tuple[Worker, ...]:
    return tuple(
        Worker(rank=rank, role=role, node=NodeName(node), gpus=tuple(gpus), share_milli=share)
        for rank, (node, gpus) in enumerate(on)
    )


def a_plan(**parts: Any) -> Plan:
    return Plan(version=0, now_ms=NOW_MS, **parts)


def starts(job: str, on: On, **fields: Any) -> Plan:
    return a_plan(starts=(Start(job=JobId(job), workers=workers(on, **fields)),))


def promises(*made: Promise, **parts: Any) -> Plan:
    return a_plan(promises=made, **parts)


def evicts(
    victim: str, preemptor: str, promise: Promise, *, why: Why = Why.TIER, lost_gpu_ms: int, **parts: Any
) -> Plan:
    eviction = Eviction(job=JobId(victim), for_job=JobId(preemptor), why=why, lost_gpu_ms=lost_gpu_ms)
    return a_plan(evictions=(eviction,), promises=(evolve(promise, basis=Basis.DEPARTURES),), **parts)


def one_waits(spec: Any = None, *, cluster: Any = None, **fields: Any) -> Scenario:
    return a_scenario(cluster or flat(2), waiting=[waits("w", spec or a_job(gpus=2))], **fields)


def test_a_good_plan_has_no_violations() -> None:
    assert violations(one_waits(), starts("w", [("n1", (0, 1))])) == ()


def test_an_empty_plan_for_an_empty_scenario_has_no_violations() -> None:
    assert violations(a_scenario(flat(1)), a_plan()) == ()


SMALL = a_job(gpus=2)
GANG = a_job(gpus=8, workers=2)

PLACEMENTS: list[tuple[str, Scenario, Plan]] = [
    ("no such job", one_waits(), starts("x", [("n1", (0, 1))])),
    ("no node n9", one_waits(), starts("w", [("n9", (0, 1))])),
    ("no role", one_waits(), starts("w", [("n1", (0, 1))], role="loader")),
    ("wants 2", one_waits(), starts("w", [("n1", (0,))])),
    ("wants 2", one_waits(), starts("w", [("n1", (0, 0))])),
    ("share of 500", one_waits(), starts("w", [("n1", (0, 1))], share=500)),
    ("takes 2 to 2", one_waits(GANG), starts("w", [("n1", range(8))])),
    ("takes 1 to 1", one_waits(), starts("w", [("n1", (0, 1)), ("n1", (2, 3))])),
    ("cannot be used", one_waits(), starts("w", [("n1", (7, 8))])),
    ("cannot be used", one_waits(cluster=flat(1, bad_gpus=(1,))), starts("w", [("n1", (0, 1))])),
    ("is drained", one_waits(cluster=flat(1, state="drained")), starts("w", [("n1", (0, 1))])),
    ("does not accept", one_waits(a_job(gpus=2, gpu_type="a100")), starts("w", [("n1", (0, 1))])),
    (
        "mixes GPU types",
        one_waits(GANG, cluster=a_cluster(a_node("n1"), a_node("n2", gpu_type="a100"))),
        starts("w", [("n1", range(8)), ("n2", range(8))]),
    ),
    (
        "does not admit",
        one_waits(pools=[Pool(name=PoolName("main"), tiers=(TierName("production"),))]),
        starts("w", [("n1", (0, 1))]),
    ),
    ("does not admit", one_waits(pools=[Pool(name=PoolName("main"), spot=True)]), starts("w", [("n1", (0, 1))])),
    (
        "more than one rack",
        one_waits(evolve(GANG, topology=a_job(within="rack").topology), cluster=racks(2, 1)),
        starts("w", [("r1-n1", range(8)), ("r2-n1", range(8))]),
    ),
    (
        "two workers share a node",
        one_waits(a_job(gpus=2, workers=2, spread=True)),
        starts("w", [("n1", (0, 1)), ("n1", (2, 3))]),
    ),
    (
        "has waited long enough",
        one_waits(a_job(gpus=8, workers=2, prefer="rack", relax_after_ms=2 * HOUR_MS), cluster=racks(2, 1)),
        starts("w", [("r1-n1", range(8)), ("r2-n1", range(8))]),
    ),
    ("tensor group", one_waits(a_job(gpus=2, workers=2, tensor=4)), starts("w", [("n1", (0, 1)), ("n2", (0, 1))])),
    (
        "GPU 0 of node n1 is used 2000",
        a_scenario(flat(1), waiting=[waits("w", SMALL)], running=[runs("r", SMALL, [("n1", (0, 3))])]),
        starts("w", [("n1", (0, 1))]),
    ),
    (
        "GPU 0 of node n1 is used 1100",
        a_scenario(
            flat(1), waiting=[waits("w", a_job(gpus=0.6))], running=[runs("r", a_job(gpus=0.5), [("n1", (0,))])]
        ),
        starts("w", [("n1", (0,))], share=600),
    ),
    ("of CPUs", one_waits(a_job(gpus=2, cpus=9), cluster=flat(1, cpus=8)), starts("w", [("n1", (0, 1))])),
    (
        "of memory",
        one_waits(a_job(gpus=2, memory_bytes=9), cluster=flat(1, memory_bytes=8)),
        starts("w", [("n1", (0, 1))]),
    ),
    ("its limit is 1000", one_waits(teams=[a_team("default", limit={"*": 1})]), starts("w", [("n1", (0, 1))])),
    (
        "team outer uses 2000 of h100",
        one_waits(a_job(gpus=2, team="outer/inner"), teams=[a_team("outer", limit={"h100": 1})]),
        starts("w", [("n1", (0, 1))]),
    ),
]


@pytest.mark.parametrize(("problem", "scenario", "plan"), PLACEMENTS)
def test_a_bad_start_is_noticed(problem: str, scenario: Scenario, plan: Plan) -> None:
    assert any(problem in found for found in violations(scenario, plan))


def test_ranks_with_a_gap_are_noticed() -> None:
    plan = a_plan(starts=(Start(job=JobId("w"), workers=(evolve(workers([("n1", (0, 1))])[0], rank=1),)),))
    assert any("ranks" in found for found in violations(one_waits(), plan))


def test_a_tensor_group_may_span_the_nodes_of_its_nvlink_domain() -> None:
    cluster = evolve(racks(1, 2), nvlink_level=LevelName("rack"))
    plan = starts("w", [("r1-n1", (0, 1)), ("r1-n2", (0, 1))])
    assert violations(one_waits(a_job(gpus=2, workers=2, tensor=4), cluster=cluster), plan) == ()


def test_a_team_above_its_limit_may_stay_there_but_not_rise() -> None:
    above = runs("r", a_job(gpus=8), [("n1", range(8))])
    scenario = one_waits(teams=[a_team("default", limit={"*": 4})], running=[above])
    blocked = Blocked(parts=((JobId("w"),),), code=ReasonCode.QUOTA_LIMIT)
    assert violations(scenario, a_plan(blocked=(blocked,))) == ()
    assert any("its limit is 4000" in found for found in violations(scenario, starts("w", [("n2", (0, 1))])))


def test_contradictions_between_lists_are_noticed() -> None:
    scenario = one_waits()
    start = Start(job=JobId("w"), workers=workers([("n1", (0, 1))]))
    promise = a_promise("w", [("n1", (0, 1))], in_hours=1)
    blocked = Blocked(parts=((JobId("w"),),), code=ReasonCode.CAPACITY)
    assert "w is started twice" in violations(scenario, a_plan(starts=(start, start)))
    assert "w is started and promised a start" in violations(scenario, a_plan(starts=(start,), promises=(promise,)))
    assert "w is started and blocked" in violations(scenario, a_plan(starts=(start,), blocked=(blocked,)))
    assert "w waits and nothing is said about it" in violations(scenario, a_plan())


def test_a_held_job_may_not_start() -> None:
    scenario = a_scenario(flat(1), waiting=[waits("w", SMALL, held=True)])
    assert any("may not start yet" in found for found in violations(scenario, starts("w", [("n1", (0, 1))])))


ELASTIC = a_job(gpus=2, workers=(1, 3), tier="exploratory")


def an_elastic_job(size: int, **fields: Any) -> RunningJob:
    return runs("e", ELASTIC, [("n1", (2 * at, 2 * at + 1)) for at in range(size)], **fields)


def resizes(on: On, size: int, *, for_job: str | None = None, **parts: Any) -> Plan:
    made = workers(on)
    resize = Resize(
        job=JobId("e"),
        from_workers=size,
        to_workers=len(made),
        workers=made,
        for_job=None if for_job is None else JobId(for_job),
    )
    return a_plan(resizes=(resize,), **parts)


def test_growth_on_free_gpus_is_fine_and_on_used_ones_is_not() -> None:
    other = runs("r", SMALL, [("n1", (4, 5))])
    scenario = a_scenario(flat(1), running=[an_elastic_job(1), other])
    assert violations(scenario, resizes([("n1", (0, 1)), ("n1", (2, 3))], 1)) == ()
    assert any("used 2000" in found for found in violations(scenario, resizes([("n1", (0, 1)), ("n1", (4, 5))], 1)))


def test_bad_resizes_are_noticed() -> None:
    scenario = a_scenario(flat(2), running=[an_elastic_job(2)])
    four = [("n1", (2 * at, 2 * at + 1)) for at in range(4)]
    assert any("takes 1 to 3" in found for found in violations(scenario, resizes(four, 2)))
    assert any("sizes are not" in found for found in violations(scenario, resizes(four[:3], 1)))
    assert any("for nobody" in found for found in violations(scenario, resizes(four[:1], 2)))
    assert any("moves workers" in found for found in violations(scenario, resizes([four[0], ("n2", (0, 1))], 2)))
    rigid = a_scenario(flat(1), running=[evolve(an_elastic_job(1), spec=SMALL)])
    assert any("not elastic" in found for found in violations(rigid, resizes(four[:2], 1)))


def test_gpus_that_a_shrinking_job_gives_up_are_not_free_yet() -> None:
    scenario = a_scenario(flat(1), running=[an_elastic_job(2)], waiting=[waits("w", SMALL), waits("p", SMALL)])
    plan = resizes(
        [("n1", (0, 1))],
        2,
        for_job="p",
        starts=(Start(job=JobId("w"), workers=workers([("n1", (2, 3))])),),
        promises=(a_promise("p", [("n1", (4, 5))], in_hours=1),),
    )
    assert any("used 2000" in found for found in violations(scenario, plan))


VICTIM = a_job(gpus=8, tier="exploratory")
EIGHT_HOURS_OF_GPUS_MS = 8 * HOUR_MS


def preemption(victim: Any = VICTIM, preemptor: Any = None, **fields: Any) -> Scenario:
    running: RunningJob = runs("v", victim, [("n1", range(8))], hours_ago=fields.pop("ran_hours", 1))
    waiting: WaitingJob = waits("w", preemptor or a_job(gpus=8), requeued=fields.pop("requeued", False))
    return a_scenario(flat(1), running=[running], waiting=[waiting], **fields)


def an_eviction(*, why: Why = Why.TIER, lost_gpu_ms: int = EIGHT_HOURS_OF_GPUS_MS, in_hours: float = 0.1) -> Plan:
    return evicts("v", "w", a_promise("w", [("n1", range(8))], in_hours=in_hours), why=why, lost_gpu_ms=lost_gpu_ms)


def test_a_legal_eviction_passes() -> None:
    assert violations(preemption(), an_eviction()) == ()


STANDARD = a_job(gpus=8, team="b")
OWNER = a_job(gpus=8, team="a")
A_OWNS = a_team("a", guaranteed={"*": 8})
SHELTERED = a_team("b", guaranteed={"*": 8}, tiers=(TierName("exploratory"),))

EVICTIONS: list[tuple[str, Scenario, Plan]] = [
    ("tier is not lower", preemption(a_job(gpus=8)), an_eviction()),
    ("does not preempt", preemption(VICTIM, VICTIM), an_eviction()),
    ("not preemptible", preemption(evolve(VICTIM, preemptible=False)), an_eviction()),
    (
        "not preemptible",
        preemption(a_job(gpus=8, tier="production"), a_job(gpus=8, tier="production")),
        an_eviction(),
    ),
    ("not run long enough", preemption(ran_hours=0.1), an_eviction(lost_gpu_ms=EIGHT_HOURS_OF_GPUS_MS // 10)),
    ("was preempted itself", preemption(requeued=True), an_eviction()),
    ("no preemption", preemption(policy=Policy(preemption=False)), an_eviction()),
    ("does not lose", preemption(), an_eviction(lost_gpu_ms=1)),
    ("more of its jobs", preemption(policy=Policy(preemptions_per_team_hour=0)), an_eviction()),
    (
        "more of its jobs",
        preemption(policy=Policy(preemptions_per_team_hour=2), recent_preemptions=((TeamPath("default"), 2),)),
        an_eviction(),
    ),
    ("beyond its guarantee", preemption(STANDARD, OWNER), an_eviction(why=Why.RECLAIM)),
    (
        "beyond its guarantee",
        preemption(STANDARD, OWNER, teams=[a_team("a", guaranteed={"*": 7})]),
        an_eviction(why=Why.RECLAIM),
    ),
    (
        "does not borrow",
        preemption(STANDARD, OWNER, teams=[A_OWNS, a_team("b", guaranteed={"*": 8})]),
        an_eviction(why=Why.RECLAIM),
    ),
    (
        "inside its guarantee",
        preemption(evolve(STANDARD, tier=TierName("exploratory")), OWNER, teams=[SHELTERED]),
        an_eviction(),
    ),
    ("has not outstayed", preemption(), an_eviction(why=Why.PROMISE)),
    ("cannot be moved", preemption(), an_eviction(why=Why.CONSOLIDATION)),
    ("nowhere to go", preemption(), an_eviction(why=Why.CONSOLIDATION)),
    ("promised nothing", preemption(), evolve(an_eviction(), promises=())),
    ("used 2000", preemption(), an_eviction(in_hours=0)),
]


@pytest.mark.parametrize(("problem", "scenario", "plan"), EVICTIONS)
def test_an_illegal_eviction_is_noticed(problem: str, scenario: Scenario, plan: Plan) -> None:
    assert any(problem in found for found in violations(scenario, plan))


@pytest.mark.parametrize(
    "borrower", [STANDARD, evolve(STANDARD, preemptible=False), evolve(STANDARD, tier=TierName("production"))]
)
def test_a_team_may_reclaim_what_another_borrowed_in_every_tier(borrower: JobSpec) -> None:
    assert violations(preemption(borrower, OWNER, teams=[A_OWNS]), an_eviction(why=Why.RECLAIM)) == ()


def test_an_overdue_job_beside_the_promised_gpus_is_not_in_the_way() -> None:
    overdue = runs("v", a_job(gpus=4, hours=1), [("n1", range(4))], hours_ago=2)
    scenario = a_scenario(flat(1), running=[overdue], waiting=[waits("w", a_job(gpus=4))])
    on, beside = (a_promise("w", [("n1", gpus)], in_hours=0.1) for gpus in (range(4), range(4, 8)))
    lost = 4 * 2 * HOUR_MS
    assert violations(scenario, evicts("v", "w", on, why=Why.PROMISE, lost_gpu_ms=lost)) == ()
    noticed = violations(scenario, evicts("v", "w", beside, why=Why.PROMISE, lost_gpu_ms=lost))
    assert any("not in the way" in found for found in noticed)


def test_a_job_that_is_leaving_cannot_be_told_again() -> None:
    leaving = evolve(preemption().running[0], leaving_by_ms=NOW_MS + MINUTE_MS)
    assert any(
        "leaving already" in found for found in violations(evolve(preemption(), running=(leaving,)), an_eviction())
    )


def test_evicting_and_resizing_one_job_is_noticed() -> None:
    scenario = a_scenario(flat(1), running=[an_elastic_job(2)], waiting=[waits("w", a_job(gpus=4))])
    promise = a_promise("w", [("n1", range(4))], in_hours=0.1)
    plan = evicts("e", "w", promise, lost_gpu_ms=4 * HOUR_MS, resizes=resizes([("n1", (0, 1))], 2, for_job="w").resizes)
    assert "e is evicted and resized" in violations(scenario, plan)


RUNNING = runs("r", a_job(gpus=8, hours=3), [("n1", range(8))], hours_ago=1)

PROMISES: list[tuple[str, Scenario, Plan]] = [
    ("in the past", one_waits(), promises(a_promise("w", [("n1", (0, 1))], in_hours=-1))),
    (
        "used 2000",
        a_scenario(flat(1), running=[RUNNING], waiting=[waits("w", SMALL)]),
        promises(a_promise("w", [("n1", (0, 1))], in_hours=1.9)),
    ),
    (
        "used 2000",
        a_scenario(flat(1), waiting=[waits("w", a_job(gpus=2, hours=2)), waits("x", SMALL)]),
        promises(a_promise("w", [("n1", (0, 1))], in_hours=1), a_promise("x", [("n1", (1, 2))], in_hours=2)),
    ),
    (
        "used 2000",
        a_scenario(flat(1), waiting=[waits("w", a_job(gpus=2, hours=2)), waits("x", SMALL)]),
        promises(a_promise("x", [("n1", (1, 2))], in_hours=1), starts=starts("w", [("n1", (0, 1))]).starts),
    ),
    (
        "team default would use 4000",
        a_scenario(
            flat(1),
            teams=[a_team("default", limit={"*": 3})],
            waiting=[waits("w", a_job(gpus=2, hours=2)), waits("x", SMALL)],
        ),
        promises(a_promise("w", [("n1", (0, 1))], in_hours=1), a_promise("x", [("n1", (2, 3))], in_hours=2)),
    ),
    ("takes 2 to 2", one_waits(GANG), promises(a_promise("w", [("n1", range(8))], in_hours=1))),
    (
        "runs and is promised",
        a_scenario(flat(2), running=[RUNNING]),
        promises(a_promise("r", [("n2", range(8))], in_hours=1)),
    ),
]


@pytest.mark.parametrize(("problem", "scenario", "plan"), PROMISES)
def test_a_promise_that_cannot_be_kept_is_noticed(problem: str, scenario: Scenario, plan: Plan) -> None:
    assert any(problem in found for found in violations(scenario, plan))


def test_a_promise_for_the_moment_a_limit_ends_can_be_kept() -> None:
    scenario = a_scenario(flat(1), running=[RUNNING], waiting=[waits("w", SMALL)])
    assert violations(scenario, promises(a_promise("w", [("n1", (0, 1))], in_hours=2))) == ()
