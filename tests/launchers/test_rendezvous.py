"""What a gang meets at outlives its nodes and the control plane, and goes with its attempt."""

import os
import signal
from pathlib import Path

from muster.model.events import WorkersStarted
from muster.model.spec import JobSpec, Launch
from tests.launchers.gangs import a_gang, begin, codes, output, prints, wait_until
from tests.local.machine import Machine, a_spec, is_alive

LIGHTHOUSE = """#!/bin/sh
echo $$ "$@" >>{folder}/lit
exec sleep 1000
"""

RUNS = "until [ -e {folder}/end ]; do sleep 0.02; done; echo $TORCHFT_LIGHTHOUSE"


def installed(folder: Path) -> dict[str, str]:
    """A lighthouse on the path of a job that only notes how it was started."""
    program = folder / "bin" / "torchft_lighthouse"
    program.parent.mkdir()
    program.write_text(LIGHTHOUSE.format(folder=folder))
    program.chmod(0o755)
    return {"PATH": f"{program.parent}:{os.environ['PATH']}"}


def a_job(folder: Path) -> JobSpec:
    return a_spec(RUNS.format(folder=folder), launch=Launch.TORCHFT, env=installed(folder))


def lit(folder: Path) -> list[list[str]]:
    file = folder / "lit"
    return [line.split() for line in file.read_text().splitlines()] if file.exists() else []


def test_a_lighthouse_is_started_where_the_gang_looks_for_it_and_ends_with_the_attempt(
    machine: Machine, tmp_path: Path
) -> None:
    begin(machine, a_job(tmp_path), a_gang("n1", "n2"))
    wait_until(lambda: lit(tmp_path), "the lighthouse")
    ((pid, *options),) = lit(tmp_path)
    assert is_alive(int(pid))
    (tmp_path / "end").touch()
    assert codes(machine, 2) == {0: 0, 1: 0}
    assert output(machine, 0) == f"http://{options[options.index('--bind') + 1]}\n" == output(machine, 1)
    wait_until(lambda: not is_alive(int(pid)), "the end of the lighthouse")
    assert not list((machine.home / "services").iterdir())


def test_a_lighthouse_that_dies_is_replaced_and_one_outlives_the_control_plane_and_every_supervisor(
    machine: Machine, tmp_path: Path
) -> None:
    begin(machine, a_job(tmp_path), a_gang("n1", "n2"))
    wait_until(lambda: lit(tmp_path), "the lighthouse")
    os.kill(int(lit(tmp_path)[0][0]), signal.SIGKILL)
    wait_until(lambda: len(lit(tmp_path)) == 2, "another lighthouse")
    machine.heard(WorkersStarted, count=2)
    assert lit(tmp_path)[0][1:] == lit(tmp_path)[1][1:]
    machine.backend.close()
    pid = int(lit(tmp_path)[1][0])
    assert is_alive(pid)
    machine.backend = machine.connect()
    machine.kill_supervisor("n1")
    codes(machine, 1)
    assert is_alive(pid)
    assert len(lit(tmp_path)) == 2
    machine.kill(0, 1)
    codes(machine, 2)
    wait_until(lambda: not is_alive(pid), "the end of the lighthouse")


def test_a_job_whose_attempt_ended_while_no_control_plane_was_there_leaves_no_lighthouse(
    machine: Machine, tmp_path: Path
) -> None:
    begin(machine, a_job(tmp_path), a_gang("n1"))
    wait_until(lambda: lit(tmp_path), "the lighthouse")
    machine.is_up()
    machine.backend.close()
    (tmp_path / "end").touch()
    prints(machine, "http")
    machine.backend = machine.connect()
    wait_until(lambda: not is_alive(int(lit(tmp_path)[0][0])), "the end of the lighthouse")


def test_without_the_program_the_worker_fails_and_its_log_says_what_to_install(machine: Machine) -> None:
    begin(machine, a_spec("echo never", launch=Launch.TORCHFT, env={"PATH": "/usr/bin:/bin"}), a_gang("n1"))
    assert codes(machine, 1) == {0: 127}
    assert "pip install torchft-nightly" in output(machine, 0)
    assert "never" not in output(machine, 0)


def test_many_gangs_that_start_at_once_all_meet_at_ports_of_their_own(machine: Machine) -> None:
    count = 40
    for number in range(count):
        begin(machine, a_spec("echo $MASTER_PORT; sleep 2"), a_gang("n1", "n2"), job=f"job-{number}")
    found: list[str] = []
    for number in range(count):
        codes(machine, 2, job=f"job-{number}")
        both = {output(machine, rank, job=f"job-{number}") for rank in (0, 1)}
        assert len(both) == 1
        found += both
    assert len(set(found)) == count
