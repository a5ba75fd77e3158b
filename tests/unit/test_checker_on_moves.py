"""The checker on jobs that move for themselves to faster GPUs."""

from typing import Any

import pytest

from muster.checker import violations
from muster.model.ids import GpuType
from muster.model.job import WaitingJob
from muster.model.plan import Basis, Blocked, Eviction, Plan, ReasonCode, Why
from muster.model.policy import HOUR_MS, Policy
from muster.model.records import evolve
from tests.builders import NOW_MS, a_cluster, a_job, a_node, a_promise, a_scenario, a_team, runs, waits

MIXED = a_cluster(a_node("f", gpu_type="h100"), a_node("s", gpu_type="k80"))
KNOWN = Policy(throughput=((GpuType("k80"), 500),))


def a_move(
    *, origin: str = "s", to: str = "f", policy: Policy = KNOWN, waiting: Any = (), promised: Any = (), **fields: Any
) -> tuple[str, ...]:
    """What is wrong with moving a job that has run for an hour and has just saved itself."""
    job = runs("v", a_job(gpus=8, checkpoint=True), [(origin, range(8))], saved_hours_ago=0)
    scenario = a_scenario(MIXED, running=[job], waiting=[*waiting, *promised], policy=policy, **fields)
    promise = a_promise("v", [(to, range(8))], in_hours=0.1, basis=Basis.DEPARTURES)
    moves = Eviction(job=job.id, for_job=job.id, why=Why.CONSOLIDATION, lost_gpu_ms=0)
    others = tuple(a_promise(each.id, [(origin, range(8))], in_hours=200) for each in promised)
    blocked = tuple(Blocked(parts=((each.id,),), code=ReasonCode.CAPACITY) for each in waiting)
    made = Plan(version=0, now_ms=NOW_MS, evictions=(moves,), promises=(promise, *others), blocked=blocked)
    return violations(scenario, made)


def gave_way(**fields: Any) -> WaitingJob:
    spec = a_job(gpus=8, workers=2, checkpoint=True, tier=fields.pop("tier", "standard"))
    return waits("w", spec, requeued=True, attained_gpu_ms=HOUR_MS, **fields)


DUE = {"teams": [a_team("default")]}


@pytest.mark.parametrize(
    ("fields", "is_noticed"),
    [
        ({"waiting": (gave_way(),)} | DUE, False),
        ({"waiting": (gave_way(tier="exploratory"),)} | DUE, False),
        ({"waiting": (gave_way(),)}, True),
        ({"waiting": (gave_way(starved=True),)} | DUE, False),
        ({"waiting": (gave_way(tier="production"),)} | DUE, True),
        ({"waiting": (waits("w", a_job(gpus=8, workers=2)),)} | DUE, True),
        ({"waiting": (gave_way(),), "policy": evolve(KNOWN, turns=False)} | DUE, True),
        ({"promised": (waits("w", a_job(gpus=8)),)}, True),
    ],
    ids=["gave way", "of a lower tier", "no dues", "starved", "of a higher tier", "never ran", "no turns", "promised"],
)
def test_a_job_that_moves_while_others_wait_must_come_before_them(fields: dict[str, Any], is_noticed: bool) -> None:
    assert any("somebody waits" in found for found in a_move(**fields)) is is_noticed


def test_a_job_may_move_for_itself_to_faster_gpus() -> None:
    assert a_move() == ()


def test_a_move_for_itself_that_gains_nothing_or_too_little_or_harms_others_is_noticed() -> None:
    for problem, found in (
        ("no faster", a_move(policy=Policy())),
        ("no faster", a_move(origin="f", to="s")),
        ("gains less", a_move(policy=evolve(KNOWN, restart_cost_ms=HOUR_MS))),
        ("somebody waits", a_move(waiting=(waits("w", a_job(gpus=8, workers=2)),))),
    ):
        assert any(problem in each for each in found), problem
