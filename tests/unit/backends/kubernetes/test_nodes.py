"""What is made of nodes, of what runs on them, and of what is said of them."""

from dataclasses import replace

import pytest

from muster.backends.kubernetes.gpu_types import gpu_type
from muster.backends.kubernetes.nodes import down_nodes, nodes_of
from muster.backends.kubernetes.quantities import bytes_of, milli_of
from muster.backends.kubernetes.settings import Toleration
from muster.model.node import NodeState
from tests.unit.backends.kubernetes.builders import SETTINGS, a_node, a_pod

TAINT = {"key": "team", "value": "vision", "effect": "NoSchedule"}


@pytest.mark.parametrize(
    ("label", "resource", "name"),
    [
        ("NVIDIA-H100-80GB-HBM3", "nvidia.com/gpu", "h100"),
        ("NVIDIA-A100-SXM4-40GB", "nvidia.com/gpu", "a100"),
        ("Tesla-V100-SXM2-16GB", "nvidia.com/gpu", "v100"),
        ("Tesla-T4", "nvidia.com/gpu", "t4"),
        ("NVIDIA-L40S", "nvidia.com/gpu", "l40s"),
        ("NVIDIA-GeForce-RTX-4090", "nvidia.com/gpu", "rtx-4090"),
        ("NVIDIA-A100-SXM4-40GB-MIG-1g.5gb", "nvidia.com/gpu", "a100-mig-1g.5gb"),
        ("NVIDIA-A100-SXM4-40GB", "nvidia.com/mig-2g.10gb", "a100-mig-2g.10gb"),
        ("", "nvidia.com/gpu", ""),
        ("", "nvidia.com/mig-1g.5gb", "mig-1g.5gb"),
        ("AMD-Instinct-MI300X", "amd.com/gpu", "mi300x"),
        ("something else", "example/fpga", "something-else"),
        ("odd", "nvidia.com/gpu", "mine"),
    ],
)
def test_a_type_of_gpu_has_the_name_that_people_use(label: str, resource: str, name: str) -> None:
    assert gpu_type(label, resource, {"odd": "mine"}) == name


@pytest.mark.parametrize(
    ("text", "milli"), [("2", 2000), ("500m", 500), ("0.25", 250), ("1k", 1_000_000), ("1e3", 1_000_000), (3, 3000)]
)
def test_amounts_are_read_as_they_are_written(text: str | int, milli: int) -> None:
    assert milli_of(text) == milli


def test_sizes_know_both_kinds_of_units() -> None:
    assert (bytes_of("1Ki"), bytes_of("2Mi"), bytes_of("1G"), bytes_of("129e6")) == (1024, 2 << 20, 10**9, 129_000_000)
    with pytest.raises(ValueError, match="not an amount"):
        bytes_of("much")


def test_a_node_is_taken_as_it_is_described() -> None:
    labels = {"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3", "example/rack": "r1", "example/fabric": "ib", "x": "y"}
    settings = replace(
        SETTINGS, level_labels=("example/block", "example/rack"), labels=("example/fabric", "example/no")
    )
    daemon = a_pod("d", own=False, owners=[{"kind": "DaemonSet"}], requests={"cpu": "500m", "memory": "1Gi"})
    other = a_pod("o", own=False, requests={"cpu": "4", "nvidia.com/gpu": "2"})
    ended = a_pod("e", "Succeeded", own=False, requests={"nvidia.com/gpu": "4"})
    (found,) = nodes_of([a_node(labels=labels)], [daemon, other, ended], settings)
    node = found.node
    assert (node.gpus, node.gpu_type, node.cpu_milli, node.memory_bytes) == (8, "h100", 63_500, 63 << 30)
    assert node.domains == ("n1", "r1")  # without a label it is alone in its block
    assert node.labels == ("example/fabric=ib", "ib")
    assert (node.state, node.whole_gpus, found.address, found.gpus_used) == (NodeState.READY, True, "10.0.0.1", 2)


@pytest.mark.parametrize(
    ("node", "state", "because"),
    [
        (a_node(ready="Unknown"), NodeState.DOWN, "kubelet stopped posting"),
        (a_node(spec={"unschedulable": True}), NodeState.DRAINING, "it is cordoned"),
        (a_node(spec={"taints": [TAINT]}), NodeState.DRAINING, "it is tainted with team=vision:NoSchedule"),
        (a_node(spec={"taints": [{"key": "team", "effect": "PreferNoSchedule"}]}), NodeState.READY, ""),
    ],
)
def test_what_keeps_pods_out_keeps_jobs_out(node: dict[str, object], state: NodeState, because: str) -> None:
    (found,) = nodes_of([node], [], SETTINGS)
    assert found.node.state is state
    assert found.because.startswith(because)
    assert bool(down_nodes([node])) is (state is NodeState.DOWN)


def test_a_node_that_says_nothing_of_itself_is_down() -> None:
    assert down_nodes([{"metadata": {"name": "new"}}]) == {"new": "its kubelet has not said that it is ready"}


def test_taints_that_are_tolerated_keep_nothing_out() -> None:
    tainted = a_node(spec={"taints": [TAINT]})
    for toleration in (Toleration(key="team"), Toleration(key="team", value="vision", effect="NoSchedule")):
        (found,) = nodes_of([tainted], [], replace(SETTINGS, tolerations=(toleration,)))
        assert found.node.state is NodeState.READY
    for toleration in (Toleration(key="team", value="nlp"), Toleration(key="team", effect="NoExecute")):
        (found,) = nodes_of([tainted], [], replace(SETTINGS, tolerations=(toleration,)))
        assert found.node.state is NodeState.DRAINING


def test_nodes_of_the_control_plane_and_others_are_left_out() -> None:
    taint = {"key": "node-role.kubernetes.io/control-plane", "effect": "NoSchedule"}
    nodes = [a_node("master", spec={"taints": [taint]}), a_node("a", labels={"pool": "train"}), a_node("b")]
    assert [each.node.name for each in nodes_of(nodes, [], SETTINGS)] == ["a", "b"]
    chosen = replace(SETTINGS, node_selector=(("pool", "train"),))
    assert [each.node.name for each in nodes_of(nodes, [], chosen)] == ["a"]


def test_the_first_kind_of_gpu_that_a_node_offers_counts() -> None:
    settings = replace(SETTINGS, gpu_resources=("nvidia.com/gpu", "amd.com/gpu"))
    amd, none = a_node("a", allocatable={"amd.com/gpu": "4"}), a_node("b", allocatable={"cpu": "2"})
    assert [each.node.gpus for each in nodes_of([amd, none], [], settings)] == [4, 0]
