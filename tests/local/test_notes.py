"""What is noted on disk, what is said, and what a successor knows: never less than was said, whatever the disk does."""

import os
import resource
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from muster.model.events import NodeLost, StartFailed, WorkersExited
from muster.worker.records.journal import Journal
from muster.worker.records.orphan_cleanup import Unnoted, sweep
from muster.worker.supervisor_address import supervisor_address
from tests.local.machine import Machine, eventually, is_alive

ENDS = 'echo $$ ready; until [ -e "$MUSTER_CHECKPOINT_ASK" ]; do sleep 0.02; done; exit 5'


def let_end(machine: Machine) -> int:
    """Let the worker finish; its first process."""
    (folder,) = machine.worker_folders()
    pid = next(entry for entry in machine.journal() if entry[0] == "alive")[3]
    assert isinstance(pid, int)
    (folder / "ask").touch()
    eventually(lambda: (folder / "exit-5").exists() or not folder.exists())
    return pid


@contextmanager
def full_disk(machine: Machine) -> Iterator[None]:
    """The supervisor cannot write to any file, as if its disk were full."""
    pid = machine.supervisor().pid
    soft, hard = resource.prlimit(pid, resource.RLIMIT_FSIZE)
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (0, hard))
    yield
    if supervisor_address(machine.home / "nodes" / "n1") is not None:
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (soft, hard))


def test_an_end_that_cannot_be_noted_is_not_said_until_there_is_room(machine: Machine) -> None:
    machine.start(ENDS)
    machine.is_up()
    machine.says("ready")
    files = f"/proc/{machine.supervisor().pid}/fd"
    with full_disk(machine):
        pid = let_end(machine)
        eventually(lambda: not os.path.exists(f"/proc/{pid}"), what="the worker is reaped")
        before = len(os.listdir(files))
        for number in range(50):  # every command is a round of the supervisor
            machine.kill(job=f"job-{number + 100}")
        time.sleep(0.3)
        assert not [event for event in machine.poll() if isinstance(event, WorkersExited)]
        assert len(os.listdir(files)) <= before
        assert [folder for folder in machine.worker_folders() if (folder / "exit-5").exists()]
    assert machine.exit_of().exit_code == 5
    eventually(lambda: not machine.worker_folders())


def test_an_end_that_was_not_noted_is_known_to_a_successor(machine: Machine) -> None:
    machine.start(ENDS)
    machine.is_up()
    machine.says("ready")
    machine.backend.close()  # it is not heard otherwise
    with full_disk(machine):
        pid = let_end(machine)
        eventually(lambda: not os.path.exists(f"/proc/{pid}"), what="the worker is reaped")
        machine.kill_supervisor()
    machine.backend = machine.connect()
    assert machine.exit_of().exit_code == 5
    assert len([event for event in machine.events if isinstance(event, WorkersExited)]) == 1


def test_a_start_that_fails_because_nothing_can_be_noted_is_said_all_the_same(machine: Machine) -> None:
    machine.start("true")
    machine.exit_of()
    with full_disk(machine):
        machine.start("true", job="job-2")
        assert "is the disk full" in machine.heard(StartFailed, job="job-2").message
    assert machine.heard(StartFailed, job="job-2", count=2).ranks == (0,)


def test_a_sweep_on_a_full_disk_keeps_the_record_of_an_end(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    machine.start(ENDS)
    pid = int(machine.says("ready").split()[0])
    supervisor = machine.supervisor()
    machine.backend.close()
    os.kill(supervisor.pid, signal.SIGSTOP)
    let_end(machine)
    eventually(lambda: not is_alive(pid))
    os.kill(supervisor.pid, signal.SIGKILL)
    eventually(lambda: not is_alive(supervisor.pid))
    with monkeypatch.context() as patched:
        patched.setattr(Journal, "_written_anew", no_room)
        with pytest.raises(Unnoted):
            sweep(machine.home / "nodes" / "n1")
    machine.backend = machine.connect()
    assert machine.exit_of().exit_code == 5
    assert not [event for event in machine.events if isinstance(event, NodeLost)]


def no_room(_: Journal) -> int:
    raise OSError("No space left on device")
