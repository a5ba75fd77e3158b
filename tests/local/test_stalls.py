"""A control plane that stood still, hangs or decides nothing: supervisors and workers are none the worse for it."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.local.conftest import MakeMachine
from tests.local.machine import Machine, eventually, is_alive

GOES_ON = "echo $$ ready; while :; do sleep 0.05; done"

LIMIT_S = 0.4
"""What the control planes below take for a long time."""

CONTROL_PLANE = f"""
import sys
from pathlib import Path
from muster.backends.local import link
link.CONTROL_PING_MS, link.SUPERVISOR_SILENCE_MS, link.SUPERVISOR_HELLO_MS = 50, {1000 * LIMIT_S}, {1000 * LIMIT_S}
from tests.local.machine import Machine
machine = Machine(Path(sys.argv[1]))
machine.start({GOES_ON!r})
print("up", flush=True)
sys.stdin.read()
"""


@contextmanager
def control_plane(home: Path) -> Iterator[int]:
    """One that gives supervisors up quickly, as a process of its own."""
    with subprocess.Popen(
        [sys.executable, "-c", CONTROL_PLANE, str(home)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"up\n"
        yield process.pid
        process.kill()


def stop_for_long(pid: int) -> None:
    os.kill(pid, signal.SIGSTOP)
    time.sleep(3 * LIMIT_S)
    os.kill(pid, signal.SIGCONT)


def test_a_control_plane_that_was_stopped_ends_no_supervisor_when_it_goes_on(
    make_machine: MakeMachine, tmp_path: Path
) -> None:
    machine = make_machine()
    supervisor = machine.supervisor()
    machine.backend.close()
    with control_plane(tmp_path) as pid:
        worker = int(machine.says("ready").split()[0])
        for _ in range(3):
            stop_for_long(pid)
            time.sleep(LIMIT_S)
            assert machine.supervisor() == supervisor
            assert is_alive(worker)


def test_a_control_plane_that_was_stopped_before_it_was_greeted_ends_no_supervisor(
    make_machine: MakeMachine, tmp_path: Path
) -> None:
    machine = make_machine()
    machine.start(GOES_ON)
    worker = int(machine.says("ready").split()[0])
    machine.backend.close()
    supervisor = machine.supervisor()
    for _ in range(3):
        os.kill(supervisor.pid, signal.SIGSTOP)
        with control_plane(tmp_path) as pid:
            time.sleep(LIMIT_S / 4)  # it is connected, and waits
            os.kill(pid, signal.SIGSTOP)
            os.kill(supervisor.pid, signal.SIGCONT)
            time.sleep(3 * LIMIT_S)
            os.kill(pid, signal.SIGCONT)
            time.sleep(LIMIT_S)
            assert machine.supervisor() == supervisor
            assert is_alive(worker)


def test_a_supervisor_that_hangs_is_replaced_all_the_same(make_machine: MakeMachine, tmp_path: Path) -> None:
    machine = make_machine()
    supervisor = machine.supervisor()
    machine.backend.close()
    with control_plane(tmp_path):
        machine.says("ready")
        os.kill(supervisor.pid, signal.SIGSTOP)
        eventually(lambda: not is_alive(supervisor.pid))


def test_limits_are_kept_while_a_control_plane_is_connected_and_decides_nothing(machine: Machine) -> None:
    """It goes on talking while its database is away, or its writer has stopped."""
    machine.start(f"trap 'echo told; exit 9' TERM; {GOES_ON}", max_duration_ms=100)
    machine.says("told\n")
    exited = machine.exit_of()
    assert (exited.exit_code, exited.timed_out) == (9, True)


def test_limits_are_left_to_a_control_plane_that_decides(machine: Machine) -> None:
    machine.start(f"trap 'echo told; exit 9' TERM; {GOES_ON}", max_duration_ms=100)
    until_s = time.monotonic() + 7
    while time.monotonic() < until_s:
        machine.poll()
        time.sleep(0.05)
    assert "told" not in machine.log()
    machine.kill()
    machine.exit_of()
