"""A node says what it runs, however much it is; and one that hangs or cannot be understood keeps no other waiting."""

import os
import time

import pytest

from muster.backends.local import report_queue
from muster.locks import has_locked
from muster.model.events import GangsFound, NodeReturned, NodeUnreachable, StartFailed, WorkersExited
from muster.worker.launch.runtime_folder import runtime_folder
from tests.local.conftest import MakeMachine
from tests.local.machine import Machine, a_spec, eventually

LARGE = "# " + "x" * (5 << 20)
"""What a user may put into a job file."""


def test_a_node_that_runs_many_large_job_files_is_reached_again(machine: Machine) -> None:
    """Together they are more than the longest line."""
    count = 4
    for number in range(count):
        machine.start(a_spec("sleep 60", setup=LARGE), job=f"job-{number}")
        machine.is_up(job=f"job-{number}")
    supervisor = machine.supervisor()
    machine.poll()
    machine.backend.close()
    machine.events.clear()
    machine.backend = machine.connect()
    found = machine.heard(GangsFound)
    assert [gang.job for gang in found.gangs] == [f"job-{number}" for number in range(count)]
    assert machine.supervisor() == supervisor
    for number in range(count):
        machine.kill(job=f"job-{number}")
        machine.exit_of(job=f"job-{number}")


def test_a_start_that_hangs_ends_and_the_node_is_told_unreachable(make_machine: MakeMachine) -> None:
    machine = make_machine(options=("--start-s", "1"))
    machine.supervisor()
    machine.backend.close()
    journal = machine.home / "nodes" / "n1" / "journal"
    machine.kill_supervisor()
    kept = journal.read_bytes()
    journal.unlink()
    os.mkfifo(journal)  # reading it never ends
    machine.backend = machine.connect()
    machine.heard(NodeUnreachable)
    journal.unlink()
    journal.write_bytes(kept)
    machine.heard(NodeReturned)


def test_a_lock_of_another_process_on_the_place_of_workers_keeps_no_supervisor_from_starting(
    make_machine: MakeMachine,
) -> None:
    machine = make_machine()
    machine.supervisor()
    machine.backend.close()
    machine.kill_supervisor()
    place = os.open(runtime_folder(machine.home), os.O_RDONLY)
    try:
        eventually(lambda: has_locked(place))
        machine.backend = machine.connect()
        machine.start("true")
        assert machine.exit_of().exit_code == 0
    finally:
        os.close(place)


def test_no_more_is_taken_from_nodes_than_is_recorded(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report_queue, "BACKEND_NEWS", 50)
    machine.start("true")
    machine.exit_of()
    for _ in range(400):
        machine.start("true")  # what became of it is told again
    eventually(lambda: len(machine.backend._reports._queue._items) >= 50)
    time.sleep(0.5)
    assert len(machine.backend._reports._queue._items) < 100
    assert len(machine.backend.poll()) >= 50
    machine.start("true", job="job-2")
    machine.exit_of(job="job-2")
    assert len([event for event in machine.events if isinstance(event, WorkersExited)]) > 300


def test_what_waits_for_a_node_to_greet_is_answered_when_the_node_is_lost(make_machine: MakeMachine) -> None:
    machine = make_machine(nodes=("n1", "n2"))
    machine.supervisor("n1")
    machine.supervisor("n2")
    machine.backend.close()
    machine.kill_supervisor("n2")
    log = machine.home / "nodes" / "n2" / "supervisor.log"
    log.unlink()
    log.mkdir()  # no other one can be started
    machine.events.clear()
    machine.backend = machine.connect()
    machine.kill(job="job-9")
    assert machine.heard(StartFailed, job="job-9").message == "never started"
    assert not [event for event in machine.events if isinstance(event, WorkersExited)]
    log.rmdir()
