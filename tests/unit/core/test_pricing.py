"""What a job would cost: where it would start, or in the cheapest pool that could take it."""

from muster.core.pricing import cost
from muster.model.ids import NodeName, PoolName
from muster.model.job import Worker
from muster.model.policy import Pool
from muster.model.scenario import Rules
from tests.builders import a_job, a_node

NEW, OLD = (a_node(name, gpu_type=kind, pool=pool) for name, kind, pool in (("n", "h100", "new"), ("o", "a100", "old")))
NODES = {node.name: node for node in (NEW, OLD)}
PRICED = Rules(
    pools=(Pool(name=PoolName("new"), price_milli=2500), Pool(name=PoolName("old"), price_milli=500)),
)


def a_worker(node: str, gpus: int, rank: int = 0) -> Worker:
    return Worker(rank=rank, role="worker", node=NodeName(node), gpus=tuple(range(gpus)))


def test_without_a_price_of_a_pool_there_is_none() -> None:
    assert cost(a_job(), Rules(), NODES).price_milli is None


def test_a_job_that_would_start_costs_what_its_nodes_cost() -> None:
    job = a_job(gpus=4, hours=2)
    assert cost(job, PRICED, NODES, (a_worker("n", 4),)).price_milli == 2500
    assert cost(job, PRICED, NODES, (a_worker("o", 4),)).price_milli == 500


def test_a_gang_over_several_pools_costs_what_each_of_its_gpus_costs() -> None:
    gang = a_job(workers=2, gpus=2)
    assert cost(gang, PRICED, NODES, (a_worker("n", 2), a_worker("o", 2, rank=1))).price_milli == 1500


def test_a_job_that_waits_is_not_priced_by_a_pool_without_gpus_of_its_type() -> None:
    assert cost(a_job(), PRICED, NODES).price_milli == 500
    assert cost(a_job(gpu_type="h100"), PRICED, NODES).price_milli == 2500
