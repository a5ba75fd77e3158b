"""Running jobs by what decides whether they may be stopped, and at what price."""

from random import Random
from statistics import median_high, median_low

import pytest

from muster.core.cluster.gang import Demand
from muster.core.order.preemptibles import Preemptibles, price_gpu_ms, saved_at_ms
from muster.model.ids import GpuType, TeamPath
from muster.model.job import RunningJob
from muster.model.policy import HOUR_MS
from muster.model.records import evolve
from muster.model.team import ANY_TYPE
from tests.builders import NOW_MS, a_job, runs

RESTART_MS = 60_000
H100 = GpuType("h100")


def demand(gpus: int) -> Demand:
    return ((ANY_TYPE, gpus * 1000), (H100, gpus * 1000)) if gpus else ()


def a_runner(name: str, gpus: int, saved_ms: int | None, team: str = "a") -> RunningJob:
    made = runs(name, a_job(gpus=gpus, team=team, checkpoint=True), [("n1", range(gpus))], hours_ago=9)
    return evolve(made, checkpointed_ms=saved_ms)


@pytest.mark.parametrize("seed", range(20))
def test_the_median_price_is_that_of_all_jobs_that_report_checkpoints(seed: int) -> None:
    chance, known, reported = Random(seed), Preemptibles(), dict[str, tuple[int, int]]()
    assert known.median_price(RESTART_MS, NOW_MS) is None
    for now_ms in range(NOW_MS, NOW_MS + 40 * HOUR_MS, HOUR_MS):
        gpus, name = chance.choice((0, 1, 2, 8)), f"j{chance.randrange(15)}"
        job = a_runner(name, gpus, chance.choice((None, NOW_MS - chance.randrange(9 * HOUR_MS))))
        is_preemptible, ends = chance.random() < 0.9, chance.random() < 0.2
        known.know(job, demand(gpus), is_preemptible=is_preemptible)
        reported.pop(name, None)
        if ends:
            known.remove(job.id)
        elif job.checkpointed_ms is not None and is_preemptible:
            reported[name] = (saved_at_ms(job), gpus * 1000)
        prices = [price_gpu_ms(saved_ms, milli, RESTART_MS, now_ms) for saved_ms, milli in reported.values()]
        expected = (median_low(prices) + median_high(prices)) // 2 if prices else None
        assert known.median_price(RESTART_MS, now_ms) == expected


def test_jobs_are_grouped_by_team_and_gpu_types_and_protected_jobs_apart() -> None:
    known = Preemptibles()
    for name, team, is_preemptible in (("j1", "a", True), ("j2", "a", True), ("j3", "b", False)):
        known.know(a_runner(name, 1, None, team), demand(1), is_preemptible=is_preemptible)
    types = ((ANY_TYPE, 1), (H100, 1))
    assert known.groups == {(TeamPath("a"), types): {"j1": None, "j2": None}}
    assert known.firm_groups == {(TeamPath("b"), types): {"j3": None}}
    known.know(evolve(a_runner("j1", 1, None), leaving_by_ms=NOW_MS), demand(1), is_preemptible=True)
    known.know(a_runner("j3", 1, None, "b"), demand(1), is_preemptible=True)
    assert known.groups == {(TeamPath("a"), types): {"j2": None}, (TeamPath("b"), types): {"j3": None}}
    assert known.firm_groups == {}
