"""What `srun` makes of its options, and of what tasks print."""

from pathlib import Path

import pytest

from muster.slurm.srun import exported, step_options, step_request
from muster.slurm.steps.step import StepRefused
from muster.slurm.steps.step_output import StepOutput
from muster.worker.gang.step_layout import StepRequest


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ({}, StepRequest()),
        ({"ntasks": "4", "nodes": "2-3", "cpus-per-task": "2"}, StepRequest(tasks=4, nodes=2, cpus_per_task=2)),
        ({"gres": "gpu:h100:2,nvme:1"}, StepRequest(gpus_per_node=2)),
        ({"gres": "none"}, StepRequest(gpus_per_node=0)),
        ({"gpus": "a100:3"}, StepRequest(gpus=3)),
        ({"gpu-bind": "single:1"}, StepRequest(gpus_per_task=1)),
        ({"gpu-bind": "closest"}, StepRequest()),
        ({"nodelist": "n[1-2],n4", "exclude": "n3"}, StepRequest(node_list=("n1", "n2", "n4"), exclude=("n3",))),
        ({"pty": "", "overlap": ""}, StepRequest(tasks=1, overlap=True)),
    ],
)
def test_a_step_asks_for_what_its_options_say(said: dict[str, str], expected: StepRequest) -> None:
    assert step_request(said) == expected


def test_a_number_that_is_none_is_refused() -> None:
    with pytest.raises(StepRefused, match='Invalid numeric value "many" for --ntasks'):
        step_request({"ntasks": "many"})


@pytest.mark.parametrize(
    ("export", "expected"),
    [
        ("", {"A": "1", "B": "2", "PATH": "/bin", "SLURM_JOB_ID": "7"}),
        ("ALL,A=x", {"A": "x", "B": "2", "PATH": "/bin", "SLURM_JOB_ID": "7"}),
        ("B,C=3", {"B": "2", "C": "3", "PATH": "/bin", "SLURM_JOB_ID": "7"}),
        ("NONE", {"PATH": "/bin", "SLURM_JOB_ID": "7"}),
    ],
)
def test_tasks_get_the_variables_that_export_names(export: str, expected: dict[str, str]) -> None:
    here = {"A": "1", "B": "2", "PATH": "/bin", "SLURM_JOB_ID": "7", "MUSTER_RANK": "0"}
    assert exported(export, here) == expected


def test_options_win_over_variables() -> None:
    variables = {"SLURM_KILL_BAD_EXIT": "1", "SLURM_LABELIO": "1", "SRUN_CPUS_PER_TASK": "3"}
    found = step_options({"kill-on-bad-exit": "0"}, ["true"], variables)
    assert (found.kill_on_bad_exit, found.label, found.request.cpus_per_task) == (False, True, 3)
    assert step_options({"kill-on-bad-exit": ""}, ["true"], {}).kill_on_bad_exit


def an_output(folder: Path, **details: object) -> StepOutput:
    defaults = {"error": "", "append": False, "label": False, "unbuffered": False, "tasks": 12}
    return StepOutput(**{"output": "out", "folder": str(folder), **defaults, **details})  # type: ignore[arg-type]


def test_lines_of_different_tasks_are_not_mixed(tmp_path: Path) -> None:
    output = an_output(tmp_path, label=True)
    for task, data in ((3, b"be"), (10, b"other\nla"), (3, b"gin\n"), (10, b"st")):
        output.take(task, 1, data, {})
    output.end(10, {})
    assert (tmp_path / "out").read_text() == "10: other\n 3: begin\n10: last\n"


def test_tasks_with_files_of_their_own_write_there(tmp_path: Path) -> None:
    output = an_output(tmp_path, output="t%t", error="e%t", unbuffered=True)
    for task in (0, 1):
        output.take(task, 1, b"half", {"SLURM_PROCID": str(task)})
        output.take(task, 2, b"wrong\n", {"SLURM_PROCID": str(task)})
    assert [(tmp_path / name).read_text() for name in ("t0", "t1", "e0")] == ["half", "half", "wrong\n"]


def test_the_output_of_one_task_may_be_all_that_is_shown(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    only, none = an_output(tmp_path, output="1"), an_output(tmp_path, output="none")
    for task in (0, 1):
        only.take(task, 1, f"of {task}\n".encode(), {})
        none.take(task, 1, b"hidden\n", {})
    assert capfd.readouterr().out == "of 1\n"
