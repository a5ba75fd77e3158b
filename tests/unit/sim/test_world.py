"""The simulated world keeps the port's contract, and its jobs' accounts add up."""

from typing import Any

from muster.estimates.training import PARTS, Habits, Training
from muster.model.events import (
    CheckpointSaved,
    NodeChanged,
    NodeLost,
    ObservedEvent,
    StartFailed,
    WorkersExited,
    WorkersStarted,
)
from muster.model.ids import GpuType, JobId, NodeName
from muster.model.instructions import AskCheckpoint, KillWorkers, SignalStop, StartWorkers
from muster.model.job import Cause, Worker
from muster.model.node import NodeState
from muster.sim.world import KILLED, World
from tests.builders import a_job, a_node

JOB = JobId("j1")
S = 1000
GANG = tuple(Worker(rank=rank, role="worker", node=NodeName(f"n{rank + 1}"), gpus=(0, 1)) for rank in range(2))
"""Two workers with two GPUs each, on n1 and n2."""


def a_world(work_s: int = 100, *, habits: Habits | None = None, **fields: Any) -> World:
    world = World((a_node("n1"), a_node("n2"), a_node("n3", gpu_type="old")), habits)
    world.expect(Training(JOB, work_s * S, size=2, **fields))
    return world


def start(*, attempt: int = 1, generation: int = 1, workers: tuple[Worker, ...] = GANG) -> StartWorkers:
    return StartWorkers(
        job=JOB, attempt=attempt, generation=generation, spec=a_job(workers=2, gpus=2), workers=workers, gang=GANG
    )


def stop(*ranks: int, attempt: int = 1, generation: int = 2) -> SignalStop:
    return SignalStop(
        job=JOB,
        attempt=attempt,
        generation=generation,
        ranks=ranks or (0, 1),
        grace_ms=60 * S,
        cause=Cause.PREEMPTED,
    )


def kill(*ranks: int, attempt: int = 1, generation: int = 3) -> KillWorkers:
    return KillWorkers(job=JOB, attempt=attempt, generation=generation, ranks=ranks or (0, 1))


def up(at_s: float = 0, *, attempt: int = 1, generation: int = 1) -> WorkersStarted:
    return WorkersStarted(at_ms=round(at_s * S), job=JOB, attempt=attempt, generation=generation, ranks=(0, 1))


def gone(
    at_s: float,
    *,
    code: int = 0,
    told: bool = False,
    attempt: int = 1,
    generation: int = 1,
    ranks: tuple[int, ...] = (0, 1),
) -> WorkersExited:
    return WorkersExited(
        at_ms=round(at_s * S),
        job=JOB,
        attempt=attempt,
        generation=generation,
        ranks=ranks,
        exit_code=code,
        told=told,
    )


def saved(at_s: float, *, attempt: int = 1, cost_s: int = 0) -> CheckpointSaved:
    return CheckpointSaved(at_ms=round(at_s * S), job=JOB, attempt=attempt, cost_ms=cost_s * S)


def heard(world: World, until_s: float | None = None) -> list[ObservedEvent]:
    """What is reported, moving the clock from event to event."""
    reports = list(world.poll())
    while until_s is not None and world.now_ms < until_s * S:
        coming = world.next_ms
        world.advance(round(until_s * S) if coming is None else min(coming, round(until_s * S)))
        reports += world.poll()
    return reports


def accounts(world: World) -> tuple[float, float, float]:
    """Useful, lost and saving GPU-seconds."""
    useful, lost, saving = world.trainings[JOB].gpu_ms()
    return useful / S, lost / S, saving / S


def test_a_gang_comes_up_and_ends_when_its_work_is_done() -> None:
    world = a_world()
    world.send(start())
    assert heard(world, 200) == [up(), gone(100)]
    assert accounts(world) == (400, 0, 0)
    assert world.trainings[JOB].stints == [(0, 100 * S, 4000, GANG)]


def test_workers_come_up_after_a_while() -> None:
    world = a_world(habits=Habits(start_ms=5 * S))
    world.send(start())
    assert heard(world, 200) == [up(5), gone(105)]
    assert accounts(world) == (400, 0, 0)


def test_a_job_that_is_told_to_leave_saves_itself_and_goes_on_from_there() -> None:
    world = a_world(habits=Habits(restart_cost_ms=30 * S))
    world.send(start())
    world.advance(40 * S)
    world.send(stop())
    assert heard(world) == [up(), saved(40), gone(40, told=True, generation=2)]
    world.send(start(attempt=2, generation=3))
    assert heard(world, 200) == [up(40, attempt=2, generation=3), gone(130, attempt=2, generation=3)]
    assert accounts(world) == (400, 120, 0)


def test_a_job_that_is_killed_goes_on_from_its_last_save() -> None:
    world = a_world(habits=Habits(save_every_ms=30 * S))
    world.send(start())
    reports = heard(world, 40)
    world.send(kill())
    assert [*reports, *heard(world)] == [up(), saved(30), gone(40, code=KILLED, told=True, generation=3)]
    world.send(start(attempt=2, generation=4))
    assert heard(world, 200)[-1] == gone(110, attempt=2, generation=4)
    assert accounts(world) == (400, 40, 0)


def test_a_job_that_cannot_resume_begins_anew() -> None:
    world = a_world(can_resume=False, habits=Habits(save_every_ms=30 * S))
    world.send(start())
    world.advance(40 * S)
    world.send(stop())
    assert heard(world) == [up(), gone(40, told=True, generation=2)]
    world.send(start(attempt=2, generation=3))
    assert heard(world, 300)[-1] == gone(140, attempt=2, generation=3)
    assert accounts(world) == (400, 160, 0)


def test_regular_saves_cost_time_and_only_the_newest_is_told() -> None:
    world = a_world(habits=Habits(save_every_ms=30 * S, save_cost_ms=5 * S))
    world.send(start())
    assert world.next_ms == 115 * S
    world.advance(115 * S)
    assert list(world.poll()) == [up(), saved(105, cost_s=5), gone(115)]
    assert accounts(world) == (400, 0, 60)


def test_saves_that_are_not_to_be_reported_are_counted_and_not_told() -> None:
    world = a_world(habits=Habits(save_every_ms=30 * S, save_cost_ms=5 * S, reports_saves=False))
    world.send(start())
    assert heard(world, 200) == [up(), gone(115)]
    assert accounts(world) == (400, 0, 60)


def test_leaving_takes_time_in_which_a_kill_still_loses_the_work() -> None:
    world = a_world(habits=Habits(leave_ms=10 * S))
    world.send(start())
    world.advance(40 * S)
    world.send(stop())
    world.send(stop())
    assert heard(world, 45) == [up()]
    world.send(kill())
    assert heard(world, 100) == [gone(45, code=KILLED, told=True, generation=3)]
    world.send(start(attempt=2, generation=4))
    world.advance(150 * S)
    world.send(stop(attempt=2, generation=5))
    assert heard(world, 300)[-2:] == [saved(160, attempt=2), gone(160, told=True, attempt=2, generation=5)]
    assert accounts(world) == (200, 180, 40)


def test_a_save_on_leaving_takes_as_long_as_every_other() -> None:
    world = a_world(habits=Habits(save_cost_ms=10 * S))
    world.send(start())
    world.advance(40 * S)
    world.send(stop())
    assert heard(world, 60) == [up(), saved(50, cost_s=10), gone(50, told=True, generation=2)]
    assert accounts(world) == (160, 0, 40)


def test_a_job_that_has_nothing_to_save_leaves_at_once() -> None:
    for fields in ({"can_resume": False}, {}):
        world = a_world(habits=Habits(save_cost_ms=10 * S, restart_cost_ms=30 * S), **fields)
        world.send(start(attempt=2))
        world.advance(20 * S)
        world.send(stop(attempt=2))
        assert heard(world, 60)[-1] == gone(20, told=True, attempt=2, generation=2)


def test_a_job_saves_when_asked_and_goes_on() -> None:
    world = a_world(habits=Habits(save_cost_ms=5 * S))
    world.send(start())
    world.advance(40 * S)
    world.send(AskCheckpoint(job=JOB, attempt=1, generation=2))
    world.advance(50 * S)
    world.send(kill())
    assert heard(world)[1:] == [saved(40, cost_s=5), gone(50, code=KILLED, told=True, generation=3)]
    assert accounts(world) == (160, 20, 20)


def test_a_lost_node_is_reported_and_its_workers_are_not() -> None:
    world = a_world()
    world.send(start())
    world.advance(40 * S)
    world.lose_node(NodeName("n1"))
    assert heard(world) == [up(), NodeLost(at_ms=40 * S, node=NodeName("n1"), because="lost")]
    assert world.nodes[NodeName("n1")].state is NodeState.DOWN
    assert world.next_ms is None
    world.send(kill(0, generation=2))
    assert heard(world) == []
    world.send(stop(1))
    assert heard(world) == [gone(40, code=1, told=True, generation=2, ranks=(1,))]
    assert accounts(world) == (0, 160, 0)
    assert world.trainings[JOB].faults == 1


def test_a_gang_that_was_all_on_the_lost_node_is_over() -> None:
    world = a_world()
    alone = tuple(Worker(rank=rank, role="worker", node=NodeName("n1"), gpus=(rank,)) for rank in range(2))
    world.send(start(workers=alone))
    world.advance(40 * S)
    world.lose_node(NodeName("n1"))
    assert world.trainings[JOB].stints == [(0, 40 * S, 2000, alone)]


def test_a_gpu_that_breaks_takes_the_gang_on_it_along() -> None:
    world = a_world()
    world.send(start())
    world.advance(40 * S)
    node = a_node("n1", bad_gpus=(5,))
    world.change_node(node, because="GPU 5 failed")
    assert heard(world) == [up(), NodeChanged(at_ms=40 * S, node=node, because="GPU 5 failed")]
    world.change_node(a_node("n1", bad_gpus=(1, 5)), because="GPU 1 failed")
    assert heard(world)[1:] == [gone(40, code=1)]


def test_a_straggler_holds_its_whole_gang_up() -> None:
    world = a_world()
    world.send(start())
    world.advance(50 * S)
    world.slow_node(NodeName("n2"), PARTS // 2)
    world.advance(90 * S)
    world.slow_node(NodeName("n2"), PARTS)
    assert heard(world, 300) == [up(), gone(120)]
    assert accounts(world) == (400, 0, 0)
    assert world.trainings[JOB].slowed == 80 * S * 1000


def test_slow_work_that_is_lost_is_lost_and_slow() -> None:
    world = a_world(habits=Habits(save_every_ms=30 * S))
    world.slow_node(NodeName("n2"), PARTS // 4)
    world.send(start())
    world.advance(40 * S)
    world.send(kill())
    assert accounts(world) == (30, 10, 0)
    assert world.trainings[JOB].slowed == 120 * S * 1000


def test_what_is_left_of_a_gang_keeps_its_seats_for_nothing() -> None:
    world = a_world()
    world.send(start())
    world.advance(40 * S)
    world.lose_node(NodeName("n1"))
    world.advance(50 * S)
    world.send(stop(1))
    assert accounts(world) == (0, 200, 0)


def test_a_job_runs_at_the_speed_of_its_gpu_type_and_of_its_size() -> None:
    slow = (Worker(rank=0, role="worker", node=NodeName("n3"), gpus=(0,)),)
    world = a_world(speeds=((GpuType("old"), PARTS // 4),))
    world.send(start(workers=slow))
    assert heard(world, 2000)[-1] == gone(800, ranks=(0,))
    assert accounts(world) == (800, 0, 0)


def test_workers_join_and_leave_a_gang_that_goes_on() -> None:
    world = a_world()
    world.send(start(workers=GANG[:1]))
    world.advance(40 * S)
    world.send(start(generation=2))
    world.advance(60 * S)
    world.send(stop(1, generation=3))
    reports = heard(world, 300)
    assert reports[1] == up(40, generation=2)
    assert reports[2] == gone(60, told=True, generation=3, ranks=(1,))
    assert reports[3] == gone(180, generation=3, ranks=(0,))
    assert [stint[:3] for stint in world.trainings[JOB].stints] == [
        (0, 40 * S, 2000),
        (40 * S, 60 * S, 4000),
        (60 * S, 180 * S, 2000),
    ]


def test_a_job_crashes_once_where_its_fate_says() -> None:
    world = a_world(crash_at=0.25, habits=Habits(save_every_ms=10 * S))
    world.send(start())
    assert heard(world, 60)[-1] == gone(25, code=1)
    world.send(start(attempt=2, generation=2))
    assert heard(world, 300)[-1] == gone(140, attempt=2, generation=2)
    assert accounts(world) == (400, 20, 0)


def test_jobs_on_a_node_that_will_go_save_themselves() -> None:
    world = a_world()
    world.send(start())
    world.advance(40 * S)
    world.warn(NodeName("n1"))
    world.warn(NodeName("n3"))
    assert heard(world) == [up(), saved(40)]


def test_an_older_generation_is_refused() -> None:
    world = a_world()
    world.send(start(generation=4))
    world.send(kill(generation=3))
    assert heard(world, 200) == [up(generation=4), gone(100, generation=4)]


def test_a_command_sent_again_is_answered_again() -> None:
    world = a_world()
    world.send(start())
    world.send(start())
    assert heard(world, 100) == [up(), up(), gone(100)]
    world.send(start())
    world.send(stop())
    assert heard(world) == [gone(100), gone(100)]


def test_workers_that_were_never_started_are_said_not_to_exist() -> None:
    world = a_world()
    world.send(stop(attempt=1, generation=1))
    assert heard(world) == [
        StartFailed(at_ms=0, job=JOB, attempt=1, generation=1, ranks=(0, 1), message="never started")
    ]


def test_a_newer_attempt_ends_what_is_left_of_the_older() -> None:
    world = a_world()
    world.send(start())
    world.advance(40 * S)
    world.send(start(attempt=2, generation=2))
    assert heard(world, 300) == [up(), up(40, attempt=2, generation=2), gone(140, attempt=2, generation=2)]
    assert accounts(world) == (400, 160, 0)
