"""What lives under a node's name although its files do not know it: it is ended before anything else is started."""

import os
import shutil
import signal
from pathlib import Path

import pytest

from muster.backends.local.ending import all_node_folders, end_supervisors
from muster.worker.processes.strays import badge, end_strays, supervised_nodes
from tests.local.machine import Machine, eventually, is_alive

RUNS = "echo $$ ready; exec sleep 1000"


def running(machine: Machine) -> int:
    machine.start(RUNS)
    return int(machine.says("ready").split()[0])


def lose_files(machine: Machine, how: str) -> None:
    """As an operator does who restores a home from a copy, or cleans up too much."""
    node = machine.home / "nodes" / "n1"
    if how == "a journal that is gone":
        os.remove(node / "journal")
        machine.kill_supervisor()
        eventually(lambda: not supervised_nodes(machine.home))
    elif how == "nodes that are gone":
        shutil.rmtree(machine.home / "nodes")
    else:
        supervisor = machine.supervisor()
        shutil.rmtree(machine.home / "nodes")
        os.kill(supervisor.pid, signal.SIGKILL)
        eventually(lambda: not supervised_nodes(machine.home))


LOST = ("a journal that is gone", "nodes that are gone", "nodes and supervisors that are gone")


@pytest.mark.parametrize("how", LOST)
def test_a_new_supervisor_ends_what_its_files_do_not_know_first(machine: Machine, how: str) -> None:
    pid = running(machine)
    machine.backend.close()
    lose_files(machine, how)
    machine.backend = machine.connect()
    machine.start("echo new", job="job-2")
    machine.says("new", job="job-2")
    assert not is_alive(pid)
    assert supervised_nodes(machine.home) == ("n1",)


def test_ending_everything_finds_supervisors_whose_files_are_gone(machine: Machine) -> None:
    pid = running(machine)
    machine.backend.close()
    shutil.rmtree(machine.home / "nodes")
    end_supervisors(all_node_folders(machine.home))
    assert not is_alive(pid)
    assert supervised_nodes(machine.home) == ()


def test_what_is_known_and_what_belongs_to_other_nodes_is_left_alone(machine: Machine, tmp_path: Path) -> None:
    pid = running(machine)
    (token,) = {seat[3] for seat in machine.journal() if seat[0] == "seat"}
    assert isinstance(token, str)
    assert token.startswith(badge(machine.home, "n1"))
    assert end_strays(machine.home, "n2", ()) == ()
    assert end_strays(tmp_path / "elsewhere", "n1", ()) == ()
    assert end_strays(machine.home, "n1", {token}, but=machine.supervisor().pid) == ()
    assert is_alive(pid)
