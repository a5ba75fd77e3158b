"""What is known without a plan: that one would change nothing."""

from typing import Any

import pytest

from muster.core.order.ranks import ServiceLeft
from muster.core.planning import plan
from muster.core.planning.by_rank import plan_by_rank
from muster.core.planning.standstill import rest
from muster.core.snapshot import Snapshot
from muster.engine.decisions import Decisions
from muster.model.ids import JobId, NodeName
from muster.model.job import RunningJob, WaitingJob
from muster.model.machines.reservation import Reservation
from muster.model.policy import HOUR_MS
from muster.model.records import evolve
from muster.model.scenario import Scenario
from tests.builders import NOW_MS, a_job, a_scenario, a_team, flat, runs, waits

TURN_MS = 2 * HOUR_MS


def runner(name: str, gpus: range, *, gpu_hours: int = 20, on: str = "n1", **fields: Any) -> RunningJob:
    """A job of the third band, or a later one, in the first hour of its turn."""
    spec, fields = a_job(gpus=len(gpus), checkpoint=True), {"submitted_ms": NOW_MS - HOUR_MS} | fields
    return runs(name, spec, [(on, gpus)], hours_ago=0.9, attained_gpu_ms=gpu_hours * HOUR_MS, **fields)


def back(*, gpus: int = 4, **fields: Any) -> WaitingJob:
    """An older job of the third band that gave way."""
    spec = a_job(gpus=gpus, checkpoint=True)
    return waits("back", spec, hours_ago=9, attained_gpu_ms=20 * HOUR_MS, requeued=True, **fields)


def on_one_node(*running: RunningJob, waiting: WaitingJob | None = None, **fields: Any) -> Scenario:
    return a_scenario(flat(1), running=running, waiting=[waiting or back()], turn_ms=TURN_MS, **fields)


def looked_at(scenario: Scenario) -> Snapshot:
    """A snapshot of which a plan has said why its jobs wait."""
    snapshot = Snapshot.of(scenario)
    snapshot.queue.remember_stuck(plan(snapshot, NOW_MS).blocked, snapshot.releases)
    for group in snapshot.queue.classes():
        group.stuck_at = max(group.stuck_at, 0)  # also of jobs that can start, so that only what is counted decides
    return snapshot


def is_at_rest(snapshot: Snapshot, now_ms: int = NOW_MS) -> bool:
    made, found = plan(snapshot, now_ms), rest(snapshot, now_ms)
    if found is None:
        return False
    assert not made.changes_anything
    assert found.wake_ms == made.wake_ms
    return True


FULL = (runner("left", range(4)), runner("right", range(4, 8)))


def test_a_plan_changes_nothing_on_a_full_node_where_no_job_has_a_worse_place() -> None:
    assert is_at_rest(looked_at(on_one_node(*FULL)))


def test_the_first_plan_is_made_to_say_why_jobs_wait() -> None:
    assert rest(Snapshot.of(on_one_node(*FULL)), NOW_MS) is None


@pytest.mark.parametrize(("gpus", "rests"), [(4, False), (5, True)])
def test_a_job_that_has_to_leave_makes_room_for_as_much_as_it_has(gpus: int, rests: bool) -> None:
    worse = runner("right", range(4, 8), gpu_hours=200)
    assert is_at_rest(looked_at(on_one_node(FULL[0], worse, waiting=back(gpus=gpus)))) == rests


@pytest.mark.parametrize(("workers", "gpus", "rests"), [(2, 4, False), (1, 8, True)])
def test_room_is_counted_by_node(workers: int, gpus: int, rests: bool) -> None:
    worse = [runner(f"worse{node}", range(4), gpu_hours=200, on=f"n{node}") for node in (1, 2)]
    others = [runner(f"other{node}", range(4, 8), on=f"n{node}") for node in (1, 2)]
    spec = a_job(gpus=gpus, workers=workers, checkpoint=True)
    waiting = waits("back", spec, hours_ago=9, attained_gpu_ms=20 * HOUR_MS, requeued=True)
    scenario = a_scenario(flat(2), running=[*worse, *others], waiting=[waiting], turn_ms=TURN_MS)
    assert is_at_rest(looked_at(scenario)) == rests


@pytest.mark.parametrize(("gpus", "rests"), [(4, False), (5, True)])
def test_an_exit_makes_room_for_as_much_as_the_job_had(gpus: int, rests: bool) -> None:
    snapshot = looked_at(on_one_node(*FULL, waiting=back(gpus=gpus)))
    snapshot.finish(JobId("right"))
    assert is_at_rest(snapshot) == rests


def test_what_is_kept_for_newcomers_is_no_room_for_others() -> None:
    spread = [runs(f"r{node}", FULL[0].spec, [(f"n{node}", range(8))], hours_ago=0.9) for node in range(1, 10)]
    running = [*spread, runs("last", a_job(gpus=7, checkpoint=True), [("n10", range(7))], hours_ago=0.9)]
    for waiting, rests in ((back(gpus=1), True), (waits("new", a_job(gpus=1)), False)):
        scenario = a_scenario(flat(10), running=running, waiting=[waiting], turn_ms=TURN_MS)
        assert is_at_rest(looked_at(scenario)) == rests


def test_a_job_whose_turn_is_over_makes_room_for_an_older_one() -> None:
    snapshot = looked_at(on_one_node(*FULL))
    over_ms = FULL[0].started_ms + TURN_MS
    assert is_at_rest(snapshot, over_ms - 1)
    assert not is_at_rest(snapshot, over_ms)


@pytest.mark.parametrize(("hours", "rests"), [(2.5, False), (24, True)])
def test_only_a_newcomer_may_be_promised_the_gpus_of_a_job_that_ends_within_a_turn(hours: float, rests: bool) -> None:
    ends = runs("right", a_job(gpus=4, hours=hours), [("n1", range(4, 8))])
    newcomer = runs("left", a_job(gpus=4, checkpoint=True), [("n1", range(4))], hours_ago=0.1)
    assert is_at_rest(looked_at(on_one_node(newcomer, ends, waiting=waits("new", a_job(gpus=4))))) == rests
    assert is_at_rest(looked_at(on_one_node(newcomer, ends)))


def test_jobs_that_leave_already_call_for_a_plan() -> None:
    snapshot = looked_at(on_one_node(*FULL))
    snapshot.leaving(JobId("right"), NOW_MS + HOUR_MS)
    assert not is_at_rest(snapshot)


def test_a_right_to_preempt_calls_for_a_plan() -> None:
    lower = runs("right", a_job(gpus=4, tier="exploratory"), [("n1", range(4, 8))], hours_ago=0.1)
    asks = waits("asks", a_job(gpus=8, team="lab"), hours_ago=9, attained_gpu_ms=20 * HOUR_MS)
    assert is_at_rest(looked_at(on_one_node(*FULL, waiting=asks)))
    assert not is_at_rest(looked_at(on_one_node(FULL[0], lower, waiting=asks)))
    guaranteed = [a_team("lab", guaranteed={"*": 8})]
    assert not is_at_rest(looked_at(on_one_node(*FULL, waiting=asks, teams=guaranteed)))


def test_nothing_is_known_of_what_another_planner_decides() -> None:
    snapshot = looked_at(on_one_node(*FULL))
    assert Decisions().rest(snapshot, NOW_MS) == rest(snapshot, NOW_MS) is not None
    assert Decisions(plan=plan_by_rank(ServiceLeft())).rest(snapshot, NOW_MS) is None


def test_nothing_is_known_where_jobs_take_no_turns_or_none_can_resume() -> None:
    stubborn = runs("all", a_job(gpus=8), [("n1", range(8))])
    assert not is_at_rest(looked_at(on_one_node(stubborn)))
    scenario = a_scenario(flat(1), running=FULL, waiting=[back()])
    assert scenario.turn_ms is None
    assert not is_at_rest(looked_at(scenario))


@pytest.mark.parametrize("minutes", [-1, 1])
def test_at_rest_the_next_plan_is_made_when_a_reservation_ends(minutes: int) -> None:
    window = Reservation(
        name="upkeep", nodes=(NodeName("n1"),), from_ms=NOW_MS - HOUR_MS, to_ms=NOW_MS + minutes * 60_000
    )
    assert is_at_rest(looked_at(evolve(on_one_node(*FULL), reservations=(window,))))
