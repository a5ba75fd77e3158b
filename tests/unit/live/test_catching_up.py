"""After a start: what happened while no control plane listened is heard before anything is decided."""

import pytest

from muster.backends.fake import FakeBackend
from muster.live import control_plane
from muster.model.events import ObservedEvent, WorkersExited
from muster.model.ids import JobId
from muster.model.job import Cause, JobState
from muster.model.policy import HOUR_MS
from muster.store.memory import MemoryLog, MemoryStates
from tests.builders import a_job
from tests.unit.live.writer import StepClock, await_that, running, submitted

LIMIT_MS = 60_000


class _Late(FakeBackend):
    """A backend that has not heard from all of its nodes yet."""

    def __init__(self) -> None:
        super().__init__()
        self.is_heard_out = False
        self.told: list[ObservedEvent] = []

    @property
    def has_caught_up(self) -> bool:
        return self.is_heard_out

    def poll(self) -> tuple[ObservedEvent, ...]:
        told, self.told = tuple(self.told), []
        return told


def _left_running(log: MemoryLog, states: MemoryStates) -> JobId:
    """A job with a limit, that ran when the control plane went away."""
    with running(log, states) as control:
        job = submitted(control, a_job(hours=LIMIT_MS / HOUR_MS))
        await_that(lambda: control.state.jobs[job].state is JobState.RUNNING)
    return job


def _later() -> StepClock:
    clock = StepClock()
    clock.not_before(2 * LIMIT_MS)
    return clock


def test_a_job_that_ended_before_its_limit_is_not_taken_for_one_that_ran_out_of_time() -> None:
    log, states, backend = MemoryLog(), MemoryStates(), _Late()
    job = _left_running(log, states)
    with running(log, states, backend=backend, clock=_later()) as control:
        other = submitted(control)  # whatever is asked for is taken in meanwhile
        assert control.state.jobs[job].state is JobState.RUNNING
        assert control.state.jobs[other].state is JobState.QUEUED
        backend.told.append(
            WorkersExited(at_ms=LIMIT_MS // 2, job=job, attempt=1, generation=1, ranks=(0,), exit_code=3)
        )
        backend.is_heard_out = True
        control.nudge()
        await_that(lambda: log.find([job])[job].state.is_final)
        assert log.find([job])[job].state is JobState.FAILED
        await_that(lambda: control.state.jobs[other].state is JobState.STARTING)


def test_a_node_that_says_nothing_is_not_waited_for_forever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(control_plane, "CATCH_UP_MS", 20)
    log, states = MemoryLog(), MemoryStates()
    job = _left_running(log, states)
    with running(log, states, backend=_Late(), clock=_later()) as control:
        await_that(lambda: control.state.jobs[job].cause is Cause.TIMEOUT)
