"""What the fake can pretend of supervisors: they die, have successors, keep limits, and say what they run."""

import pytest

from muster.backends.fake import KILLED, GangScript
from muster.backends.fake.supervised import SupervisedBackend
from muster.model.events import (
    GangsFound,
    NodeLost,
    NodeReturned,
    NodeUnreachable,
    StartFailed,
    WorkersExited,
    WorkersStarted,
)
from muster.model.ids import NodeName
from muster.model.instructions import StartWorkers
from muster.model.node_limits import ABSENCE_MARGIN_MS
from muster.model.records import evolve
from tests.contract.test_backend import RUNS_ON, gone, heard, kill, start, stop, up
from tests.unit.core.lifecycle.builders import JOB

N0, N1 = NodeName("n0"), NodeName("n1")
"""Rank 0 runs on the first, rank 1 on the second."""


def a_backend(script: GangScript = RUNS_ON, command: StartWorkers | None = None) -> SupervisedBackend:
    """A gang of two is up, and that was heard."""
    backend = SupervisedBackend()
    backend.script(JOB, script)
    backend.send(command or start())
    assert heard(backend) == up()
    return backend


def test_what_a_dead_supervisor_ran_goes_on_and_cannot_be_reached() -> None:
    backend = a_backend()
    backend.lose_supervisor(N1, noticed_after_ms=5)
    backend.send(kill(1))
    assert heard(backend) == []
    backend.advance(5)
    assert [type(event) for event in heard(backend)] == [NodeUnreachable]
    assert backend.alive(JOB) == (0, 1)
    assert (backend.is_attended(N0), backend.is_attended(N1)) == (True, False)


def test_a_successor_ends_it_greets_and_reports_the_ends() -> None:
    backend = a_backend()
    backend.lose_supervisor(N1)
    backend.replace_supervisor(N1)
    backend.replace_supervisor(N1)
    unreachable, returned, *rest = heard(backend)
    assert (type(unreachable), type(returned)) == (NodeUnreachable, NodeReturned)
    assert rest[:1] == gone(1, at_ms=0, code=KILLED)
    assert [type(event) for event in rest[1:]] == [GangsFound]
    assert backend.alive(JOB) == (0,)
    backend.advance(1_000)
    assert heard(backend) == []


@pytest.mark.parametrize(("code", "run_ms"), [(0, 10), (3, 10)])
def test_a_worker_that_ended_meanwhile_is_reported_as_its_record_says(code: int, run_ms: int) -> None:
    backend = a_backend(GangScript(run_ms=run_ms, exit_code=code))
    backend.lose_supervisor(N1)
    backend.advance(20)
    assert [event for event in heard(backend) if isinstance(event, WorkersExited)] == gone(0, at_ms=10, code=code)
    assert backend.alive(JOB) == ()
    backend.advance(30)
    backend.replace_supervisor(N1)
    assert [event for event in heard(backend) if isinstance(event, WorkersExited)] == gone(1, at_ms=30, code=code)


def test_a_node_that_is_swept_is_lost_and_can_be_back_later() -> None:
    backend = a_backend()
    backend.sweep_node(N1)
    assert heard(backend) == []
    backend.lose_supervisor(N1)
    backend.sweep_node(N1)
    assert [type(event) for event in heard(backend)] == [NodeUnreachable, NodeLost]
    assert backend.alive(JOB) == (0,)
    backend.replace_supervisor(N1)
    assert [type(event) for event in heard(backend)] == [NodeReturned, WorkersExited, GangsFound]


def test_a_newer_attempt_does_not_end_what_it_cannot_reach() -> None:
    backend = a_backend()
    backend.lose_supervisor(N1)
    backend.send(start(0, attempt=2, generation=2))
    assert [(job, worker.rank) for job, worker in backend.seated()] == [(JOB, 0), (JOB, 1)]
    backend.replace_supervisor(N1)
    assert backend.alive(JOB) == (0,)


def test_a_start_that_was_not_heard_is_denied_once_a_supervisor_is_there() -> None:
    backend = SupervisedBackend()
    backend.script(JOB, RUNS_ON)
    backend.lose_supervisor(N1)
    backend.send(start())
    backend.send(stop(1))
    assert [type(event) for event in heard(backend)] == [NodeUnreachable, WorkersStarted]
    backend.replace_supervisor(N1)
    heard(backend)
    backend.send(stop(1))
    denied = heard(backend)
    assert [type(event) for event in denied] == [StartFailed]


def test_supervisors_that_are_alone_keep_limits_and_say_so() -> None:
    backend = a_backend(GangScript(run_ms=None, stop_ms=None), evolve(start(), max_duration_ms=100_000))
    backend.fall_silent(1_000)
    backend.advance(100_000 + ABSENCE_MARGIN_MS)
    ended = [event for event in heard(backend) if isinstance(event, WorkersExited)]
    assert [(event.exit_code, event.told, event.timed_out) for event in ended] == [(KILLED, True, True)] * 2


def test_supervisors_that_hear_the_control_plane_leave_limits_to_it() -> None:
    backend = a_backend(GangScript(run_ms=None, stop_ms=None), evolve(start(), max_duration_ms=100_000))
    backend.fall_silent(1_000)
    backend.hear_again()
    backend.advance(1_000_000)
    assert backend.alive(JOB) == (0, 1)


def test_what_a_supervisor_began_alone_it_sees_through() -> None:
    backend = a_backend(GangScript(run_ms=None, stop_ms=None), evolve(start(), max_duration_ms=100_000))
    backend.fall_silent()
    backend.advance(100_000)
    backend.hear_again()
    backend.advance(100_000 + ABSENCE_MARGIN_MS)
    assert backend.alive(JOB) == ()


def test_supervisors_that_are_alone_end_grace_periods() -> None:
    backend = a_backend(GangScript(run_ms=None, stop_ms=None))
    backend.send(stop())
    backend.fall_silent()
    backend.advance(9_000 + ABSENCE_MARGIN_MS)
    assert backend.alive(JOB) == ()
    ended = [event for event in heard(backend) if isinstance(event, WorkersExited)]
    assert {event.timed_out for event in ended} == {False}


def test_everything_can_be_ended_also_where_no_supervisor_is() -> None:
    backend = a_backend()
    backend.lose_supervisor(N1)
    backend.end_everything()
    assert backend.seated() == ()


def test_a_node_says_what_it_runs_and_what_it_has_heard_of() -> None:
    backend = a_backend()
    backend.lose_supervisor(N1)
    backend.lose_node(NodeName("n2"))
    heard(backend)
    backend.greet((N0, N1, NodeName("n2")))
    (found,) = heard(backend)
    assert isinstance(found, GangsFound)
    assert (found.node, [(gang.job, [each.rank for each in gang.workers]) for gang in found.gangs]) == (
        N0,
        [(JOB, [0])],
    )
    assert [(each.job, each.attempt, each.generation) for each in found.seen] == [(JOB, 1, 1)]


def test_a_machine_that_goes_takes_what_no_supervisor_looked_after_with_it() -> None:
    backend = a_backend()
    backend.lose_supervisor(N1)
    backend.send(start(0, attempt=2, generation=2))
    backend.lose_node(N1)
    assert backend.alive(JOB) == (0,)
    assert backend.is_attended(N1)
