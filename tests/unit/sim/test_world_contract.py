"""The simulated world keeps the contract of the port when reports get lost, and its accounts add up."""

from muster.estimates.training import Habits, Training
from muster.model.events import StartFailed, WorkersExited
from muster.model.instructions import AskCheckpoint, KillWorkers, SignalStop, StartWorkers
from muster.model.job import Cause, Placement
from muster.model.policy import HOUR_MS, MINUTE_MS
from muster.sim.world import World
from tests.builders import a_node
from tests.unit.core.lifecycle.builders import JOB, a_gang, a_spec

GANG = a_gang(4)


def a_world(habits: Habits | None = None) -> World:
    world = World([a_node(f"n{number}") for number in range(1, 5)], habits)
    world.expect(Training(JOB, 5 * HOUR_MS, size=2))
    return world


def start(workers: Placement, *, generation: int = 1) -> StartWorkers:
    return StartWorkers(job=JOB, attempt=1, generation=generation, spec=a_spec(), workers=workers, gang=GANG)


def stop(*ranks: int, generation: int) -> SignalStop:
    return SignalStop(job=JOB, attempt=1, generation=generation, ranks=ranks, grace_ms=0, cause=Cause.PREEMPTED)


def kill(*ranks: int, generation: int) -> KillWorkers:
    return KillWorkers(job=JOB, attempt=1, generation=generation, ranks=ranks)


def test_the_exit_of_workers_that_were_given_up_is_reported_again() -> None:
    world = a_world()
    world.send(start(GANG))
    world.send(stop(2, 3, generation=2))
    world.poll()
    world.send(kill(2, 3, generation=3))
    (again,) = world.poll()
    assert isinstance(again, WorkersExited)
    assert (again.ranks, again.told) == ((2, 3), True)


def test_workers_that_came_after_the_end_were_never_started() -> None:
    world = a_world()
    world.send(start(GANG[:2]))
    world.advance(5 * HOUR_MS)
    world.send(start(GANG, generation=2))
    world.poll()
    world.send(kill(0, 1, 2, 3, generation=3))
    exited, unknown = world.poll()
    assert isinstance(exited, WorkersExited)
    assert isinstance(unknown, StartFailed)
    assert (exited.ranks, unknown.ranks) == ((0, 1), (2, 3))


def test_a_save_that_was_cut_short_costs_only_what_it_took() -> None:
    world = a_world(Habits(save_cost_ms=MINUTE_MS))
    world.send(start(GANG[:2]))
    world.advance(10 * MINUTE_MS)
    world.send(AskCheckpoint(job=JOB, attempt=1, generation=2))
    world.advance(10 * MINUTE_MS + 1_000)
    world.send(kill(0, 1, generation=3))
    useful, lost, saving = world.trainings[JOB].gpu_ms()
    assert (useful + lost, saving) == (2 * 10 * MINUTE_MS, 2_000)


def test_workers_that_left_in_the_middle_of_a_save_do_not_pay_for_the_rest_of_it() -> None:
    world = a_world(Habits(save_cost_ms=MINUTE_MS))
    world.send(start(GANG))
    world.advance(10 * MINUTE_MS)
    world.send(AskCheckpoint(job=JOB, attempt=1, generation=2))
    world.advance(10 * MINUTE_MS + 10_000)
    world.send(stop(2, 3, generation=3))
    world.advance(11 * MINUTE_MS)
    assert world.trainings[JOB].gpu_ms()[2] == 4 * 10_000 + 2 * 50_000
