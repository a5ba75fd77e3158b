"""Servers over a real Slurm, a Kubernetes and a real Ray, each with four nodes in two racks."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.e2e.conftest import Shell
from tests.engines.marks import Marks
from tests.engines.on_kubernetes import OnKubernetes
from tests.engines.on_ray import OnRay
from tests.engines.on_slurm import OnSlurm
from tests.engines.server import OnEngine
from tests.kube.cluster import KubeCluster, running_kubernetes
from tests.ray_cluster import RayCluster, running_ray
from tests.slurm_cluster import Cluster, running_cluster

ENGINES = ("kubernetes", "ray", "slurm")


def a_shell(folder: Path) -> Shell:
    """A user with a new home."""
    shell = Shell(home=folder / "home", folder=folder)
    shell.home.mkdir(mode=0o700)
    return shell


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest) -> OnEngine:
    """A server over each engine. What it runs there ends with the test."""
    found: OnEngine = request.getfixturevalue(f"on_{request.param}")
    return found


@pytest.fixture
def marks(tmp_path: Path) -> Marks:
    """Where workers say what they do."""
    return Marks(tmp_path)


@pytest.fixture(scope="session")
def k8s() -> Iterator[KubeCluster]:
    """A Kubernetes with four nodes in two racks."""
    with running_kubernetes({"k1": "r1", "k2": "r1", "k3": "r2", "k4": "r2"}, namespace="train") as cluster:
        yield cluster


@pytest.fixture
def on_kubernetes(k8s: KubeCluster, tmp_path: Path) -> Iterator[OnKubernetes]:
    """A server over it. What it runs in pods ends with the test."""
    found = OnKubernetes(shell=a_shell(tmp_path), cluster=k8s)
    try:
        yield found
    finally:
        found.repair()


@pytest.fixture(scope="session")
def hpc() -> Iterator[Cluster]:
    """A Slurm with four nodes under two switches, where jobs of other users may run as well."""
    with running_cluster(4, first=1, switches={"s1": "n[1-2]", "s2": "n[3-4]"}) as cluster:
        yield cluster


@pytest.fixture
def on_slurm(hpc: Cluster, tmp_path: Path) -> Iterator[OnSlurm]:
    """A server over it. What it runs in Slurm ends with the test."""
    found = OnSlurm(shell=a_shell(tmp_path), cluster=hpc)
    try:
        yield found
    finally:
        found.repair()


@pytest.fixture
def on_a_slurm_of_its_own(tmp_path: Path) -> Iterator[OnSlurm]:
    """A server over a Slurm that no other test needs afterwards."""
    with running_cluster(2, first=1) as cluster:
        found = OnSlurm(shell=a_shell(tmp_path), cluster=cluster)
        yield found
        found.end_server()


@contextmanager
def over_ray(folder: Path, cluster: RayCluster) -> Iterator[OnRay]:
    """A server in the namespace of a Ray."""
    found = OnRay(shell=a_shell(folder), cluster=cluster)
    with cluster.inside():
        try:
            yield found
        finally:
            found.end_server()
            cluster.repair()


@pytest.fixture
def on_ray(ray: RayCluster, tmp_path: Path) -> Iterator[OnRay]:
    """A server over a Ray. What it runs there ends with the test."""
    with over_ray(tmp_path, ray) as found:
        yield found


@pytest.fixture
def on_a_ray_of_its_own(tmp_path: Path) -> Iterator[OnRay]:
    """A server over a Ray that no other test needs afterwards."""
    with running_ray(2, first=1) as cluster, over_ray(tmp_path, cluster) as found:
        yield found
