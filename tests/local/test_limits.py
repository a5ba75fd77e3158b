"""What a worker asked for is also what it gets at most, where the kernel lets a supervisor say so."""

import json
import os
import socket
from typing import Any

import pytest

from muster.model.resources import Request
from muster.worker.service import address
from tests.capabilities import needs
from tests.local.conftest import MakeMachine
from tests.local.machine import Machine, a_spec, eventually, is_alive

MIB = 1 << 20

EATS_MEMORY = """python3 -c 'print("eating", flush=True); x = bytearray(300 << 20); print("full", len(x))'"""
FORKS_WITHOUT_END = "bomb() { bomb & bomb & }; bomb & exec sleep 1000"


def hello(machine: Machine) -> dict[str, Any]:
    """What a supervisor says of itself."""
    found = machine.supervisor()
    place = os.open(machine.home / "nodes" / "n1", os.O_PATH)
    with socket.socket(socket.AF_UNIX) as channel:
        channel.connect(address(place))
        os.close(place)
        channel.sendall(json.dumps({"token": found.token, "as": "control"}).encode() + b"\n")
        with channel.makefile() as lines:
            said: dict[str, Any] = json.loads(lines.readline())["hello"]
    return said


def test_a_supervisor_says_how_limits_are_kept_and_which_are_not(machine: Machine) -> None:
    said = hello(machine)
    assert said["limits"] in ("cgroup2", "cgroup1", "rlimits")
    assert set(said["unlimited"]) <= {"memory", "cpu", "pids"}
    eventually(machine.backend.limits)
    assert machine.backend.limits() == {"n1": (said["limits"], tuple(said["unlimited"]))}


@pytest.mark.parametrize("options", [(), ("--without-groups",)])
def test_a_worker_that_takes_too_much_memory_is_ended_and_reported_so(
    make_machine: MakeMachine, options: tuple[str, ...]
) -> None:
    machine = make_machine(options=options)
    by_group = "memory" not in hello(machine)["unlimited"]
    assert not (by_group and options)
    machine.start(a_spec(EATS_MEMORY, request=Request(memory_bytes=100 * MIB)))
    exited = machine.exit_of()
    assert exited.exit_code != 0
    assert "full" not in machine.log()
    assert exited.oom is by_group


def test_a_worker_within_its_memory_is_left_alone(machine: Machine) -> None:
    machine.start(a_spec(EATS_MEMORY, request=Request(memory_bytes=500 * MIB)))
    exited = machine.exit_of()
    assert (exited.exit_code, exited.oom) == (0, False)


def test_a_fork_bomb_stays_in_its_worker_and_can_be_killed(make_machine: MakeMachine) -> None:
    needs("limits of processes")
    machine = make_machine(options=("--max-processes", "150"))
    assert "pids" not in hello(machine)["unlimited"]
    machine.start(f"echo $$ ready; {FORKS_WITHOUT_END}")
    pid = int(machine.says("ready").split()[0])
    machine.start("echo others run", job="job-2")
    assert machine.exit_of(job="job-2").exit_code == 0
    machine.kill()
    assert machine.exit_of().told
    assert not is_alive(pid)


def test_cpus_are_limited_where_they_can_be(machine: Machine) -> None:
    needs("limits of processors")
    assert "cpu" not in hello(machine)["unlimited"]
    look = "cat /sys/fs/cgroup/cpu$(sed -n 's/.*:cpu:\\(.*\\)/\\1/p' /proc/self/cgroup)/cpu.cfs_quota_us"
    both = f"{look} 2>/dev/null || cat /sys/fs/cgroup$(sed -n 's/^0:://p' /proc/self/cgroup)/cpu.max"
    machine.start(a_spec(both, request=Request(cpu_milli=500)))
    machine.exit_of()
    assert machine.log().startswith("50000")
