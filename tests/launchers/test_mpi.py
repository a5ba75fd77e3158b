"""Debian's Open MPI: `mpirun` in the first worker, the processes of the program in all of them."""

import os
import signal
from pathlib import Path

from muster.model.events import WorkersExited
from muster.model.spec import Launch
from muster.worker.launch.runtime_folder import runtime_folder
from muster.worker.processes.process_table import descendants, everybody
from tests.launchers.gangs import a_gang, begin, codes, output, prints, wait_until
from tests.local.machine import Machine, a_spec

WHO = "echo $OMPI_COMM_WORLD_RANK/$OMPI_COMM_WORLD_SIZE local $OMPI_COMM_WORLD_LOCAL_RANK on $MUSTER_RANK $MUSTER_GPUS"


def program(folder: Path, text: str) -> str:
    file = folder / "prog"
    file.write_text(f"#!/bin/sh\n{text}\n")
    file.chmod(0o755)
    return str(file)


def mpi(machine: Machine, run: str, *nodes: str, gpus: int = 1) -> None:
    begin(machine, a_spec(run, launch=Launch.MPI), a_gang(*nodes, gpus=gpus))


def said(machine: Machine) -> list[str]:
    """What the program printed. A warning of mpirun about a race of its own with its children is no part of it."""
    return [line for line in output(machine, 0).splitlines() if "setpgid" not in line]


def test_each_process_runs_beside_its_worker_and_ranks_follow_the_workers(machine: Machine, tmp_path: Path) -> None:
    mpi(machine, program(tmp_path, WHO), "n1", "n1", "n2", gpus=2)
    assert codes(machine, 3) == {0: 0, 1: 0, 2: 0}, output(machine, 0)
    assert sorted(said(machine)) == [
        "0/6 local 0 on 0 0,1",
        "1/6 local 1 on 0 0,1",
        "2/6 local 0 on 1 2,3",
        "3/6 local 1 on 1 2,3",
        "4/6 local 0 on 2 0,1",
        "5/6 local 1 on 2 0,1",
    ]
    assert not list(runtime_folder(machine.home).glob(".gang-*/*"))


def test_a_line_may_call_mpirun_itself_between_other_commands(machine: Machine, tmp_path: Path) -> None:
    mpi(machine, f"echo before; mpirun -n 2 {program(tmp_path, WHO)}; echo after", "n1", "n2")
    assert codes(machine, 2) == {0: 0, 1: 0}
    first, *ranks, last = said(machine)
    assert (first, sorted(ranks), last) == (
        "before",
        ["0/2 local 0 on 0 0", "1/2 local 0 on 1 0"],
        "after",
    )


def test_the_exit_code_of_a_process_is_that_of_every_worker(machine: Machine, tmp_path: Path) -> None:
    mpi(machine, program(tmp_path, "[ $OMPI_COMM_WORLD_RANK = 1 ] && exit 7; exec sleep 60"), "n1", "n2")
    assert codes(machine, 2) == {0: 7, 1: 7}


def test_a_killed_worker_takes_the_whole_program_with_it(machine: Machine, tmp_path: Path) -> None:
    mpi(machine, program(tmp_path, "echo up; exec sleep 1000"), "n1", "n2")
    wait_until(lambda: output(machine, 0).count("up") == 2, "both processes")
    first = next(entry for entry in machine.journal("n2") if entry[0] == "alive")[3]
    assert isinstance(first, int)
    tree = descendants([first], everybody())
    # What waits for commands, the daemon of mpirun with its shell, and the process of the program.
    assert any("sleep" in Path(f"/proc/{each.pid}/comm").read_text() for each in tree)
    machine.kill(1, generation=2)
    found = codes(machine, 2)
    assert found[1] == 128 + signal.SIGKILL
    assert found[0] != 0
    assert not [each for each in tree if os.path.exists(f"/proc/{each.pid}")]


def test_a_program_that_is_told_to_leave_may_save_itself_first(machine: Machine, tmp_path: Path) -> None:
    # It takes longer than the second after which mpirun kills what it has told itself.
    saves = "trap 'sleep 3; echo saved; exit 0' TERM; echo up; while :; do sleep 0.05; done"
    mpi(machine, f"mpirun {program(tmp_path, saves)}; echo next", "n1", "n2")
    wait_until(lambda: output(machine, 0).count("up") == 2, "both processes")
    machine.stop(0, 1)
    codes(machine, 2)
    assert output(machine, 0).count("saved") == 2
    assert "next" not in output(machine, 0)
    assert all(event.told for event in machine.events if isinstance(event, WorkersExited))


def test_a_host_that_is_no_worker_is_refused_with_a_reason(machine: Machine, tmp_path: Path) -> None:
    mpi(machine, f"mpirun --host elsewhere {program(tmp_path, WHO)}", "n1")
    assert codes(machine, 1)[0] != 0
    assert "leave the hosts of mpirun to Muster" in prints(machine, "Muster")
