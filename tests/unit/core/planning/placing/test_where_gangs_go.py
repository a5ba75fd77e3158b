"""Placement: suspect nodes last, and several roles wherever they fit together."""

import pytest

from muster.core.planning import plan
from muster.core.snapshot import Snapshot
from muster.model.policy import Packing, Policy
from muster.model.resources import Request
from muster.model.scenario import Scenario
from muster.model.spec import RoleSpec
from tests.builders import a_cluster, a_job, a_node, a_scenario, waits


def nodes_of_the_only_start(scenario: Scenario) -> list[str]:
    (start,) = plan(Snapshot.of(scenario), scenario.now_ms).starts
    return [worker.node for worker in start.workers]


def test_a_gang_that_fits_on_two_healthy_nodes_is_not_put_on_one_suspect_node() -> None:
    cluster = a_cluster(a_node("n1", gpus=2), a_node("n2", gpus=2), a_node("n3", gpus=4, state="suspect"))
    scenario = a_scenario(cluster, waiting=[waits("p", a_job(gpus=2, workers=2))])
    assert nodes_of_the_only_start(scenario) == ["n1", "n2"]


def test_a_gang_that_fits_in_a_healthy_rack_is_not_put_into_a_tighter_one_with_a_suspect_node() -> None:
    cluster = a_cluster(
        a_node("a1", gpus=2, domains=("r1",), state="suspect"),
        a_node("a2", gpus=2, domains=("r1",)),
        *(a_node(f"b{number}", gpus=2, domains=("r2",)) for number in (1, 2, 3)),
        levels=("rack",),
    )
    scenario = a_scenario(cluster, waiting=[waits("p", a_job(gpus=2, workers=2))])
    assert all(node.startswith("b") for node in nodes_of_the_only_start(scenario))


def test_two_roles_that_fit_together_on_an_empty_cluster_start() -> None:
    """The GPU role fits both nodes, the CPU role only one: the first must leave room for the second."""
    trainer = RoleSpec(name="trainer", workers_min=1, workers_max=1, request=Request(gpu_milli=8000, cpu_milli=1000))
    loader = RoleSpec(name="loader", workers_min=1, workers_max=1, request=Request(cpu_milli=64_000))
    cluster = a_cluster(a_node("n1", cpus=64), a_node("n2", cpus=16))
    scenario = a_scenario(cluster, waiting=[waits("p", a_job(roles=(trainer, loader)))])
    assert nodes_of_the_only_start(scenario) == ["n2", "n1"]


@pytest.mark.parametrize(("packing", "starts"), [(Packing.BEST_FIT, ["w"]), (Packing.LEAST_HARM, ["w", "p"])])
def test_a_gang_that_is_too_large_for_a_node_gets_empty_ones_where_nodes_are_packed_as_elsewhere(
    packing: Packing, starts: list[str]
) -> None:
    cluster = a_cluster(a_node("n1", gpus=8), a_node("n2", gpus=8))
    waiting = [waits("w", a_job(gpus=2), hours_ago=2), waits("p", a_job(gpus=6, workers=2))]
    scenario = a_scenario(cluster, waiting=waiting, policy=Policy(packing=packing))
    assert [start.job for start in plan(Snapshot.of(scenario), scenario.now_ms).starts] == starts


def test_roles_may_share_nodes_with_each_other_where_nodes_are_packed_as_elsewhere() -> None:
    roles = tuple(
        RoleSpec(name=name, workers_min=3, workers_max=3, request=Request(gpu_milli=4000)) for name in ("left", "right")
    )
    cluster = a_cluster(*(a_node(name, gpus=8) for name in ("n1", "n2", "n3")))
    waiting = [waits("p", a_job(roles=roles))]
    assert nodes_of_the_only_start(a_scenario(cluster, waiting=waiting, policy=Policy(packing=Packing.BEST_FIT)))
