"""A server over a real Slurm with two racks."""

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from tests.e2e.conftest import eventually
from tests.engines.server import OnEngine
from tests.slurm_cluster import Cluster

CONFIGURATION = """
[server]
port = PORT

[[engines]]
name = "hpc"
kind = "slurm"
partition = "PARTITION"
config = "SLURM_CONF"
python = "PYTHON"
levels = ["rack"]
"""


@dataclass(kw_only=True)
class OnSlurm(OnEngine):
    """A server, and the Slurm below it."""

    cluster: Cluster
    partition: str = "train"

    prints = "in $SLURM_JOB_ID$SLURM_NTASKS"

    def configuration(self) -> str:
        text = CONFIGURATION.replace("SLURM_CONF", str(self.cluster.configuration))
        return text.replace("PARTITION", self.partition)

    def in_slurm(self, *fields: str) -> list[list[str]]:
        """Jobs in Slurm's queue."""
        text = self.cluster.run("squeue", "-h", "-o", "|".join(fields))
        return [line.split("|") for line in text.splitlines()]

    def runs(self) -> Collection[object]:
        return {number.partition("+")[0] for (number,) in self.in_slurm("%i")}

    def printed(self, job: str) -> str:
        ((number, name, nodes, comment),) = self.in_slurm("%A", "%j", "%N", "%k")
        first, last = self.placed(job)
        assert (name, nodes) == (f"muster-{job}-1", f"n[{first[1:]}-{last[1:]}]")
        assert comment.startswith("muster ")
        return f"in {number}"

    @contextmanager
    def others(self, gpus: int) -> Iterator[None]:
        nodes = ",".join(self.machines)
        self.cluster.run("sbatch", "-o", "/dev/null", "-w", nodes, f"--gres=gpu:{gpus}", "--wrap", "srun sleep 300")
        yield
        self.cluster.run("scancel", "--me")

    @contextmanager
    def without(self, node: str) -> Iterator[None]:
        others = ",".join(each for each in self.machines if each != node)
        self.cluster.run("scontrol", "update", "partitionname=train", f"nodes={others}")
        try:
            yield
        finally:
            self.cluster.run("scontrol", "update", "partitionname=train", f"nodes={','.join(self.machines)}")

    def await_nothing_left(self) -> None:
        eventually(lambda: not self.in_slurm("%i"), what="Slurm's queue is empty")
        self.await_no_record()

    def repair(self) -> None:
        """Have all nodes again, without jobs."""
        self.cluster.run("scancel", "--me")
        eventually(lambda: not self.in_slurm("%i"), what="Slurm's queue is empty")
        self.end_server()
        for node in self.cluster.nodes:
            self.cluster.start_node(node)
        for node, state in _states(self.cluster).items():
            if state != "idle":
                self.cluster.run("scontrol", "update", f"nodename={node}", "state=resume")
        self.cluster.await_idle()


def _states(cluster: Cluster) -> dict[str, str]:
    rows = cluster.run("sinfo", "-h", "-N", "-o", "%N %t").splitlines()
    return dict(tuple(row.split()[:2]) for row in rows)  # type: ignore[misc]
