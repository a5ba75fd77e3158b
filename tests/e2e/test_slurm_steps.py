"""`sacct` tells the steps of jobs that run and have ended, also when the server was away when they did."""

from collections.abc import Iterator

import pytest

from tests.e2e.conftest import Shell, eventually
from tests.e2e.slurm_programs import SlurmShell, slurm_shell

SCRIPT = """\
#!/bin/bash
#SBATCH --job-name=steps --nodes=2 --ntasks-per-node=2 --gpus-per-node=2
srun true
srun -n1 python3 -c 'bytearray(100 << 20)'
srun -n2 false
srun -n1 bash -c 'kill -9 $$'
touch ready
until [ -e go ]; do sleep 0.1; done
srun -n1 sh -c 'touch begun; sleep 600' &
until [ -e begun ]; do sleep 0.1; done
srun -n1 --overlap echo late
exit 4
"""
FORMAT = "JobID,JobName,NTasks,State,ExitCode,NNodes,AllocTRES"


@pytest.fixture
def slurm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SlurmShell]:
    shell = Shell(home=tmp_path_factory.mktemp("home"), folder=tmp_path_factory.mktemp("work"))
    try:
        up = shell.run("up", "-d", "--nodes", "4x8", "--port", "0")
        assert up.returncode == 0, up.stderr
        yield slurm_shell(shell)
    finally:
        shell.run("down", "--jobs")


def test_steps_are_told_while_they_run_and_after_a_restart(slurm: SlurmShell) -> None:
    folder = slurm.shell.folder
    (folder / "steps.sh").write_text(SCRIPT)
    number = slurm.says("sbatch", "--parsable", "steps.sh").strip()
    eventually((folder / "ready").exists, what="the first steps have ended")
    begun = [
        f"{number}|steps||RUNNING|0:0|2|cpu=4,node=2,billing=4,gres/gpu=4",
        f"{number}.batch|batch|1|RUNNING|0:0|1|cpu=2,node=1,gres/gpu=2",
        f"{number}.extern|extern|2|RUNNING|0:0|2|cpu=4,node=2,gres/gpu=4",
        f"{number}.0|true|4|COMPLETED|0:0|2|cpu=4,node=2,gres/gpu=4",
        f"{number}.1|python3|1|COMPLETED|0:0|1|cpu=1,node=1,gres/gpu=2",
        f"{number}.2|false|2|FAILED|1:0|2|cpu=2,node=2,gres/gpu=4",
        f"{number}.3|bash|1|FAILED|0:9|1|cpu=1,node=1,gres/gpu=2",
    ]
    assert slurm.says("sacct", "-j", number, "-nPo", FORMAT).splitlines() == begun
    memory = slurm.says("sacct", "-j", f"{number}.1", "-nPo", "MaxRSS,MaxRSSTask").strip().split("|")
    assert (int(memory[0].removesuffix("K")) > 100 << 10, memory[1]) == (True, "0")

    slurm.shell.run("down")
    (folder / "go").touch()
    eventually(lambda: "late" in (folder / f"slurm-{number}.out").read_text(), what="a step ran without a server")
    up = slurm.shell.run("up", "-d", "--nodes", "4x8", "--port", "0")
    assert up.returncode == 0, up.stderr
    eventually(lambda: slurm.says("sacct", "-j", number, "-XnPo", "State").strip() == "FAILED", what="it has ended")
    ended = slurm.says("sacct", "-j", number, "-nPo", FORMAT).splitlines()
    assert ended[3:7] == begun[3:]
    states = [line.split("|")[3:5] for line in ended]
    assert (states[:3], states[7:]) == (
        [["FAILED", "4:0"], ["FAILED", "4:0"], ["COMPLETED", "0:0"]],
        [["CANCELLED", "0:9"], ["COMPLETED", "0:0"]],
    )
