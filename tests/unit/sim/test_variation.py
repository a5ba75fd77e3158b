from collections import Counter
from dataclasses import replace
from decimal import Decimal

import pytest

from muster.estimates.training import Habits
from muster.model.errors import InvalidInput
from muster.model.ids import GpuType, LevelName, NodeName
from muster.model.node import ClusterSpec, Node
from muster.sim.quantity import Quantity
from muster.sim.replay import Circumstances
from muster.sim.variation import Setup, variations, with_nodes
from tests.builders import flat, racks
from tests.unit.sim.builders import S, a_trace, a_trace_job

SETUP = Setup(trace=a_trace(a_trace_job("a", 0), a_trace_job("b", 100)), cluster=flat(4), circumstances=Circumstances())


def test_the_number_of_nodes_goes_up_step_by_step() -> None:
    made = variations("nodes=2..6:2", SETUP)
    assert [len(setup.cluster.nodes) for setup in made] == [2, 4, 6]
    assert [setup.varied for setup in made] == [("nodes", 2), ("nodes", 4), ("nodes", 6)]


def test_jobs_come_faster() -> None:
    made = variations("arrivals=0.5..1.5:0.5", SETUP)
    assert [setup.arriving.jobs[1].submit_ms for setup in made] == [200 * S, 100 * S, 66_666]
    assert [setup.varied for setup in made] == [("arrivals", 0.5), ("arrivals", 1), ("arrivals", 1.5)]


def test_arrivals_are_counted_from_the_trace_and_not_from_how_fast_they_come_otherwise() -> None:
    fast = replace(SETUP, arrivals=Decimal(2))
    assert fast.arriving.jobs[1].submit_ms == 50 * S
    made = variations("arrivals=1..2:1", fast)
    assert [setup.arriving.jobs[1].submit_ms for setup in made] == [100 * S, 50 * S]
    assert [setup.varied for setup in made] == [("arrivals", 1), ("arrivals", 2)]


@pytest.mark.parametrize(("quantity", "amount"), [("nodes", 4), ("arrivals", 1.5), ("restart_cost", 0.25)])
def test_what_there_is_without_varying_it_is_known(quantity: str, amount: float) -> None:
    slow = Circumstances(habits=Habits(restart_cost_ms=250))
    assert replace(SETUP, arrivals=Decimal("1.5"), circumstances=slow).amount(Quantity(quantity)) == amount


def test_restarts_become_dearer() -> None:
    made = variations("restart-cost=0s..1m:30s", SETUP)
    assert [setup.circumstances.habits.restart_cost_ms for setup in made] == [0, 30 * S, 60 * S]


def test_a_single_value_and_two_ends_without_a_step() -> None:
    assert [setup.varied for setup in variations("nodes=7", SETUP)] == [("nodes", 7)]
    assert [setup.varied for setup in variations("nodes=2..9", SETUP)] == [("nodes", 2), ("nodes", 9)]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("colour=1..2", "'colour' cannot be varied; choose from: nodes"),
        ("nodes=ten", "'ten' is not a value for nodes; write for example nodes=60"),
        ("nodes=1.5", "'1.5' is not a value"),
        ("nodes=9..2:1", "does not go upwards"),
        ("nodes=1..5:0", "does not go upwards"),
        ("nodes=1..500:1", "more than 100 steps"),
        ("nodes=0..2:1", "nodes must be between 1 and"),
        ("arrivals=0..1:1", "arrivals must be above 0"),
        ("arrivals=nan", "is not a value"),
        ("restart_cost=soon", "restart_cost=0s..5m:1m"),
    ],
)
def test_mistakes_are_named(text: str, problem: str) -> None:
    with pytest.raises(InvalidInput, match=problem):
        variations(text, SETUP)


@pytest.mark.parametrize(("count", "sizes"), [(16, [4] * 4), (6, [2, 2, 1, 1]), (2, [1, 1]), (21, [6, 5, 5, 5])])
def test_racks_stay_and_become_evenly_larger_or_smaller(count: int, sizes: list[int]) -> None:
    made = with_nodes(racks(4, 4), count)
    assert list(Counter(node.domains for node in made.nodes).values()) == sizes
    assert len({node.name for node in made.nodes}) == count
    assert made.levels == racks(4, 4).levels


def test_the_outermost_domains_take_turns_first() -> None:
    nodes = tuple(
        Node(name=NodeName(f"{block}{rack}"), gpus=8, domains=(block, f"{block}{rack}"))
        for block in "ab"
        for rack in "xy"
    )
    cluster = ClusterSpec(levels=(LevelName("block"), LevelName("rack")), nodes=nodes)
    assert [node.domains for node in with_nodes(cluster, 2).nodes] == [("a", "ax"), ("b", "bx")]


def test_as_many_nodes_as_there_are_is_the_cluster_itself() -> None:
    cluster = racks(2, 2)
    assert with_nodes(cluster, 4) is cluster


def mixed() -> ClusterSpec:
    """Two nodes of one kind and four of another."""
    kinds = [GpuType("a100")] * 2 + [GpuType("h100")] * 4
    return ClusterSpec(
        nodes=tuple(Node(name=NodeName(f"x{place}"), gpus=8, gpu_type=kind) for place, kind in enumerate(kinds))
    )


def test_several_kinds_keep_their_proportions() -> None:
    assert Counter(node.gpu_type for node in with_nodes(mixed(), 9).nodes) == {"a100": 3, "h100": 6}


def test_proportions_that_cannot_be_kept_are_refused_with_what_could_be() -> None:
    with pytest.raises(
        InvalidInput, match=r"\(2 with 8 a100 GPUs .* and 4 .* 8 nodes cannot keep; take multiples of 3"
    ):
        with_nodes(mixed(), 8)


@pytest.mark.parametrize(
    ("text", "values"),
    [("arrivals=1e9", [10**9]), ("arrivals=1e9:1e-30", [10**9]), ("arrivals=0.5..0.9:0.2", [0.5, 0.7, 0.9])],
)
def test_steps_come_to_an_end_however_small_they_are(text: str, values: list[float]) -> None:
    assert [setup.varied for setup in variations(text, SETUP)] == [("arrivals", value) for value in values]


@pytest.mark.parametrize("text", ["arrivals=1e300", "arrivals=1..1e9999999", "nodes=1e10"])
def test_a_value_without_a_meaning_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput, match="is not a value for"):
        variations(text, SETUP)


def test_a_job_that_would_come_too_late_is_refused() -> None:
    with pytest.raises(InvalidInput, match=r"arrivals of 1E-9 are too slow: the last job would come later than 36600d"):
        variations("arrivals=1e-9..1:0.5", SETUP)
    assert replace(SETUP, arrivals=Decimal("1e-7")).arriving.jobs[1].submit_ms == 10**9 * S


def test_both_ends_count_also_where_the_last_step_is_shorter() -> None:
    assert [len(setup.cluster.nodes) for setup in variations("nodes=1..10:4", SETUP)] == [1, 5, 9, 10]
