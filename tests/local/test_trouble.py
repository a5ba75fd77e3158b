"""What goes wrong on the machine for a moment costs a moment; what goes wrong for good is said."""

import os
import signal
import socket
import subprocess
from pathlib import Path

import pytest

from muster.backends.local.ending import end_supervisors
from muster.model.errors import InvariantViolated, TimedOut
from muster.model.events import NodeReturned, NodeUnreachable, WorkersExited
from muster.worker.processes.cgroups import Cgroup
from muster.worker.records import orphan_cleanup
from tests.local.conftest import MakeMachine
from tests.local.machine import Machine, eventually, is_alive


def test_a_node_whose_folder_cannot_be_made_is_lost_until_it_can(make_machine: MakeMachine, tmp_path: Path) -> None:
    (tmp_path / "nodes").touch()
    machine = make_machine()
    assert "cannot be started" in machine.heard(NodeUnreachable).because
    (tmp_path / "nodes").unlink()
    machine.heard(NodeReturned)
    machine.start("true")
    assert machine.exit_of().exit_code == 0


@pytest.mark.parametrize("call", ["Popen", "pidfd_open", "socket"])
def test_a_moment_without_memory_or_files_costs_a_moment(
    make_machine: MakeMachine, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    owner: object = {"Popen": subprocess, "pidfd_open": os, "socket": socket}[call]
    real, failures = getattr(owner, call), [OSError(24, "Too many open files")] * 2

    def fail_at_first(*given: object, **named: object) -> object:
        if failures:
            raise failures.pop()
        return real(*given, **named)

    monkeypatch.setattr(owner, call, fail_at_first)
    machine = make_machine()
    eventually(lambda: not failures)
    monkeypatch.setattr(owner, call, real)
    eventually(machine.backend.limits)
    machine.start("true", job="job-2")
    assert machine.exit_of(job="job-2").exit_code == 0


def test_a_backend_whose_thread_has_ended_says_so(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: object) -> None:
        raise RuntimeError("a bug")

    rung: list[None] = []
    machine.backend.on_news = lambda: rung.append(None)
    monkeypatch.setattr(machine.backend._directory, "is_older", fail)
    machine.start("true")
    machine.backend._thread.join()
    assert rung
    with pytest.raises(InvariantViolated, match="a bug"):
        machine.start("true")
    with pytest.raises(InvariantViolated, match="a bug"):
        machine.backend.poll()


@pytest.mark.parametrize("number", [signal.SIGSTOP, signal.SIGKILL], ids=["hangs", "is dead"])
def test_what_a_supervisor_runs_is_ended_also_when_it_hangs_or_is_dead(machine: Machine, number: int) -> None:
    machine.start("trap '' TERM; echo $$ ready; while :; do sleep 0.05; done")
    pid = int(machine.says("ready").split()[0])
    machine.backend.close()
    os.kill(machine.supervisor().pid, number)
    end_supervisors([machine.home / "nodes" / "n1"], timeout_s=0.05)
    assert not is_alive(pid)
    machine.backend = machine.connect()
    machine.exit_of()
    kinds = [type(event) for event in machine.events]
    assert kinds.index(NodeUnreachable) < kinds.index(WorkersExited), "the node has lost it, it has not failed"


def test_what_does_not_end_is_named(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    machine.start("echo $$ ready; sleep 60")
    pid = int(machine.says("ready").split()[0])
    machine.backend.close()
    alive = eventually(lambda: [entry for entry in machine.journal() if entry[0] == "alive"])
    first = alive[-1][3]
    machine.kill_supervisor()
    with monkeypatch.context() as patched:
        patched.setattr(orphan_cleanup, "send_signal", lambda *_: None)
        patched.setattr(orphan_cleanup, "PATIENCE_S", 0.05)
        patched.setattr(Cgroup, "kill", lambda _: None)
        with pytest.raises(TimedOut, match=rf"rank 0 of job-1, attempt 1 .process {first}. on n1"):
            end_supervisors([machine.home / "nodes" / "n1"])
    end_supervisors([machine.home / "nodes" / "n1"])
    assert not is_alive(pid)


def test_a_supervisor_that_ends_while_it_is_told_to_is_no_trouble(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = machine.supervisor()
    machine.backend.close()
    kill = os.kill

    def too_late(pid: int, number: int) -> None:
        with subprocess.Popen(["tail", f"--pid={found.pid}", "-f", os.devnull]):
            kill(pid, signal.SIGKILL)
        kill(pid, number)

    monkeypatch.setattr(os, "kill", too_late)
    end_supervisors([machine.home / "nodes" / "n1"])
