"""A server that people started with `muster up`, over an engine: a real Slurm, or a Kubernetes, each with two racks."""

import json
import os
import signal
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import Shell, eventually
from tests.kube.cluster import RACK, KubeCluster, running_kubernetes
from tests.kube.kubelet import IMAGE
from tests.slurm_cluster import Cluster, running_cluster

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

KUBERNETES = """
[server]
port = PORT

[[engines]]
name = "k8s"
kind = "kubernetes"
kubeconfig = "KUBECONFIG"
namespace = "NAMESPACE"
python = "PYTHON"
image = "IMAGE"
levels = {rack = "RACK"}
node_selector = {muster-test = "yes"}
shm = "64MiB"
"""


@dataclass(kw_only=True)
class OnEngine:
    """A server over an engine."""

    shell: Shell

    def configuration(self) -> str:
        """What `muster.toml` says of it, with `PORT` where the server is to listen."""
        raise NotImplementedError

    def up(self, port: int = 0) -> str:
        """Start the server; what it says."""
        file = self.shell.folder / "muster.toml"
        file.write_text(self.configuration().replace("PORT", str(port)).replace("PYTHON", sys.executable), "utf-8")
        done = self.shell.run("up", "-d", "--config", str(file))
        assert done.returncode == 0, done.stderr
        return done.stderr + (self.shell.home / "server.log").read_text("utf-8")

    @property
    def port(self) -> int:
        """Where the server listens."""
        return int(self._told["url"].rpartition(":")[2])

    def kill_server(self) -> None:
        """Kill the server at once."""
        os.kill(self._told["pid"], signal.SIGKILL)

    @property
    def has_died(self) -> bool:
        """True once the server has."""
        try:
            return not Path(f"/proc/{self._told['pid']}/cmdline").read_bytes()
        except OSError:
            return True

    @property
    def _told(self) -> dict[str, Any]:
        return dict(json.loads((self.shell.home / "server.json").read_text("utf-8")))

    def submit(self, text: str) -> str:
        """Submit a job file."""
        return self.shell.says("submit", "-", "-q", input=text).strip()

    def job(self, job: str) -> dict[str, Any]:
        """What the server says of a job."""
        return dict(json.loads(self.shell.says("show", job, "-o", "json")))

    def story(self, job: str) -> str:
        """What became of a job, in one line."""
        return " ".join(self.shell.says("story", job).split())

    def placed(self, job: str) -> list[str]:
        """The nodes of a job, in order."""
        return sorted({worker["node"] for worker in self.job(job)["workers"]})

    def await_state(self, job: str, *states: str) -> None:
        """Wait until a job is in one of these states."""
        eventually(lambda: self.job(job)["state"] in states, what=f"{job} is {' or '.join(states)}")

    def await_output(self, job: str, rank: str, text: str) -> None:
        """Wait until what a worker has printed is here, which is a moment after it has ended."""
        eventually(lambda: text in self.shell.says("logs", job, "--rank", rank), what=f"{text!r} was printed")

    def nodes(self) -> dict[str, dict[str, Any]]:
        """What the server says of its nodes."""
        return {each["name"]: each for each in json.loads(self.shell.says("nodes", "-o", "json"))}

    def await_node(self, node: str, *states: str) -> None:
        """Wait until a node is in one of these states."""
        eventually(lambda: self.nodes()[node]["state"] in states, what=f"{node} is {' or '.join(states)}")

    def await_no_record(self) -> None:
        """Wait until the server remembers no allocation."""
        eventually(lambda: not list(self.shell.home.glob("allocations/*.json")), what="no allocation is remembered")


@dataclass(kw_only=True)
class OnSlurm(OnEngine):
    """A server, and the Slurm below it."""

    cluster: Cluster
    partition: str = "train"

    def configuration(self) -> str:
        """One partition."""
        text = CONFIGURATION.replace("SLURM_CONF", str(self.cluster.configuration))
        return text.replace("PARTITION", self.partition)

    def in_slurm(self, *fields: str) -> list[list[str]]:
        """Jobs in Slurm's queue."""
        text = self.cluster.run("squeue", "-h", "-o", "|".join(fields))
        return [line.split("|") for line in text.splitlines()]

    def await_nothing_left(self) -> None:
        """Wait until Slurm runs nothing any more, and no record is left."""
        eventually(lambda: not self.in_slurm("%i"), what="Slurm's queue is empty")
        self.await_no_record()


@dataclass(kw_only=True)
class OnKubernetes(OnEngine):
    """A server, and the Kubernetes below it."""

    cluster: KubeCluster
    more: str = ""
    """Further keys of the engine."""

    def configuration(self) -> str:
        """One namespace."""
        text = KUBERNETES.replace("KUBECONFIG", str(self.cluster.kubeconfig)).replace("IMAGE", IMAGE)
        return text.replace("NAMESPACE", self.cluster.namespace).replace("RACK", RACK) + self.more

    def pods(self) -> list[dict[str, Any]]:
        """The pods of gangs."""
        return self.cluster.list("pods")

    def pod_on(self, node: str) -> str:
        """The name of the one pod on a node."""
        (found,) = (pod["metadata"]["name"] for pod in self.pods() if pod["spec"].get("nodeName") == node)
        return str(found)

    def await_nothing_left(self) -> None:
        """Wait until nothing of any gang is there any more, and no record is left."""
        kinds = ("pods", "services", "secrets")
        eventually(lambda: not any(map(self.cluster.list, kinds)), what="the namespace is empty")
        self.await_no_record()


@pytest.fixture(scope="session")
def k8s() -> Iterator[KubeCluster]:
    """A Kubernetes with four nodes in two racks."""
    with running_kubernetes({"k1": "r1", "k2": "r1", "k3": "r2", "k4": "r2"}, namespace="train") as cluster:
        yield cluster


@pytest.fixture
def on_kubernetes(k8s: KubeCluster, tmp_path: Path) -> Iterator[OnKubernetes]:
    """A server over it. What it runs in pods ends with the test."""
    shell = Shell(home=tmp_path / "home", folder=tmp_path)
    shell.home.mkdir(mode=0o700)
    try:
        yield OnKubernetes(shell=shell, cluster=k8s)
    finally:
        k8s.untroubled()
        shell.run("down", "--jobs")
        k8s.power_on()
        k8s.end_gangs()


@pytest.fixture(scope="session")
def hpc() -> Iterator[Cluster]:
    """A Slurm with four nodes under two switches, where jobs of other users may run as well."""
    with running_cluster(4, first=1, switches={"s1": "n[1-2]", "s2": "n[3-4]"}) as cluster:
        yield cluster


@pytest.fixture
def on_slurm(hpc: Cluster, tmp_path: Path) -> Iterator[OnSlurm]:
    """A server over it. What it runs in Slurm ends with the test."""
    shell = Shell(home=tmp_path / "home", folder=tmp_path)
    shell.home.mkdir(mode=0o700)
    found = OnSlurm(shell=shell, cluster=hpc)
    try:
        yield found
    finally:
        hpc.run("scancel", "--me")
        eventually(lambda: not found.in_slurm("%i"), what="Slurm's queue is empty")
        shell.run("down", "--jobs")
        for node in hpc.nodes:
            hpc.start_node(node)
        for node, state in _states(hpc).items():
            if state != "idle":
                hpc.run("scontrol", "update", f"nodename={node}", "state=resume")
        hpc.await_idle()


def _states(cluster: Cluster) -> dict[str, str]:
    rows = cluster.run("sinfo", "-h", "-N", "-o", "%N %t").splitlines()
    return dict(tuple(row.split()[:2]) for row in rows)  # type: ignore[misc]
