"""Where it is known what jobs are due, a job that is late on slow GPUs moves to faster ones before others."""

import pytest

from muster.checker import violations
from muster.core.planning import plan
from muster.model.ids import GpuType, TierName
from muster.model.job import RunningJob, WaitingJob
from muster.model.plan import Plan
from muster.model.policy import HOUR_MS, Policy
from muster.model.records import evolve
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


def test_a_late_job_moves_before_one_that_gave_way_gets_the_fast_gpus() -> None:
    scenario = situation(on_slow("late", 0, hours_ago=5))
    assert moved(scenario) == ["late"]
    assert [[worker.node for worker in start.workers] for start in planned(scenario).starts] == [["s"]]


def test_a_job_that_gave_way_waits_when_the_mover_takes_the_last_gpus() -> None:
    others = [on_slow("late", 0, hours_ago=5), runs("r", a_job(gpus=8), [("s", range(4, 12))])]
    made = planned(situation(*others))
    assert [eviction.job for eviction in made.evictions] == ["late"]
    assert [job for entry in made.blocked for job in entry.jobs] == ["back"]


def test_no_job_moves_in_front_of_one_that_has_a_right_to_the_fast_gpus() -> None:
    new = waits("new", a_job(gpus=4, team="b"))
    assert moved(situation(on_slow("late", 0, hours_ago=5), waiting=(new,))) == []
    assert moved(situation(on_slow("late", 0, hours_ago=5), waiting=(GAVE_WAY,))) == ["late"]


def test_without_declared_teams_a_job_that_gave_way_comes_first() -> None:
    scenario = situation(on_slow("late", 0, hours_ago=5))
    assert moved(scenario) == ["late"]
    assert moved(evolve(scenario, teams=())) == []


def test_the_latest_job_moves_first() -> None:
    """The other has run longer, and never waited."""
    latest = on_slow("latest", 0, hours_ago=5, waited_hours=20)
    longest = on_slow("longest", 4, hours_ago=9)
    assert moved(situation(longest, latest, waiting=())) == ["latest"]


def test_a_late_job_also_comes_before_jobs_of_lower_tiers_that_gave_way() -> None:
    below = evolve(GAVE_WAY, spec=evolve(GAVE_WAY.spec, tier=TierName("exploratory")))
    assert moved(situation(on_slow("late", 0, hours_ago=5), waiting=(below,))) == ["late"]


def test_a_late_job_does_not_come_before_jobs_of_higher_tiers() -> None:
    spec = evolve(on_slow("late", 0, hours_ago=5).spec, tier=TierName("exploratory"))
    late = evolve(on_slow("late", 0, hours_ago=5), spec=spec)
    assert moved(situation(late)) == []
    below = evolve(GAVE_WAY, spec=evolve(GAVE_WAY.spec, tier=TierName("exploratory")))
    assert moved(situation(late, waiting=(below,))) == ["late"]


def test_a_job_that_is_in_time_does_not_move_before_those_that_gave_way() -> None:
    """It needs eight GPUs and is due two and a half: three hours on slow ones would be three and a half of these."""
    in_time = on_slow("in time", 0, hours_ago=3, gpus=8)
    roomy = a_cluster(a_node("f", gpu_type="h100", gpus=8), a_node("s", gpu_type="k80", gpus=12))
    others = [runs(f"r{n}", a_job(gpus=1, team="a"), [("s", range(8 + n, 9 + n))], hours_ago=3) for n in range(3)]
    back = evolve(GAVE_WAY, submitted_ms=NOW_MS - 9 * HOUR_MS)
    scenario = evolve(situation(in_time, *others, waiting=(back,)), cluster=roomy)
    assert [start.job for start in planned(scenario).starts] == ["back"]
    assert moved(scenario) == []


@pytest.mark.parametrize("what", ["exit", "save"])
def test_a_plan_is_made_when_a_job_may_move_although_others_wait(what: str) -> None:
    large = waits("back", a_job(gpus=8, team="b", checkpoint=True), requeued=True, attained_gpu_ms=HOUR_MS)
    late, rest = on_slow("late", 0, hours_ago=5), runs("r", a_job(gpus=8), [("s", range(4, 12))])
    guest = runs("guest", a_job(gpus=4), [("f", range(4))])
    snapshot = with_dues(situation(late, rest, *([guest] if what == "exit" else []), waiting=(large,)))
    snapshot.queue.remember_stuck(plan(snapshot, NOW_MS).blocked, snapshot.releases)
    before = snapshot.news
    if what == "exit":
        snapshot.finish(guest.id)
    else:
        snapshot.checkpointed(late.id, NOW_MS)
    assert snapshot.news > before


def test_the_cycle_comes_back_when_a_late_job_may_move() -> None:
    large = waits("back", a_job(gpus=8, team="b", checkpoint=True), requeued=True, attained_gpu_ms=HOUR_MS)
    young = on_slow("late", 0, hours_ago=0.1, waited_hours=5)
    made = planned(situation(young, runs("r", a_job(gpus=8), [("s", range(4, 12))]), waiting=(large,)))
    assert made.evictions == ()
    assert made.wake_ms is not None
    assert made.wake_ms - NOW_MS < HOUR_MS
