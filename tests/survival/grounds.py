"""What a trial stands on: where its training runs, and what can be struck there."""

import os
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

from muster.backends.allocations.book import AllocationBook
from muster.worker.launch.runtime_folder import SCRATCH, SCRATCH_PARENT, hot_folder
from tests.chaos.cluster import Cluster
from tests.engine_processes import Machines
from tests.kube.cluster import running_kubernetes
from tests.kube.kubelet import IMAGE
from tests.ray_cluster import ADDRESS, running_ray
from tests.slurm_cluster import running_cluster
from tests.survival.engine_strikes import EngineStrikes
from tests.survival.saves import SaveWatch
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


ON_RAY = """
[[engines]]
name = "ray"
kind = "ray"
address = "{address}"
driver = "{driver}"
python = "{python}"
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

        @contextmanager
        def silent() -> Iterator[None]:
            below.kill("slurmctld")
            yield
            below.start_controller()

        text = ON_SLURM.format(slurm=below.configuration, python=sys.executable)
        with _on_engine(folder, mark, text, below, silent) as ground:
            yield ground


@contextmanager
def kubernetes(folder: Path, mark: str) -> Iterator[Ground]:
    """Nodes of a Kubernetes. Each has a disk that no other can read."""
    racks = dict.fromkeys((f"k{number}" for number in range(1, ENGINE_NODES + 1)), "r1")
    with running_kubernetes(racks, namespace="survival", gpus=1) as below:

        @contextmanager
        def silent() -> Iterator[None]:
            """It fails, and has forgotten afterwards what happened before."""
            server = below.server
            assert server is not None
            server.trouble.status = 503
            server.end_watches()
            yield
            server.store.compact()
            server.trouble.status = 0

        text = ON_KUBERNETES.format(
            kubeconfig=below.kubeconfig, python=sys.executable, image=IMAGE, scratch=SCRATCH_PARENT
        )
        with _on_engine(folder, mark, text, below, silent, {"pod": below.evict_from}) as ground:
            yield ground


@contextmanager
def ray(folder: Path, mark: str) -> Iterator[Ground]:
    """Nodes of a Ray. Each has a disk that no other can read. The training is in the namespace of the cluster."""
    with patch.dict(os.environ), ExitStack() as running:
        os.environ.pop(SCRATCH, None)  # nodes of Ray have the environment of those who started them
        below = running.enter_context(running_ray(ENGINE_NODES, first=1, gpus=1))
        running.enter_context(below.inside())
        text = ON_RAY.format(address=ADDRESS, driver=below.python, python=sys.executable)
        more = {"keeper": below.end_keeper, "raylet": below.restart_raylet}
        with _on_engine(folder, mark, text, below, below.hanging_head, more) as ground:
            yield ground


@contextmanager
def _on_engine(
    folder: Path,
    mark: str,
    text: str,
    below: Machines,
    silent: Callable[[], AbstractContextManager[object]],
    more: Mapping[str, Callable[[str], str | None]] | None = None,
) -> Iterator[Ground]:
    """A server with the configuration `text`. What it leaves on the disks of nodes goes in the end."""
    configuration = folder / "muster.toml"
    configuration.write_text(text, "utf-8")
    cluster = Cluster(folder, mark, configuration=configuration)
    disks = f"muster-{os.geteuid()}-{AllocationBook(cluster.home).mark}-"
    try:
        yield Ground(
            cluster=cluster,
            strikes={**STRIKES, **EngineStrikes(below, disks, silent, more).strikes},
            watch=lambda durable: SaveWatch(SCRATCH_PARENT, durable, nodes=f"{disks}*/hot/*"),
        )
    finally:
        for disk in SCRATCH_PARENT.glob(f"{disks}*"):
            shutil.rmtree(disk, ignore_errors=True)


GROUNDS: Mapping[str, Callable[[Path, str], AbstractContextManager[Ground]]] = {
    "local": this_machine,
    "slurm": slurm,
    "kubernetes": kubernetes,
    "ray": ray,
}
