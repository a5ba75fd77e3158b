"""Public simulators get these mean completion times on the same files, and so do we where the rules are the same.

Placement is one rule that differs: the figures of others are for first fit or best fit by the number of the node, so
jobs are packed by best fit here, and not by least harm. Where jobs may overtake each other that hardly matters. With
strict order one gang that does not fit holds all others up, and the least difference has large effects: on the Philly
trace a bare event loop gives anything between 28,700 and 35,700 s, depending only on how ties between equally good
nodes are broken and on where seven gangs of 12 GPUs go. As elsewhere what is too large for a node gets empty ones; of
these we take two parts of 6, others perhaps a whole one and a half (34,638 s) or two whole ones (34,576 s).
"""

from functools import cache
from pathlib import Path

import pytest

from muster.formats.rules.cluster_file import cluster_from_text
from muster.formats.traces.trace_file import read_trace
from muster.model.policy import Packing
from muster.model.trace import Trace
from muster.policies import find_policy
from muster.sim.measures import measures
from muster.sim.replay import replay
from tests.simulation.bare_loop import mean_completion_s

DATA = Path(__file__).parents[1] / "data"


@cache
def trace(name: str) -> Trace:
    return read_trace(DATA / f"{name}.csv.gz")


@cache
def replayed_mean_s(name: str, cluster: str, policy: str) -> float:
    packed = find_policy(policy).packed(Packing.BEST_FIT)
    found = measures(replay(trace(name), cluster_from_text(cluster), packed))
    assert found["finished"] == found["jobs"]
    mean_s: float = found["jct_s"]["mean"]
    return mean_s


@pytest.mark.parametrize(
    ("name", "cluster", "policy", "mean_s", "percent"),
    [
        ("muri_trace3", "8x8", "fifo", 991_216, 1),
        ("muri_trace3", "8x8", "greedy", 480_913, 1),
        ("muri_trace1", "8x8", "fifo", 11_184_832, 2),
        ("muri_trace1", "8x8", "greedy", 5_570_542, 2),
        ("philly_4w_600gpu", "75x8", "fifo", 34_699, 1),
        ("philly_4w_600gpu", "75x8", "greedy", 14_264, 2),
        ("philly_4w_600gpu", "75x8", "sjf-oracle", 12_431, 2),
    ],
)
def test_mean_completion_times_are_those_of_public_simulators(
    name: str, cluster: str, policy: str, mean_s: float, percent: float
) -> None:
    assert replayed_mean_s(name, cluster, policy) == pytest.approx(mean_s, rel=percent / 100)


@pytest.mark.parametrize(("name", "nodes"), [("muri_trace1", 8), ("muri_trace3", 8), ("philly_4w_600gpu", 75)])
def test_in_strict_order_it_is_to_the_millisecond_what_a_bare_event_loop_gives(name: str, nodes: int) -> None:
    bare_s = mean_completion_s(trace(name).jobs, nodes, 8)
    assert replayed_mean_s(name, f"{nodes}x8", "fifo") == pytest.approx(bare_s, abs=0.001)
