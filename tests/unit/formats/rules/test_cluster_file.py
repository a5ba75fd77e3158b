from pathlib import Path

import pytest

from muster.formats.rules.cluster_file import cluster_from_text, read_cluster
from muster.formats.text.document import InvalidDocument
from muster.model.errors import InvalidInput
from muster.model.node import NodeState
from muster.model.resources import UNTRACKED
from tests.unit.formats.scenarios.builders import a_cluster, a_node, scenario, scenario_errors

LEVELS = {"levels": ["block", "rack"]}


def test_a_range_of_nodes_shares_everything_but_the_name() -> None:
    cluster = scenario(cluster=a_cluster(a_node("n[1-2]", block="b1", rack=1, bad_gpus=[3, 1, 3]), **LEVELS)).cluster
    first, second = cluster.nodes
    assert (first.name, second.name) == ("n1", "n2")
    assert first.domains == second.domains == ("b1", "1")
    assert first.bad_gpus == (1, 3)
    assert (first.gpus, first.gpu_type, first.cpu_milli, first.memory_bytes) == (8, "h100", 128_000, 1 << 40)
    assert cluster.levels == ("block", "rack")


def test_what_a_node_does_not_state_is_not_tracked() -> None:
    node = scenario(cluster=a_cluster({"name": "n1"})).cluster.nodes[0]
    assert (node.cpu_milli, node.memory_bytes, node.disk_bytes) == (UNTRACKED,) * 3
    assert (node.gpus, node.pool, node.state) == (0, "main", NodeState.READY)


def test_nodes_may_be_counted_instead_of_named() -> None:
    cluster = scenario(cluster=a_cluster(a_node("n2"), {"count": 2, "gpus": 4}, {"name": "big", "count": 2})).cluster
    assert [node.name for node in cluster.nodes] == ["n2", "n1", "n3", "big-1", "big-2"]


def test_a_cluster_in_one_word() -> None:
    cluster = cluster_from_text("75x8")
    assert len(cluster.nodes) == 75
    assert {node.gpus for node in cluster.nodes} == {8}
    assert scenario(cluster="2x4").cluster.nodes == cluster_from_text("2x4").nodes


@pytest.mark.parametrize("size", ["", "x", "0x8", "8", "75x", "x8", "1x65", "999999x8", "-1x8"])
def test_a_word_that_is_no_cluster_is_refused(size: str) -> None:
    with pytest.raises(InvalidInput, match="75x8"):
        cluster_from_text(size)


def test_a_cluster_file_may_carry_notes(tmp_path: Path) -> None:
    path = tmp_path / "c.json"
    path.write_text('{"name": "x", "nodes": [{"count": 3, "gpus": 2, "mem_gb": 64.0}], "note": "y", "total_gpus": 6}')
    cluster = read_cluster(path)
    assert [(node.name, node.memory_bytes) for node in cluster.nodes] == [
        (name, 64 * 10**9) for name in ("n1", "n2", "n3")
    ]
    path.write_text('{"nodes": [{"name": "a"}], "level": ["rack"]}')
    with pytest.raises(InvalidDocument, match="did you mean 'levels'"):
        read_cluster(path)


def test_a_cluster_is_found_in_a_scenario_file(tmp_path: Path) -> None:
    path = tmp_path / "s.yaml"
    path.write_text("cluster: {nodes: [{name: a, gpus: 1}]}\nwaiting: nonsense", "utf-8")
    assert [node.name for node in read_cluster(path).nodes] == ["a"]
    assert len(read_cluster("3x1").nodes) == 3


def test_an_nvlink_level_is_recognised_by_its_name_or_said() -> None:
    node = a_node("n1", nvl72="d1", rack="r1")
    assert scenario(cluster=a_cluster(node, levels=["rack", "nvl72"])).cluster.nvlink_level == "nvl72"
    said = a_cluster(node, levels=["rack", "nvl72"], nvlink_level="rack")
    assert scenario(cluster=said).cluster.nvlink_level == "rack"
    assert scenario(cluster=a_cluster(node, levels=["rack", "nvl72"], nvlink_level="node")).cluster.nvlink_level is None


def test_node_may_be_written_as_the_last_level() -> None:
    assert scenario(cluster=a_cluster(a_node(rack="r"), levels=["rack", "node"])).cluster.levels == ("rack",)


def test_the_same_rack_name_in_two_blocks_is_two_racks() -> None:
    nodes = [a_node("a", block="b1", rack="r"), a_node("b", block="b2", rack="r")]
    assert [node.domains for node in scenario(cluster=a_cluster(*nodes, **LEVELS)).cluster.nodes] == [
        ("b1", "r"),
        ("b2", "r"),
    ]


@pytest.mark.parametrize(
    ("cluster", "expected"),
    [
        (a_cluster(a_node("n1"), a_node("n[1-2]")), "cluster.nodes[1].name: node 'n1' is named here and by nodes[0]"),
        (a_cluster(a_node("n[1,1]")), "cluster.nodes[0].name: node 'n1' is named twice"),
        (a_cluster(a_node(bad_gpus=[0, 8])), "cluster.nodes[0].bad_gpus[1]: there is no GPU 8 on a node with 8"),
        (a_cluster(a_node(gpus=65)), "cluster.nodes[0].gpus: must be less than or equal to 64"),
        (a_cluster(a_node(rack="r1")), "cluster.nodes[0].rack: is neither a key of a node nor one of the levels"),
        (a_cluster(a_node(gpu_typ="x")), "cluster.nodes[0].gpu_typ: is neither a key of a node"),
        (a_cluster(a_node(block="b"), **LEVELS), "cluster.nodes[0].rack: is required: 'rack' is one of the levels"),
        (a_cluster(a_node(block="a b", rack="r"), **LEVELS), "cluster.nodes[0].block: 'a b' is not a name"),
        (a_cluster(a_node(state="redy")), "cluster.nodes[0].state: must be one of ready, suspect, draining"),
        (a_cluster({"gpus": 8}), "cluster.nodes[0].name: is required and was not given (a name or a count)"),
        (a_cluster({"name": "n[1-3]", "count": 2}), "cluster.nodes[0].count: is 2, and the name stands for 3 nodes"),
        (a_cluster({"count": 60_000}, {"count": 60_000}), "cluster.nodes[1]: too many nodes"),
        (a_cluster(levels=["rack", "rack"]), "cluster.levels[1]: level 'rack' is given twice"),
        (a_cluster(levels=["pool"]), "cluster.levels[0]: 'pool' cannot be a level here"),
        (a_cluster(levels=["node", "rack"]), "cluster.levels[0]: 'node' cannot be a level here"),
        (a_cluster(levels=[f"l{n}" for n in range(9)]), "cluster.levels: 9 levels are too many"),
        (a_cluster(nvlink_level="rak"), "cluster.nvlink_level: 'rak' is not one of the levels"),
        (a_cluster(a_node(labels=["a b"])), "cluster.nodes[0].labels: 'a b' is not a label"),
        (a_cluster(a_node(labels=["x"] * 99)), "cluster.nodes[0].labels: 99 labels are too many"),
        ("8", "cluster: '8' is not a cluster: write nodes x GPUs"),
        ({}, "cluster.nodes: is required"),
        (5, "cluster: must be a mapping"),
    ],
)
def test_a_mistake_in_a_cluster_is_named(cluster: object, expected: str) -> None:
    errors = scenario_errors(cluster=cluster)
    assert any(error.startswith(expected) for error in errors), errors


def test_nodes_without_gpus_may_say_so(tmp_path: Path) -> None:
    path = tmp_path / "c.json"
    path.write_text('{"nodes": [{"count": 2, "gpus": 0, "gpu_type": null, "cpus": 96.0}], "teams": {"a": {}}}')
    assert [(node.gpus, node.gpu_type, node.cpu_milli) for node in read_cluster(path).nodes] == [(0, "", 96_000)] * 2


def test_labels_are_a_list_or_words_as_slurm_writes_them() -> None:
    nodes = scenario(
        cluster=a_cluster(a_node("n1", labels=["nvme", "ib", "ib"]), a_node("n2", labels="nvme,ib"))
    ).cluster
    assert [node.labels for node in nodes.nodes] == [("ib", "nvme")] * 2
    assert nodes.nodes[0].known_as == ("ib", "nvme", "h100", "n1")
