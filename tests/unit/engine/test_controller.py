"""Recording and committing: consequences come along, nothing is sent before it is written, errors stop the writer."""

import pytest

from muster.engine.controller import Controller, broken_invariant
from muster.engine.folding.state import Move, State
from muster.model.errors import Conflict, InvariantViolated
from muster.model.events import (
    DependencyFailed,
    DependencyMet,
    Event,
    JobStarted,
    JobSubmitted,
    NodeChanged,
    NodeLost,
    TurnCame,
    WorkersExited,
)
from muster.model.ids import JobId, NodeName
from muster.model.instructions import SignalStop, StartWorkers
from muster.model.job import JobState
from muster.model.limits import START_TIMEOUT_MS
from muster.model.node import NodeState
from muster.model.records import evolve
from muster.model.requests import JobCancelRequested, JobHeld
from muster.model.spec import ArraySpec, Dependency, DependencyWhen, JobSpec
from muster.store.memory import MemoryLog
from tests.builders import a_job, a_node
from tests.unit.engine.world import a_small_cluster, seats

FIRST, SECOND, THIRD = JobId("job-1"), JobId("job-2"), JobId("job-3")


def a_controller(log: MemoryLog | None = None) -> Controller:
    return Controller(State(a_small_cluster()), log or MemoryLog())


def submitted(job: JobId, spec: JobSpec | None = None, *, after: JobId | None = None) -> JobSubmitted:
    spec = spec or a_job()
    if after is not None:
        spec = evolve(spec, depends_on=(Dependency(job=after),))
    return JobSubmitted(at_ms=0, job=job, spec=spec, unmet=() if after is None else (after,))


def started(job: JobId, node: str = "n1") -> JobStarted:
    return JobStarted(
        at_ms=1_000,
        job=job,
        attempt=1,
        generation=1,
        workers=seats((node, 0)),
        max_duration_ms=3_600_000,
        stop_grace_ms=30_000,
    )


def exited(job: JobId, *, code: int = 0, generation: int = 1) -> WorkersExited:
    return WorkersExited(at_ms=5_000, job=job, attempt=1, generation=generation, ranks=(0,), exit_code=code)


def record(controller: Controller, *events: Event) -> None:
    for event in events:
        assert controller.record(event)


def no_space(*_: object, **__: object) -> int:
    raise OSError("no space left on device")


def test_nothing_is_sent_before_it_is_written() -> None:
    log = MemoryLog()
    controller = a_controller(log)
    record(controller, submitted(FIRST), started(FIRST))
    assert log.version == 0
    (command,) = controller.commit()
    assert isinstance(command, StartWorkers)
    assert log.version == 2
    assert controller.commit() == ()


def test_alarms_are_set_at_once() -> None:
    controller = a_controller()
    record(controller, submitted(FIRST), started(FIRST))
    assert controller.timers.next_ms == 1_000 + START_TIMEOUT_MS


def test_alarms_are_found_again_in_the_records() -> None:
    controller = a_controller()
    record(controller, submitted(FIRST), started(FIRST))
    again = Controller(controller.state, MemoryLog())
    assert again.timers.next_ms == 1_000 + START_TIMEOUT_MS


def test_stale_events_are_not_written() -> None:
    log = MemoryLog()
    controller = a_controller(log)
    record(controller, submitted(FIRST))
    assert not controller.record(exited(FIRST))
    controller.commit()
    assert log.version == 1


def test_times_in_the_log_never_go_back() -> None:
    log = MemoryLog()
    controller = a_controller(log)
    record(controller, submitted(FIRST), started(FIRST), evolve(exited(FIRST), at_ms=7))
    controller.commit()
    assert [event.at_ms for event in log.read()] == [0, 1_000, 1_000]


def test_an_ending_releases_and_dooms_those_that_wait_for_it() -> None:
    log = MemoryLog()
    controller = a_controller(log)
    failing = evolve(a_job(), depends_on=(Dependency(job=FIRST, when=DependencyWhen.FAILED),))
    record(
        controller,
        submitted(FIRST),
        submitted(SECOND, after=FIRST),
        JobSubmitted(at_ms=0, job=THIRD, spec=failing, unmet=(FIRST,)),
        started(FIRST),
        exited(FIRST),
    )
    controller.commit()
    assert list(log.read(5)) == [
        DependencyMet(at_ms=5_000, job=SECOND, dependency=FIRST),
        DependencyFailed(at_ms=5_000, job=THIRD, dependency=FIRST),
    ]
    assert controller.state.state_of(SECOND) is JobState.QUEUED
    assert controller.state.state_of(THIRD) is JobState.CANCELLED


def test_doom_is_passed_on_along_a_chain() -> None:
    controller = a_controller()
    record(controller, submitted(FIRST), submitted(SECOND, after=FIRST), submitted(THIRD, after=SECOND))
    record(controller, JobCancelRequested(at_ms=1, job=FIRST))
    assert [controller.state.state_of(job) for job in (SECOND, THIRD)] == [JobState.CANCELLED] * 2


def test_the_next_task_gets_its_turn_when_one_ends() -> None:
    log = MemoryLog()
    controller = a_controller(log)
    array = evolve(a_job(), array=ArraySpec(indices=(0, 1, 2), concurrency=1))
    record(controller, submitted(FIRST, array), JobCancelRequested(at_ms=1, job=JobId("job-1.0")))
    controller.commit()
    assert list(log.read(2)) == [TurnCame(at_ms=1, job=JobId("job-1.1"))]


def test_cancelling_an_array_gives_no_task_a_turn_and_dooms_its_dependents() -> None:
    log = MemoryLog()
    controller = a_controller(log)
    array = evolve(a_job(), array=ArraySpec(indices=(0, 1, 2), concurrency=1))
    record(controller, submitted(FIRST, array), submitted(SECOND, after=FIRST))
    record(controller, JobCancelRequested(at_ms=1, job=FIRST))
    controller.commit()
    assert list(log.read(3)) == [DependencyFailed(at_ms=1, job=SECOND, dependency=FIRST)]


def test_an_array_that_waits_is_released_as_a_whole() -> None:
    controller = a_controller()
    array = evolve(a_job(), array=ArraySpec(indices=(0, 1), concurrency=1))
    record(controller, submitted(FIRST), submitted(SECOND, array, after=FIRST))
    record(controller, started(FIRST), exited(FIRST))
    states = [controller.state.jobs[task].state for task in controller.state.addressed(SECOND)]
    assert states == [JobState.QUEUED, JobState.BLOCKED]


def test_a_draining_node_is_drained_when_its_last_job_has_left() -> None:
    controller = a_controller()
    draining = a_node("n1", gpus=2, state="draining")
    record(controller, submitted(FIRST), started(FIRST), NodeChanged(at_ms=2_000, node=draining))
    assert controller.state.nodes[NodeName("n1")].state is NodeState.DRAINING
    record(controller, exited(FIRST))
    assert controller.state.nodes[NodeName("n1")].state is NodeState.DRAINED


@pytest.mark.parametrize(("told", "kept"), [("new memory", "new memory"), ("", "nothing runs here any more")])
def test_why_a_node_was_drained_is_still_known_when_it_is_empty(told: str, kept: str) -> None:
    controller = a_controller()
    draining = NodeChanged(at_ms=2_000, node=a_node("n1", gpus=2, state="draining"), because=told, by="ann")
    record(controller, submitted(FIRST), started(FIRST), draining, exited(FIRST))
    assert controller.state.nodes[NodeName("n1")].state is NodeState.DRAINED
    assert controller.state.node_notes[NodeName("n1")] == kept


def test_an_empty_node_is_drained_at_once() -> None:
    controller = a_controller()
    record(controller, NodeChanged(at_ms=1, node=a_node("n1", gpus=2, state="draining")))
    assert controller.state.nodes[NodeName("n1")].state is NodeState.DRAINED


def test_what_runs_on_a_node_that_is_down_keeps_its_gpus_until_it_is_known_to_be_gone() -> None:
    controller = a_controller(MemoryLog())
    record(controller, submitted(FIRST), started(FIRST))
    record(controller, NodeChanged(at_ms=2_000, node=a_node("n1", gpus=2, state="down"), because="on fire"))
    assert controller.state.state_of(FIRST) is JobState.STOPPING
    record(controller, NodeLost(at_ms=3_000, node=NodeName("n1"), because="switched off"))
    assert controller.state.state_of(FIRST) is JobState.QUEUED


def test_a_node_that_is_back_hears_what_its_jobs_are_to_do() -> None:
    controller = a_controller(MemoryLog())
    record(controller, submitted(FIRST), started(FIRST))
    record(controller, NodeChanged(at_ms=2_000, node=a_node("n1", gpus=2, state="down"), because="on fire"))
    controller.commit()
    record(controller, NodeChanged(at_ms=3_000, node=a_node("n1", gpus=2), because="it is back"))
    assert [(type(each), each.job) for each in controller.commit()] == [(SignalStop, FIRST)]


def test_another_writer_is_noticed_and_ends_this_one() -> None:
    log = MemoryLog()
    controller = a_controller(log)
    record(controller, submitted(FIRST))
    log.append([JobHeld(at_ms=1, job=FIRST)], expected_version=0)
    with pytest.raises(Conflict):
        controller.commit()
    with pytest.raises(InvariantViolated, match="start again from the log"):
        controller.record(submitted(SECOND))
    assert controller.commit() == ()


def test_a_write_that_fails_sends_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MemoryLog, "append", no_space)
    controller = a_controller()
    record(controller, submitted(FIRST), started(FIRST))
    with pytest.raises(OSError, match="no space"):
        controller.commit()
    assert controller.commit() == ()


def test_an_event_that_contradicts_the_state_stops_the_writer_and_tells_the_story() -> None:
    controller = a_controller()
    record(controller, submitted(FIRST), started(FIRST))
    controller.state.snapshot.finish(FIRST)
    with pytest.raises(InvariantViolated, match=r"WorkersExited: cannot be folded(.|\n)*JobSubmitted(.|\n)*JobStarted"):
        controller.record(exited(FIRST))
    with pytest.raises(InvariantViolated, match="the writer has stopped"):
        controller.record(submitted(SECOND))


def test_a_cluster_event_that_cannot_be_folded_has_no_story_to_tell() -> None:
    controller = a_controller()
    record(controller, submitted(FIRST), started(FIRST))
    controller.state.snapshot.finish(FIRST)
    with pytest.raises(InvariantViolated, match=r"^NodeLost: cannot be folded"):
        controller.record(NodeLost(at_ms=2_000, node=NodeName("n1")))


@pytest.mark.pure_only(reason="compiled code calls its own functions, whatever was put in their place")
def test_a_broken_record_stops_the_writer(monkeypatch: pytest.MonkeyPatch) -> None:
    controller = a_controller()
    record(controller, submitted(FIRST))
    monkeypatch.setattr("muster.engine.controller.broken_invariant", lambda _: "wrong")
    with pytest.raises(InvariantViolated, match=r"job-1 is wrong(.|\n)*JobHeld"):
        controller.record(JobHeld(at_ms=1, job=FIRST))


def test_consequences_without_end_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("muster.engine.controller.CONSEQUENCES_PER_EVENT", 1)
    controller = a_controller()
    record(controller, submitted(FIRST), submitted(SECOND, after=FIRST))
    with pytest.raises(InvariantViolated, match="without end"):
        controller.record(JobCancelRequested(at_ms=1, job=FIRST))


def test_what_can_never_be_true_is_recognised() -> None:
    controller = a_controller()
    record(controller, submitted(FIRST), started(FIRST))
    running = controller.state.jobs[FIRST]
    ended = evolve(running, state=JobState.FAILED, workers=(), ended_ms=1)
    assert broken_invariant(Move(before=None, after=running)) == ""
    assert "0 workers" in broken_invariant(Move(before=None, after=evolve(running, workers=())))
    assert "its end is None" in broken_invariant(Move(before=None, after=evolve(ended, ended_ms=None)))
    assert "was at 1" in broken_invariant(Move(before=running, after=evolve(running, generation=0)))
    assert "had ended" in broken_invariant(Move(before=ended, after=running))


def test_stops_are_sent_in_the_order_they_were_decided() -> None:
    controller = a_controller()
    for job, node in ((FIRST, "n1"), (SECOND, "n2")):
        record(controller, submitted(job), started(job, node))
    controller.commit()
    record(controller, JobCancelRequested(at_ms=2_000, job=SECOND), JobCancelRequested(at_ms=2_000, job=FIRST))
    commands = controller.commit()
    assert [(type(command), command.job) for command in commands] == [(SignalStop, SECOND), (SignalStop, FIRST)]


def test_a_loss_that_is_reported_again_leaves_nothing_behind_that_the_log_does_not_tell() -> None:
    controller = a_controller(MemoryLog())
    record(controller, NodeChanged(at_ms=1, node=a_node("n1", gpus=2, state="down"), because="on fire"))
    assert not controller.record(NodeLost(at_ms=2, node=NodeName("n1"), because="switched off"))
    assert controller.state.lost == {}
    assert controller.record(NodeLost(at_ms=3, node=NodeName("n2"), because="switched off"))
