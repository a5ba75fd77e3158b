"""Tools that people build on Slurm run unchanged: submitit, Lightning, Snakemake and dask-jobqueue."""

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.conftest import Shell
from tests.e2e.slurm_programs import SlurmShell, slurm_shell
from tests.e2e.test_slurm_tools import ARRAY

LIGHTNING = """
import lightning
import torch
from lightning.pytorch.plugins.environments import SLURMEnvironment

class Line(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(1, 1)

    def training_step(self, batch, _):
        (x,) = batch
        return ((self.layer(x) - 2 * x) ** 2).mean()

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)

data = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.randn(64, 1)), batch_size=8)
trainer = lightning.Trainer(
    accelerator="cpu", devices=2, num_nodes=1, strategy="ddp", max_epochs=1, logger=False,
    enable_checkpointing=False, enable_progress_bar=False,
)
assert isinstance(trainer.strategy.cluster_environment, SLURMEnvironment)
trainer.fit(Line(), data)
print(f"rank {trainer.global_rank} of {trainer.world_size} made {trainer.global_step} steps", flush=True)
"""

SNAKEFILE = """
rule all:
    input: "total.txt"

rule part:
    output: "part-{n}.txt"
    resources: mem_mb=1500, runtime=5
    shell: "echo {wildcards.n} > {output}"

rule total:
    input: expand("part-{n}.txt", n=[1, 2, 3])
    output: "total.txt"
    resources: mem_mb=1500, runtime=5
    shell: "cat {input} > {output}"
"""

DASK = """
from dask.distributed import Client
from dask_jobqueue import SLURMCluster

if __name__ == "__main__":
    cluster = SLURMCluster(cores=1, memory="1GB", walltime="00:10:00", interface="lo", log_directory="dask")
    cluster.scale(jobs=2)
    with Client(cluster) as client:
        client.wait_for_workers(2, timeout=120)
        print(sum(client.gather(client.map(lambda x: x + 1, range(10)))))
    cluster.close()
"""


@pytest.fixture(scope="module")
def slurm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SlurmShell]:
    """A server with two nodes of eight GPUs, and the commands of Slurm."""
    shell = Shell(home=tmp_path_factory.mktemp("home"), folder=tmp_path_factory.mktemp("folder"))
    up = shell.run("up", "-d", "--nodes", "2x8", "--port", "0")
    try:
        assert up.returncode == 0, up.stderr
        yield slurm_shell(shell)
    finally:
        shell.run("down", "--jobs")


def test_submitit_runs_a_hundred_tasks_with_results(slurm: SlurmShell) -> None:
    numbers = [number for number in range(101) if number != 13]
    told = slurm.python(ARRAY, *map(str, numbers))
    assert told.startswith(str([number * number for number in numbers]))


def test_lightning_trains_two_ranks(slurm: SlurmShell) -> None:
    (slurm.shell.folder / "train.py").write_text(LIGHTNING)
    (slurm.shell.folder / "train.sh").write_text(
        "#!/bin/bash\n#SBATCH --nodes=1 --ntasks-per-node=2 --time=10 --output=train.out\n"
        f"srun {sys.executable} train.py\n"
    )
    slurm.says("sbatch", "--wait", "train.sh")
    printed = (slurm.shell.folder / "train.out").read_text()
    assert {f"rank {rank} of 2 made 4 steps" for rank in range(2)} <= set(printed.splitlines()), printed


def test_snakemake_runs_its_rules_as_jobs(slurm: SlurmShell) -> None:
    folder = slurm.shell.folder
    (folder / "Snakefile").write_text(SNAKEFILE)
    snakemake = str(Path(sys.executable).with_name("snakemake"))
    options = (
        "--executor",
        "slurm",
        "--jobs",
        "3",
        "--default-resources",
        "slurm_account=default",
        "--latency-wait",
        "5",
    )
    checks = ("--slurm-init-seconds-before-status-checks", "2")
    done = slurm.run(snakemake, *options, *checks)
    assert done.returncode == 0, (done.stdout, done.stderr)
    assert (folder / "total.txt").read_text() == "1\n2\n3\n"
    shutil.rmtree(folder / ".snakemake")


def test_dask_has_its_workers_as_jobs(slurm: SlurmShell) -> None:
    assert slurm.python(DASK).strip().splitlines()[-1] == "55"
