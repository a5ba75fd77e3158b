"""Batch scripts as gangs of real processes: what they hear before they have to leave, and how they come back."""

from pathlib import Path
from typing import Any

from muster.model.events import WorkersExited
from muster.model.ids import JobId
from muster.model.instructions import KillWorkers, SignalStop
from muster.model.job import Cause
from muster.model.records import evolve
from muster.model.spec import BatchSignal, BatchSpec, JobSpec, Launch
from muster.worker.launch.runtime_folder import runtime_folder
from tests.launchers.gangs import a_gang, begin, codes, output, prints, wait_until
from tests.local.machine import Machine, a_spec

HEARS = """#!/bin/bash
trap 'echo shell heard USR1' USR1
trap 'echo shell heard TERM; exit 0' TERM
srun bash -c 'trap "echo task heard USR1" USR1; trap "echo task heard TERM; exit 0" TERM
echo up; while :; do sleep 0.05; done' &
while :; do sleep 0.05; done
"""


def batch(run: str, **batch: Any) -> JobSpec:
    return evolve(a_spec(run, launch=Launch.SLURM), batch=BatchSpec(**batch))


def stop(machine: Machine, cause: Cause, *ranks: int, grace_ms: int = 60_000) -> None:
    command = SignalStop(
        job=JobId("job-1"), attempt=1, generation=2, ranks=ranks or (0, 1), grace_ms=grace_ms, cause=cause
    )
    machine.backend.send(command)


def test_a_preempted_script_hears_its_signal_and_is_told_to_leave_later(machine: Machine) -> None:
    signal = BatchSignal(name="USR1", before_ms=6_000, script_only=True)
    begin(machine, batch(HEARS, signal=signal), a_gang("n1", "n2"))
    wait_until(lambda: output(machine, 0).count("up") == 2, "the tasks")
    stop(machine, Cause.PREEMPTED)
    prints(machine, "shell heard TERM")
    said = output(machine, 0)
    assert said.index("shell heard USR1") < said.index("shell heard TERM")
    assert "task heard USR1" not in said
    assert codes(machine, 2) == {0: 0, 1: 0}
    told = [event.told for event in machine.events if isinstance(event, WorkersExited)]
    assert all(told), "what leaves for another job has not finished"


def test_a_signal_for_steps_reaches_every_task_and_not_the_shell(machine: Machine) -> None:
    begin(machine, batch(HEARS, signal=BatchSignal(name="USR1", before_ms=6_000)), a_gang("n1", "n2"))
    wait_until(lambda: output(machine, 0).count("up") == 2, "the tasks")
    stop(machine, Cause.PREEMPTED)
    prints(machine, "shell heard TERM")
    wait_until(lambda: output(machine, 0).count("task heard USR1") == 2, "both tasks")
    assert "shell heard USR1" not in output(machine, 0)


def test_a_cancelled_script_is_told_to_leave_at_once(machine: Machine) -> None:
    begin(machine, batch(HEARS, signal=BatchSignal(name="USR1", script_only=True)), a_gang("n1"))
    prints(machine, "up")
    stop(machine, Cause.CANCELLED, 0)
    assert codes(machine, 1) == {0: 0}
    assert "USR1" not in output(machine, 0)
    assert "task heard TERM" in output(machine, 0)


def test_a_script_that_starts_again_knows_how_often(machine: Machine, tmp_path: Path) -> None:
    script = "#!/bin/sh\necho restart $SLURM_RESTART_COUNT\n[ $SLURM_RESTART_COUNT != 0 ] || exec sleep 1000\n"
    spec = evolve(batch(script, output="out-%j.txt", append=True), workdir=str(tmp_path))
    begin(machine, spec, a_gang("n1"))
    prints(machine, "restart 0")
    machine.backend.send(KillWorkers(job=JobId("job-1"), attempt=1, generation=2, ranks=(0,)))
    codes(machine, 1)
    begin(machine, spec, a_gang("n1"), attempt=2, generation=3)
    prints(machine, "restart 1", attempt=2)
    wait_until(lambda: (tmp_path / "out-1.txt").read_text() == "restart 0\nrestart 1\n", "both in one file")


def test_an_output_file_that_cannot_be_made_fails_the_job_and_says_why(machine: Machine) -> None:
    begin(machine, batch("#!/bin/sh\necho never\n", output="/no/such/folder/%j"), a_gang("n1"))
    assert codes(machine, 1) == {0: 1}
    assert output(machine, 0) == (
        "slurmstepd: error: Could not open stdout file /no/such/folder/1: No such file or directory\n"
    )


def test_nothing_is_left_of_a_batch_job(machine: Machine) -> None:
    begin(machine, batch("#!/bin/sh\nsrun true\n"), a_gang("n1", "n2"))
    assert codes(machine, 2) == {0: 0, 1: 0}, output(machine, 0)
    assert not list(runtime_folder(machine.home).glob(".gang-*"))
