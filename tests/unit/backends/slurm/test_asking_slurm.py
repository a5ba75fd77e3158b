"""What Slurm is asked with, and by which programs."""

import stat
from pathlib import Path

import pytest

from muster.backends.allocations.delivery import AgentDelivery
from muster.backends.allocations.engine import AllocationId, AllocationRequest, EngineSilent, NodeShare, RequestRefused
from muster.backends.slurm.engine import SlurmEngine, SlurmSettings
from muster.backends.slurm.jobs import SEPARATOR, comment_of
from muster.backends.slurm.programs import SlurmPrograms
from muster.backends.slurm.script import options_of, script_of
from muster.model.ids import EngineName, GpuType, JobId, NodeName
from muster.worker.launch.batch_jobs import command_text

ARRIVAL = AgentDelivery(urls="https://muster.example:8470", python="python3", mark="m1", agent=b"PK")


def a_request(*shares: NodeShare, limit_s: int | None = 7_261) -> AllocationRequest:
    return AllocationRequest(
        id=AllocationId("ab12"), job=JobId("job-1"), attempt=2, shares=shares, limit_s=limit_s, token="secret"
    )


def a_share(*nodes: str, gpus: int) -> NodeShare:
    return NodeShare(
        nodes=tuple(map(NodeName, nodes)), gpus=gpus, gpu_type=GpuType("h100"), cpus=4, memory_bytes=(1 << 30) + 1
    )


def a_program(folder: Path, name: str, text: str) -> None:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(text)
    (folder / name).chmod(stat.S_IRWXU)


def test_the_nodes_that_were_chosen_are_asked_for_and_no_others() -> None:
    request = a_request(a_share("n1", "n2", gpus=8))
    options = options_of(request, partition="train", comment="muster m ab12", output="/dev/null", extra=["--account=a"])
    assert options == [
        "--partition=train",
        "--job-name=muster-job-1-2",
        "--comment=muster m ab12",
        "--no-requeue",
        "--no-kill",
        "--output=/dev/null",
        "--error=/dev/null",
        "--account=a",
        "--time=122",
        "--nodelist=n1,n2",
        "--nodes=2",
        "--ntasks=2",
        "--ntasks-per-node=1",
        "--cpus-per-task=4",
        "--gres=gpu:h100:8",
        "--mem=1025M",
    ]


def test_nodes_with_other_shares_are_parts_of_one_job_each_with_a_step() -> None:
    request = a_request(a_share("n1", gpus=8), a_share("n2", gpus=2))
    options = options_of(request, partition="train", comment="", output="/dev/null", extra=[])
    assert options.count(":") == 1
    assert [word for word in options if word.startswith("--gres")] == ["--gres=gpu:h100:8", "--gres=gpu:h100:2"]
    script = script_of(request, ARRIVAL)
    assert "step --het-group=0 &" in script
    assert "step --het-group=1 &" in script


def test_neither_the_token_nor_the_address_of_a_user_is_on_a_command_line() -> None:
    script = script_of(a_request(a_share("n1", gpus=1)), ARRIVAL)
    assert "secret" not in script  # it goes in through the input of the step
    assert '--post "ab12@$SLURMD_NODENAME"' in script


def test_programs_of_muster_with_the_names_of_slurms_are_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    a_program(tmp_path / "ours", "sbatch", command_text("sbatch"))
    monkeypatch.setenv("PATH", f"{tmp_path / 'ours'}")
    with pytest.raises(EngineSilent, match="no sbatch of Slurm on the path"):
        SlurmPrograms().run("sbatch")
    a_program(tmp_path / "theirs", "sbatch", "#!/bin/sh\necho theirs\n")
    monkeypatch.setenv("PATH", f"{tmp_path / 'ours'}:{tmp_path / 'theirs'}")
    assert SlurmPrograms().run("sbatch") == "theirs\n"


def test_silence_of_the_controller_is_no_refusal(tmp_path: Path) -> None:
    silent = "slurm_load_jobs error: Unable to contact slurm controller (connect failure)"
    a_program(tmp_path, "squeue", f"#!/bin/sh\necho '{silent}' >&2; exit 1\n")
    a_program(tmp_path, "sbatch", "#!/bin/sh\necho 'sbatch: error: Invalid account' >&2; exit 1\n")
    programs = SlurmPrograms(folder=tmp_path)
    with pytest.raises(EngineSilent, match="is slurmctld running"):
        programs.run("squeue")
    with pytest.raises(RequestRefused, match=r"^Invalid account$"):
        programs.run("sbatch")


def test_a_configuration_that_is_not_there_is_said_and_not_waited_for(tmp_path: Path) -> None:
    variables = {"SLURM_CONF": str(tmp_path / "slurm.conf")}
    with pytest.raises(EngineSilent, match=r"slurm.conf is not there: correct `config`"):
        SlurmPrograms(folder=tmp_path, variables=variables).run("sinfo")


def test_a_node_without_python_is_known_as_soon_as_slurm_says_so_and_silence_says_nothing(tmp_path: Path) -> None:
    row = SEPARATOR.join(("7", "FAILED", "NonZeroExitCode", "n1", comment_of("m1", AllocationId("ab12"))))
    silent = "slurm_load_jobs error: Unable to contact slurm controller (connect failure)"
    a_program(tmp_path, "squeue", f"#!/bin/sh\nprintf '%s\\n' '{row}'\n")
    a_program(tmp_path, "scontrol", f"#!/bin/sh\necho '{silent}' >&2; exit 1\n")
    settings = SlurmSettings(name=EngineName("hpc"), partition="train")
    engine = SlurmEngine(settings, SlurmPrograms(folder=tmp_path), mark=lambda: "m1", arrival=lambda: ARRIVAL)
    with pytest.raises(EngineSilent):
        engine.look()
    a_program(tmp_path, "scontrol", "#!/bin/sh\necho 'JobId=7 ExitCode=127:0'\n")
    (seen,) = engine.look()
    assert (seen.is_mistake, "python3" in seen.because) == (True, True)
