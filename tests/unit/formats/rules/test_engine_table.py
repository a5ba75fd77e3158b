"""The table `engines` of `muster.toml`: each kind has its own keys, and every kind an adapter."""

from pathlib import Path

import pytest

from muster.formats.rules.engine_table import KINDS
from muster.formats.rules.engines.agents import AgentsSettings
from muster.formats.rules.engines.entry import EngineSettings, NodesWire
from muster.formats.rules.engines.kubernetes import KubernetesNamespace, ToleratedTaint
from muster.formats.rules.engines.local import LocalEngineSettings
from muster.formats.rules.engines.ray import RayCluster
from muster.formats.rules.engines.slurm import SlurmPartition
from muster.formats.rules.server_file import read_server_file
from muster.formats.text.document import InvalidDocument
from muster.live.engines import MAKERS
from muster.model.ids import EngineName, LevelName

KUBE = '[[engines]]\nname = "k8s"\nkind = "kubernetes"\nkubeconfig = "in-cluster"\n'


def engines(folder: Path, text: str) -> tuple[EngineSettings, ...]:
    """The engines of a configuration that says nothing else."""
    file = folder / "muster.toml"
    file.write_text(text, "utf-8")
    return read_server_file(file).engines


def test_each_entry_is_read_by_its_kind(tmp_path: Path) -> None:
    text = """
[[engines]]
name = "local"
kind = "local"

[[engines]]
name = "lab"
kind = "agents"

[[engines]]
name = "hpc"
kind = "slurm"
partition = "train"
config = "slurm.conf"
levels = ["block", "rack"]

[[engines]]
name = "ray"
kind = "ray"
address = "10.0.0.1:6379"
driver = "/opt/ray/bin/python"
levels = {block = "topology/block", rack = "topology/rack"}
"""
    assert engines(tmp_path, text) == (
        LocalEngineSettings(name=EngineName("local")),
        AgentsSettings(name=EngineName("lab")),
        SlurmPartition(
            name=EngineName("hpc"),
            partition="train",
            config=tmp_path / "slurm.conf",
            levels=(LevelName("block"), LevelName("rack")),
        ),
        RayCluster(
            name=EngineName("ray"),
            address="10.0.0.1:6379",
            driver="/opt/ray/bin/python",
            python="",
            levels=(LevelName("block"), LevelName("rack")),
            level_labels=("topology/block", "topology/rack"),
        ),
    )


def test_an_entry_of_kubernetes_has_its_own_keys(tmp_path: Path) -> None:
    text = """
[[engines]]
name = "k8s"
kind = "kubernetes"
kubeconfig = "kube.yaml"
namespace = "research"
levels = {block = "topology.example/block", rack = "topology.example/rack"}
labels = ["example/fabric"]
image = "registry.example/base:1"
node_selector = {pool = "train"}
tolerations = ["nvidia.com/gpu:NoSchedule", "team=vision", "spare"]
shm = "32GiB"
gpu_types = {NVIDIA-A100-SXM4-40GB = "a100-40"}
run_as = "1000:2000"
"""
    (entry,) = engines(tmp_path, text)
    assert entry == KubernetesNamespace(
        name=EngineName("k8s"),
        kubeconfig=tmp_path / "kube.yaml",
        namespace="research",
        levels=(LevelName("block"), LevelName("rack")),
        level_labels=("topology.example/block", "topology.example/rack"),
        labels=("example/fabric",),
        image="registry.example/base:1",
        node_selector=(("pool", "train"),),
        tolerations=(
            ToleratedTaint(key="nvidia.com/gpu", effect="NoSchedule"),
            ToleratedTaint(key="team", value="vision"),
            ToleratedTaint(key="spare"),
        ),
        shm_bytes=32 << 30,
        gpu_types=(("NVIDIA-A100-SXM4-40GB", "a100-40"),),
        run_as=(1000, 2000),
    )


def test_a_server_in_the_cluster_needs_no_kubeconfig(tmp_path: Path) -> None:
    (entry,) = engines(tmp_path, KUBE)
    assert isinstance(entry, KubernetesNamespace)
    assert (entry.kubeconfig, entry.namespace, entry.run_as) == (None, "muster", None)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("engines = 3", "engines: must be a list"),
        ("engines = [3]", "engines[0]: must be a mapping"),
        ('[[engines]]\nname = "a"', "engines[0].kind: is required"),
        ('[[engines]]\nname = "a"\nkind = "slrm"', "did you mean 'slurm'?"),
        ('[[engines]]\nname = "a"\nkind = ["slurm"]', "must be one of agents, kubernetes, local, ray, slurm"),
        ('[[engines]]\nname = "here"\nkind = "local"', "this machine is the engine 'local', not 'here'"),
        ("".join('[[engines]]\nname = "local"\nkind = "local"\n' for _ in range(2)), "'local' is taken already"),
        ('[[engines]]\nkind = "agents"', "engines[0].name: is required"),
        ('[[engines]]\nname = "a"\nkind = "agents"\npartition = "train"', "engines[0].partition: unknown key"),
        ('[[engines]]\nname = "a"\nkind = "slurm"\npartitoin = "train"', "did you mean 'partition'?"),
        ('[[engines]]\nname = "a"\nkind = "slurm"', "engines[0].partition: is required for Slurm"),
        ('[[engines]]\nname = "a"\nkind = "kubernetes"', "engines[0].kubeconfig: is required for Kubernetes"),
        (f"{KUBE}namespace = 'My_Space'", "engines[0].namespace: 'My_Space' is not a namespace"),
        (f"{KUBE}levels = {{rack = 'a b'}}", "engines[0].levels.rack: 'a b' is not the name of a label"),
        (f"{KUBE}labels = ['/x']", "engines[0].labels[0]: '/x' is not the name of a label"),
        (f"{KUBE}gpu_resources = ['a b']", "engines[0].gpu_resources[0]: 'a b' is not the name"),
        (f"{KUBE}tolerations = ['a:Never']", "engines[0].tolerations[0]: 'a:Never' is not a toleration"),
        (f"{KUBE}run_as = 'root'", "engines[0].run_as: 'root' is not a user"),
        (f"{KUBE}scratch = 'here'", "engines[0].scratch: 'here' is not a path"),
        ('[[engines]]\nname = "a"\nkind = "ray"', "engines[0].address: is required for Ray"),
        ('[[engines]]\nname = "a"\nkind = "ray"\naddress = "ray://head:10001"', "is not the address of a head"),
        ('[[engines]]\nname = "local"\nkind = "agents"', "'local' is taken already"),
        ("".join('[[engines]]\nname = "a"\nkind = "agents"\n' for _ in range(65)), "64 are the most"),
    ],
)
def test_a_wrong_entry_says_what_is_wrong_and_where(tmp_path: Path, text: str, problem: str) -> None:
    with pytest.raises(InvalidDocument) as refused:
        engines(tmp_path, text)
    assert problem in str(refused.value)


def test_every_kind_that_is_asked_for_nodes_has_an_adapter() -> None:
    asked = [kind for kind in KINDS.values() if issubclass(kind, NodesWire)]
    made = {kind.settings.__annotations__["return"] for kind in asked}
    assert made == set(MAKERS)
