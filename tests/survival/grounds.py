"""What a trial stands on: where its training runs, and what can be struck there."""

import os
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

from muster.backends.allocations.book import AllocationBook
from muster.worker.launch.runtime_folder import SCRATCH_PARENT, hot_folder
from tests.chaos.cluster import Cluster
from tests.kube.cluster import running_kubernetes
from tests.kube.kubelet import IMAGE
from tests.slurm_cluster import running_cluster
from tests.survival.kube_strikes import KubeStrikes
from tests.survival.saves import SaveWatch
from tests.survival.slurm_strikes import SlurmStrikes
from tests.survival.strikes import STRIKES, Strike

ENGINE_NODES = 5
"""One more than a training has workers, so that it goes on elsewhere while a node is away."""

ON_SLURM = """
[[engines]]
name = "hpc"
kind = "slurm"
partition = "train"
config = "{slurm}"
python = "{python}"
"""

ON_KUBERNETES = """
[[engines]]
name = "k8s"
kind = "kubernetes"
kubeconfig = "{kubeconfig}"
namespace = "survival"
python = "{python}"
image = "{image}"
scratch = "{scratch}"
node_selector = {{muster-test = "yes"}}
shm = "64MiB"
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """Where a training runs."""

    cluster: Cluster
    strikes: Mapping[str, Strike]
    """What can be killed, by its kind."""
    watch: Callable[[Path], SaveWatch]
    """Follows the saves that end in this durable storage."""


@contextmanager
def this_machine(folder: Path, mark: str) -> Iterator[Ground]:
    """Virtual nodes of this machine."""
    cluster = Cluster(folder, mark, nodes="4x1")
    yield Ground(
        cluster=cluster,
        strikes=STRIKES,
        watch=lambda durable: SaveWatch(hot_folder(cluster.home, os.environ), durable),
    )


@contextmanager
def slurm(folder: Path, mark: str) -> Iterator[Ground]:
    """Nodes of a Slurm. Each has a disk that no other can read."""
    with running_cluster(ENGINE_NODES, gpus=1) as below:
        configuration = folder / "muster.toml"
        configuration.write_text(ON_SLURM.format(slurm=below.configuration, python=sys.executable), "utf-8")
        cluster = Cluster(folder, mark, configuration=configuration)
        disks = f"muster-{os.geteuid()}-{AllocationBook(cluster.home).mark}-"
        special = SlurmStrikes(below, disks)
        try:
            yield Ground(
                cluster=cluster,
                strikes={**STRIKES, **special.strikes},
                watch=lambda durable: SaveWatch(SCRATCH_PARENT, durable, nodes=f"{disks}*/hot/*"),
            )
        finally:
            for disk in SCRATCH_PARENT.glob(f"{disks}*"):
                shutil.rmtree(disk, ignore_errors=True)


@contextmanager
def kubernetes(folder: Path, mark: str) -> Iterator[Ground]:
    """Nodes of a Kubernetes. Each has a disk that no other can read."""
    racks = dict.fromkeys((f"k{number}" for number in range(1, ENGINE_NODES + 1)), "r1")
    with running_kubernetes(racks, namespace="survival", gpus=1) as below:
        configuration = folder / "muster.toml"
        text = ON_KUBERNETES.format(
            kubeconfig=below.kubeconfig, python=sys.executable, image=IMAGE, scratch=SCRATCH_PARENT
        )
        configuration.write_text(text, "utf-8")
        cluster = Cluster(folder, mark, configuration=configuration)
        disks = f"muster-{os.geteuid()}-{AllocationBook(cluster.home).mark}-"
        special = KubeStrikes(below, disks)
        try:
            yield Ground(
                cluster=cluster,
                strikes={**STRIKES, **special.strikes},
                watch=lambda durable: SaveWatch(SCRATCH_PARENT, durable, nodes=f"{disks}*/hot/*"),
            )
        finally:
            for disk in SCRATCH_PARENT.glob(f"{disks}*"):
                shutil.rmtree(disk, ignore_errors=True)


GROUNDS: Mapping[str, Callable[[Path, str], AbstractContextManager[Ground]]] = {
    "local": this_machine,
    "slurm": slurm,
    "kubernetes": kubernetes,
}
