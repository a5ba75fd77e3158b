"""What is free: by node, by domain, by ask; taken, given back and undone."""

import pytest

from muster.core.cluster.capacity import Capacity
from muster.core.cluster.free_states import Ask, FreeStates
from muster.core.cluster.node_use import NodeUse
from muster.core.cluster.tree import Tree
from muster.model.ids import DEFAULT_POOL, GpuType
from muster.model.node import ClusterSpec
from tests.builders import a_cluster, a_node, flat, racks

ONE = Ask(1000, GpuType("h100"), 0, 0, 0, ("main",))  # type: ignore[arg-type]


def an_ask(gpus: float, *, cpus: int = 0) -> Ask:
    return ONE._replace(gpu_milli=round(gpus * 1000), cpu_milli=cpus * 1000)


def all_free(cluster: ClusterSpec) -> Capacity:
    return Capacity.of(Tree(cluster), FreeStates(), {})


def use(node: int, *devices: int, milli: int = 1000, cpus: int = 0) -> NodeUse:
    return NodeUse(node, tuple((device, milli) for device in devices), cpus * 1000, 0, 0)


def deep(*, nvlink: str | None = None) -> ClusterSpec:
    """Two blocks of two racks of one node."""
    return a_cluster(
        *(a_node(f"b{block}-r{rack}", domains=(f"b{block}", f"r{rack}")) for block in (1, 2) for rack in (1, 2)),
        levels=("block", "rack"),
        nvlink=nvlink,
    )


def test_workers_are_counted_by_node_and_domain() -> None:
    view = all_free(racks(2, 2)).view(an_ask(3))
    assert (view.nodes, view.sums) == ([2, 2, 2, 2], [[8], [4, 4]])


def test_what_is_taken_is_missing_and_what_is_given_back_is_not() -> None:
    capacity = all_free(racks(2, 2))
    taken = (use(1, 0, 1, 2, 3, 4, 5),)
    capacity.take(taken)
    assert capacity.view(ONE).sums == [[26], [10, 16]]
    capacity.give(taken)
    assert capacity.view(ONE).sums == [[32], [16, 16]]


def test_everything_since_a_mark_can_be_undone() -> None:
    capacity = all_free(flat(2))
    capacity.take((use(0, 0),))
    mark = capacity.mark()
    capacity.take((use(0, 1), use(1, 0)))
    capacity.give((use(0, 0),))
    capacity.rollback(mark)
    assert capacity.view(ONE).nodes == [7, 8]


def test_a_fork_and_its_origin_do_not_see_each_other() -> None:
    capacity = all_free(flat(1))
    fork = capacity.fork()
    fork.take((use(0, 0),))
    capacity.take((use(0, 1, 2),))
    assert (capacity.view(ONE).nodes, fork.view(ONE).nodes) == ([6], [7])


def test_a_use_laid_over_another_leaves_nothing_and_never_less() -> None:
    capacity = all_free(flat(1, gpus=1))
    capacity.take((use(0, 0),))
    capacity.take((use(0, 0),))
    assert capacity.view(ONE).nodes == [0]
    capacity.give((use(0, 0),))
    assert capacity.view(ONE).nodes == [0]


@pytest.mark.parametrize(("gpus", "fits"), [(0.25, 9), (0.5, 4), (0.75, 2), (1, 2), (2, 1)])
def test_shares_fit_beside_shares(gpus: float, fits: int) -> None:
    """Two GPUs are free, of the third a quarter is."""
    capacity = all_free(flat(1, gpus=3))
    capacity.take((use(0, 2, milli=750),))
    assert capacity.view(an_ask(gpus)).nodes == [fits]


def test_a_group_of_workers_is_counted_whole_inside_its_node() -> None:
    view = all_free(racks(1, 2, gpus=3)).view(ONE, 2)
    assert (view.nodes, view.sums) == ([1, 1], [[2], [2]])


def test_a_group_that_may_span_a_rack_is_counted_by_rack() -> None:
    cluster = a_cluster(*racks(2, 2, gpus=3).nodes, levels=("rack",), nvlink="rack")
    view = all_free(cluster).view(ONE, 4)
    assert (view.nodes, view.sums) == ([3, 3, 3, 3], [[2], [1, 1]])


def test_a_group_that_may_span_a_block_of_racks_is_counted_by_block() -> None:
    capacity = all_free(deep(nvlink="block"))
    view = capacity.view(an_ask(8), 2)
    assert (view.nodes, view.sums) == ([1, 1, 1, 1], [[2], [1, 1], [1, 1, 1, 1]])
    capacity.take((use(0, 0),))
    assert (capacity.view(an_ask(8), 2).sums) == [[1], [0, 1], [0, 1, 1, 1]]


def test_counts_that_catch_up_are_those_of_a_fresh_look() -> None:
    capacity = all_free(deep(nvlink="rack"))
    capacity.view(an_ask(2), 2)
    for node, device in ((0, 0), (0, 3), (3, 1), (2, 7), (1, 0)):
        capacity.take((use(node, device),))
        caught_up, fresh = capacity.view(an_ask(2), 2), capacity.fork().view(an_ask(2), 2)
        assert (caught_up.nodes, caught_up.sums) == (fresh.nodes, fresh.sums)


def test_a_use_is_free_when_all_of_it_is() -> None:
    capacity = all_free(a_cluster(a_node("n1", cpus=4, bad_gpus=(1,)), a_node("n2", state="drained")))
    assert capacity.holds((use(0, 0, cpus=4),))
    assert not capacity.holds((use(0, 1),))
    assert not capacity.holds((use(0, 0, cpus=5),))
    assert not capacity.holds((use(1, 0),))


def test_the_pool_is_part_of_an_ask() -> None:
    capacity = all_free(a_cluster(a_node("n1", pool="main"), a_node("n2", pool="other")))
    assert capacity.view(ONE).nodes == [8, 0]
    assert capacity.free_milli_for(ONE) == 8000
    assert capacity.suits((ONE,)) == [True, False]
    assert DEFAULT_POOL == "main" or capacity.view(ONE._replace(pools=(DEFAULT_POOL,))).nodes == [0, 0]


def test_single_nodes_cannot_be_chosen_before_a_fork_without_shelves_is_shelved() -> None:
    base = all_free(flat(2))
    base.take((use(1, 0),))
    fork = base.fork(shelved=False)
    fork.take((use(0, 0),))
    fork.give((use(1, 0),))
    fork.shelve_as(base)
    assert fork.total_slots(ONE) == 15
    shelved = base.fork()
    shelved.take((use(0, 0),))
    shelved.give((use(1, 0),))
    on_shelves = [(number, nodes) for number, nodes in sorted(fork.shelves.items()) if nodes]
    assert on_shelves == [(number, nodes) for number, nodes in sorted(shelved.shelves.items()) if nodes]
    assert (fork.number, fork.free_milli) == (shelved.number, shelved.free_milli)
