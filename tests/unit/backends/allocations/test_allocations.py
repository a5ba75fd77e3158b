"""What is asked of an engine, and what is made of what it says. The engine is pretended, and no agent ever comes."""

from collections.abc import Callable

from muster.backends.allocations.engine import (
    AllocationId,
    AllocationPhase,
    EngineSilent,
    RequestRefused,
    SeenAllocation,
)
from muster.model.events import (
    StartFailed,
    WorkersExited,
)
from muster.model.instructions import StartWorkers
from muster.model.job import Cause
from muster.model.records import evolve
from muster.model.spec import Mount
from tests.unit.backends.allocations.desk import Desk, PretendedEngine
from tests.unit.core.lifecycle.builders import JOB, a_gang, a_spec


def test_a_start_asks_once_for_exactly_its_nodes(desk: Callable[[], Desk], engine: PretendedEngine) -> None:
    one = desk()
    one.start()
    one.start()
    assert one.round() == []
    (request,) = engine.requests
    assert [share.nodes for share in request.shares] == [("n0", "n1")]
    assert request.token.startswith(f"muster_agent_{request.id}_")


def test_a_request_whose_answer_was_lost_is_found_and_not_repeated(
    desk: Callable[[], Desk], engine: PretendedEngine
) -> None:
    one = desk()
    engine.problem = EngineSilent("it has not answered for 20 s")
    one.start()
    assert one.round() == []
    engine.problem = None
    assert one.round() == []
    assert len(engine.requests) == 1


def test_a_control_plane_that_is_back_asks_for_nothing_that_there_is(
    desk: Callable[[], Desk], engine: PretendedEngine
) -> None:
    engine.problem, engine.is_deaf = EngineSilent("it has not answered"), True
    one = desk()
    one.start()
    assert one.round() == []
    engine.problem = None
    one = desk()  # the control plane died while it asked
    assert [type(event) for event in one.found if isinstance(event, StartFailed)] == [StartFailed, StartFailed]
    one.start()
    assert one.round() == []
    assert engine.requests == []
    two = desk()
    two.start(attempt=2, generation=2)
    two.round()
    engine.says(AllocationPhase.RUNNING)
    three = desk()
    three.start(attempt=2, generation=2)
    assert three.round() == []
    assert len(engine.requests) == 1


def test_what_nobody_waits_for_is_cancelled(desk: Callable[[], Desk], engine: PretendedEngine) -> None:
    engine.seen = [SeenAllocation(id=AllocationId("0f"), engine_id="77", phase=AllocationPhase.RUNNING)]
    desk()
    assert set(engine.cancelled) == {"77"}


def test_a_second_job_for_the_same_allocation_is_cancelled(desk: Callable[[], Desk], engine: PretendedEngine) -> None:
    one = desk()
    one.start()
    one.round()
    engine.seen.append(SeenAllocation(id=engine.requests[0].id, engine_id="99", phase=AllocationPhase.WAITING))
    one.round()
    assert set(engine.cancelled) == {"99"}


def test_a_refusal_is_the_jobs_to_hear(desk: Callable[[], Desk], engine: PretendedEngine) -> None:
    one = desk()
    engine.problem = RequestRefused("Invalid account")
    one.start()
    assert [event.message for event in one.round() if isinstance(event, StartFailed)] == ["Invalid account"] * 2


def test_a_mistake_of_the_job_fails_it(desk: Callable[[], Desk], engine: PretendedEngine) -> None:
    """It would be refused again, so it is not tried again."""
    one = desk()
    engine.problem = RequestRefused("no image", is_mistake=True)
    one.start()
    ended = [event for event in one.round() if isinstance(event, WorkersExited)]
    assert [(*each.ranks, each.problem, each.ended_for) for each in ended] == [
        (0, "no image", None),
        (1, "no image", None),
    ]


def test_what_is_broken_is_cancelled_and_so_is_what_is_left_of_it(
    desk: Callable[[], Desk], engine: PretendedEngine
) -> None:
    one = desk()
    one.start()
    one.round()
    engine.says(AllocationPhase.ENDING, Cause.PREEMPTED, "evicted", needs_cancel=True)
    assert one.round() == []
    assert set(engine.cancelled) == {"1"}
    engine.cancelled.clear()
    engine.says(AllocationPhase.ENDED, Cause.PREEMPTED, "evicted", needs_cancel=True)
    ended = [event for event in one.round() if isinstance(event, WorkersExited)]
    assert [(each.ended_for, each.because) for each in ended] == [(Cause.PREEMPTED, "evicted")] * 2
    assert set(engine.cancelled) == {"1"}  # once its end was told


def test_an_engine_that_runs_images_is_told_which_and_its_agents_are_not(
    desk: Callable[[], Desk], engine: PretendedEngine
) -> None:
    engine.runs_images = True
    one = desk()
    gang = a_gang(2)
    spec = evolve(a_spec(), image="train:1", mounts=(Mount(source="/data", target="/data"),))
    command = StartWorkers(job=JOB, attempt=1, generation=1, spec=spec, workers=gang, gang=gang)
    one.allocations.provide(command)
    one.round()
    (request,) = engine.requests
    assert (request.image, request.mounts) == ("train:1", spec.mounts)
    link = next(iter(one.allocations._register.links.values()))
    told = link.told(command)
    assert isinstance(told, StartWorkers)
    assert (told.spec.image, told.spec.mounts) == ("", ())
    assert link.address == "pod-of-n0"


def test_a_kill_before_an_agent_came_cancels(desk: Callable[[], Desk], engine: PretendedEngine) -> None:
    one = desk()
    one.start()
    one.round()
    one.kill()
    assert (one.round(), engine.cancelled) == ([], ["1"])
    engine.says(AllocationPhase.ENDED, Cause.CANCELLED, "cancelled in Slurm")
    assert [(type(event), event.generation) for event in one.round() if isinstance(event, StartFailed)] == [
        (StartFailed, 2),
        (StartFailed, 2),
    ]


def test_the_engines_word_is_the_cause(desk: Callable[[], Desk], engine: PretendedEngine) -> None:
    one = desk()
    one.start()
    one.round()
    engine.says(AllocationPhase.ENDED, Cause.CANCELLED, "cancelled in Slurm by alice")
    ended = [event for event in one.round() if isinstance(event, WorkersExited)]
    assert [(event.ranks, event.ended_for, event.because) for event in ended] == [
        ((rank,), Cause.CANCELLED, "cancelled in Slurm by alice") for rank in (0, 1)
    ]
    assert one.round() == []


def test_a_newer_attempt_waits_for_the_end_of_the_older(desk: Callable[[], Desk], engine: PretendedEngine) -> None:
    one = desk()
    one.start()
    one.round()
    engine.says(AllocationPhase.RUNNING)
    one.round()
    one.start(attempt=2, generation=2)
    one.round()
    assert (len(engine.requests), engine.cancelled) == (1, ["1"])
    engine.says(AllocationPhase.ENDED, Cause.CANCELLED)
    assert one.round() == []
    assert [request.attempt for request in engine.requests] == [1, 2]
