"""Where it is known what jobs are due, who is late on slow GPUs moves to faster ones before others."""

import pytest

from muster.checker import violations
from muster.core.planning import plan
from muster.model.ids import GpuType
from muster.model.job import RunningJob, WaitingJob
from muster.model.plan import Plan
from muster.model.policy import HOUR_MS, Policy
from muster.model.records import changed
from muster.model.scenario import Scenario
from tests.builders import NOW_MS, a_cluster, a_job, a_node, a_scenario, a_team, runs, waits
from tests.unit.core.outcomes import with_dues

FAST_AND_SLOW = a_cluster(a_node("f", gpu_type="h100", gpus=4), a_node("s", gpu_type="k80", gpus=12))
KNOWN = Policy(throughput=((GpuType("k80"), 200),))
GAVE_WAY = waits("back", a_job(gpus=4, team="b", checkpoint=True), requeued=True, attained_gpu_ms=HOUR_MS)


def on_slow(job_id: str, first: int, *, hours_ago: float, waited_hours: float = 0, gpus: int = 4) -> RunningJob:
    """A job of four GPUs that needs no more than its share, and has lived longer than is fair for what it did there."""
    return runs(
        job_id,
        a_job(gpus=gpus, team="a", checkpoint=True),
        [("s", range(first, first + gpus))],
        hours_ago=hours_ago,
        saved_hours_ago=0,
        submitted_ms=NOW_MS - round((hours_ago + waited_hours) * HOUR_MS),
    )


def situation(*running: RunningJob, waiting: tuple[WaitingJob, ...] = (GAVE_WAY,)) -> Scenario:
    teams = (a_team("a"), a_team("b"))
    return a_scenario(FAST_AND_SLOW, running=list(running), waiting=list(waiting), policy=KNOWN, teams=teams)


def planned(scenario: Scenario) -> Plan:
    made = plan(with_dues(scenario), NOW_MS)
    assert violations(scenario, made) == ()
    return made


def moved(scenario: Scenario) -> list[str]:
    return [eviction.job for eviction in planned(scenario).evictions]


def test_who_is_late_moves_before_one_that_gave_way_gets_the_fast_gpus() -> None:
    scenario = situation(on_slow("late", 0, hours_ago=5))
    assert moved(scenario) == ["late"]
    assert [[worker.node for worker in start.workers] for start in planned(scenario).starts] == [["s"]]


def test_who_gave_way_waits_when_the_mover_takes_the_last_gpus() -> None:
    others = [on_slow("late", 0, hours_ago=5), runs("r", a_job(gpus=8), [("s", range(4, 12))])]
    made = planned(situation(*others))
    assert [eviction.job for eviction in made.evictions] == ["late"]
    assert [job for entry in made.blocked for job in entry.jobs] == ["back"]


@pytest.mark.parametrize(
    "waiting",
    [waits("new", a_job(gpus=4, team="b")), changed(GAVE_WAY, starved=True)],
    ids=["never ran", "has starved"],
)
def test_nobody_moves_in_front_of_one_who_has_a_right_to_the_fast_gpus(waiting: WaitingJob) -> None:
    assert moved(situation(on_slow("late", 0, hours_ago=5), waiting=(waiting,))) == []


def test_without_declared_teams_who_gave_way_comes_first() -> None:
    scenario = changed(situation(on_slow("late", 0, hours_ago=5)), teams=())
    assert moved(scenario) == []


def test_who_is_latest_moves_first() -> None:
    """The other has run longer, and never waited."""
    latest = on_slow("latest", 0, hours_ago=5, waited_hours=20)
    longest = on_slow("longest", 4, hours_ago=9)
    assert moved(situation(longest, latest, waiting=())) == ["latest"]
