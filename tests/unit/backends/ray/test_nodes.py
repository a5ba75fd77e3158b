"""Ray's nodes as Muster's."""

from typing import Any

from muster.backends.allocations.engine import EngineNode
from muster.backends.ray.nodes import engine_node, nodes_told
from muster.model.ids import EngineName, GpuType, NodeName
from muster.model.node import Node, NodeState
from muster.model.records import evolve
from tests.unit.backends.ray.builders import a_keeper, a_node, an_entry

RAY = EngineName("ray")


def seen(row: dict[str, Any], *levels: str) -> EngineNode:
    (node,) = nodes_told([row]).values()
    return engine_node(node, RAY, levels)


def test_a_node_has_what_ray_says_of_it() -> None:
    assert seen(a_node(), "topology/rack", "topology/row") == EngineNode(
        node=Node(
            name=NodeName("n0"),
            gpus=8,
            gpu_type=GpuType("h100"),
            cpu_milli=16_000,
            memory_bytes=1_000_000_000,
            domains=("r1", "ray"),
            state=NodeState.READY,
            labels=("fast=yes", "topology/rack=r1"),
            engine=RAY,
        ),
        address="10.0.0.1",
        gpus_used=0,
    )


def test_the_label_of_the_accelerator_goes_before_the_resource() -> None:
    assert seen(a_node(labels={"ray.io/accelerator-type": "A100-80G"})).node.gpu_type == "a100-80g"


def test_gpus_of_others_are_those_that_the_keeper_did_not_get() -> None:
    assert seen(a_node(keeper=a_keeper(devices=5))).gpus_used == 3
    assert seen(a_node(keeper=a_keeper(an_entry(devices=2), devices=5))).gpus_used == 5
    assert seen(a_node(keeper=a_keeper(an_entry("ended", devices=2), devices=5))).gpus_used == 3


def test_gpus_that_an_allocation_has_kept_over_a_restart_of_ray_are_counted_once() -> None:
    before = an_entry(devices=2)
    assert seen(a_node(keeper={"devices": ["2", "3"], "entries": [before]})).gpus_used == 6


def test_without_a_keeper_a_node_takes_no_work() -> None:
    found = seen(a_node(keeper=None, free_gpus=6))
    assert (found.node.state, found.because, found.gpus_used) == (NodeState.DRAINING, "its keeper begins", 2)
    said = seen(a_node(keeper=None, problem="its keeper has not answered for 9 s"))
    assert said.because == "its keeper has not answered for 9 s"


def test_a_node_that_ray_has_lost_is_down() -> None:
    found = seen(a_node(alive=False, because="missed\nhealth checks"))
    assert (found.node.state, found.because) == (NodeState.DOWN, "Ray has lost it (missed health checks)")
    assert seen(a_node(alive=False)).because == "Ray has lost it"


def test_of_nodes_with_one_name_the_living_one_with_a_keeper_counts() -> None:
    rows = [a_node(alive=False, id="old"), a_node(keeper=None), a_node(address="10.0.0.2"), a_node(alive=False)]
    (node,) = nodes_told(rows).values()
    assert node.address == "10.0.0.2"


def test_a_name_that_muster_cannot_write_is_changed() -> None:
    assert list(nodes_told([a_node("rack 1/node [2]")])) == ["rack-1-node-2-"]


def test_a_label_that_no_constraint_can_name_is_left_out() -> None:
    node = seen(a_node(labels={"note": "two words"})).node
    assert node == evolve(node, labels=())
