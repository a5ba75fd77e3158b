"""A supervisor starts the uploader of a job and ends it with the job. It removes hot checkpoints of ended runs."""

import os
import sys
from pathlib import Path

import pytest

from muster.model.spec import CheckpointSpec
from muster.processes import entry
from muster.worker.launch.runtime_folder import SCRATCH, hot_folder
from muster.worker.processes.process_table import everybody
from muster.worker.processes.signs import borne_by
from muster.worker.processes.strays import badge
from tests.local.conftest import MakeMachine
from tests.local.machine import Machine, a_spec, eventually

TRAINER = Path(__file__).with_name("trainer.py")


@pytest.fixture
def machine(make_machine: MakeMachine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    monkeypatch.setenv(SCRATCH, str(tmp_path / "scratch"))
    home = tmp_path / "home"
    home.mkdir()
    (tmp_path / "scratch").mkdir()
    return make_machine(home=home)


def a_training(machine: Machine) -> None:
    spec = a_spec(
        f"exec {sys.executable} {TRAINER} 100000 20",
        env={"MUSTER_RUN_ID": "job-1", "MUSTER_HOT": str(hot_folder(machine.home, os.environ))},
        checkpoint=CheckpointSpec(path=f"file://{machine.home}/durable"),
    )
    machine.start(spec)
    machine.is_up()


def processes_of(machine: Machine) -> list[int]:
    """Every process that bears a token of the node."""
    mine = badge(machine.home, "n1")
    found = [pid for pid in everybody() if borne_by(pid).token.startswith(mine)]
    return [pid for pid in found if (each := entry(pid)) is not None and each.is_alive]


def test_the_uploader_of_a_job_has_its_own_log_and_leaves_nothing_behind(machine: Machine) -> None:
    a_training(machine)
    logs = machine.home / "logs" / "job-1" / "1" / "uploader"
    eventually(lambda: (logs / "complete").exists() or machine.worker_folders()[1:], what="an uploader")
    machine.stop()
    machine.exit_of()
    machine.close()
    assert (logs / "complete").exists()
    assert processes_of(machine) == []


def test_an_uploader_is_ended_by_the_successor_of_a_supervisor_that_died(machine: Machine) -> None:
    a_training(machine)
    eventually(lambda: machine.worker_folders()[1:], what="an uploader")
    before = processes_of(machine)
    machine.kill_supervisor()
    machine.exit_of()
    assert not set(before) & set(processes_of(machine))


def test_hot_checkpoints_of_a_run_that_is_over_are_removed(machine: Machine) -> None:
    machine.supervisor()
    tier = hot_folder(machine.home, os.environ) / "n1"
    for run in ("job-1", "job-2"):
        (tier / run / "step-000000000001").mkdir(parents=True)
    eventually(lambda: machine.backend.has_caught_up)
    machine.backend.end_runs(["job-1", "../n1"])
    eventually(lambda: [each.name for each in tier.iterdir()] == ["job-2"], what="one run is left")


def test_a_node_that_was_away_hears_of_runs_that_are_over(machine: Machine) -> None:
    tier = hot_folder(machine.home, os.environ) / "n1"
    eventually(lambda: machine.backend.has_caught_up)
    (tier / "job-1").mkdir(parents=True)
    machine.kill_supervisor()
    machine.backend.end_runs(["job-1"])
    eventually(lambda: not (tier / "job-1").exists(), what="the run is gone")
