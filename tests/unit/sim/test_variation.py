import pytest

from muster.model.errors import InvalidInput
from muster.sim.replay import Circumstances
from muster.sim.variation import Setup, variations
from tests.builders import flat, racks
from tests.unit.sim.builders import S, a_trace, a_trace_job

SETUP = Setup(trace=a_trace(a_trace_job("a", 0), a_trace_job("b", 100)), cluster=flat(4), circumstances=Circumstances())


def test_the_number_of_nodes_goes_up_step_by_step() -> None:
    made = variations("nodes=2..6:2", SETUP)
    assert [len(setup.cluster.nodes) for setup in made] == [2, 4, 6]
    assert [setup.varied for setup in made] == [("nodes", 2), ("nodes", 4), ("nodes", 6)]


def test_jobs_come_faster() -> None:
    made = variations("arrivals=0.5..1.5:0.5", SETUP)
    assert [setup.trace.jobs[1].submit_ms for setup in made] == [200 * S, 100 * S, 66_666]
    assert [setup.varied for setup in made] == [("arrivals", 0.5), ("arrivals", 1), ("arrivals", 1.5)]


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


def test_only_nodes_that_are_alike_can_be_more() -> None:
    setup = Setup(trace=SETUP.trace, cluster=racks(2, 2), circumstances=SETUP.circumstances)
    with pytest.raises(InvalidInput, match="where all are alike"):
        variations("nodes=2..4:2", setup)
