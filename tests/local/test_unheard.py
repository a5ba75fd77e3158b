"""What a control plane that was just started knows of nodes that it has not heard from."""

import os
import signal

from muster.model.events import NodeUnreachable, StartFailed, WorkersExited
from tests.local.machine import Machine, eventually, is_alive
from tests.local.test_adoption import GOES_ON, let_go_on


def test_it_is_known_when_every_node_has_told_what_it_kept(machine: Machine) -> None:
    machine.start(GOES_ON)
    machine.says("ready")
    machine.backend.close()
    let_go_on(machine)
    machine.says("done")
    supervisor = machine.supervisor()
    os.kill(supervisor.pid, signal.SIGSTOP)
    machine.backend = machine.connect()
    machine.start("true", job="job-2")
    assert not machine.backend.has_caught_up
    os.kill(supervisor.pid, signal.SIGCONT)
    eventually(lambda: machine.backend.has_caught_up)
    heard = [event for event in machine.backend.poll() if isinstance(event, WorkersExited)]
    assert [event.job for event in heard][:1] == ["job-1"]


def test_of_a_node_that_died_before_it_ever_greeted_nothing_is_said_to_be_gone(machine: Machine) -> None:
    machine.start(GOES_ON)
    pid = int(machine.says("ready").split()[0])
    machine.backend.close()
    supervisor = machine.supervisor()
    os.kill(supervisor.pid, signal.SIGSTOP)
    machine.backend = machine.connect()
    machine.events.clear()
    machine.stop()
    eventually(lambda: machine.backend._unplaced)
    os.kill(supervisor.pid, signal.SIGKILL)
    machine.heard(NodeUnreachable)
    eventually(lambda: any(isinstance(event, WorkersExited | StartFailed) for event in machine.poll()))
    assert not is_alive(pid)
    assert not any(isinstance(event, StartFailed) for event in machine.poll())
