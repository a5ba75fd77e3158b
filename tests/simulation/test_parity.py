"""Public simulators get these mean completion times on the same files, and so do we where the rules are the same.

Placement is one rule that differs: the figures of others are for first fit or best fit by the number of the node, ours
is by least harm. Where jobs may overtake each other that hardly matters. With strict order one gang that does not fit
holds everybody up: a bare event loop gives 11,184,832 s on muri_trace1 with first fit and 11,001,202 s with best fit,
and on the Philly trace, depending only on how ties between equally good nodes are broken, anything between 28,700 and
35,700 s. Those two have a wider margin for it, of 2.5 and 3 per cent.
"""

from functools import cache
from pathlib import Path

import pytest

from muster.formats.cluster_file import cluster_from_text
from muster.formats.trace_file import read_trace
from muster.model.trace import Trace
from muster.policies import find_policy
from muster.sim.measures import measures
from muster.sim.replay import replay

DATA = Path(__file__).parents[1] / "data"


@cache
def trace(name: str) -> Trace:
    return read_trace(DATA / f"{name}.csv.gz")


@pytest.mark.parametrize(
    ("name", "cluster", "policy", "mean_s", "percent"),
    [
        ("muri_trace3", "8x8", "fifo", 991_216, 1),
        ("muri_trace3", "8x8", "greedy", 480_913, 1),
        ("muri_trace1", "8x8", "fifo", 11_184_832, 2.5),
        ("muri_trace1", "8x8", "greedy", 5_570_542, 2),
        ("philly_4w_600gpu", "75x8", "fifo", 34_699, 3),
        ("philly_4w_600gpu", "75x8", "greedy", 14_264, 2),
        ("philly_4w_600gpu", "75x8", "sjf-oracle", 12_431, 2),
    ],
)
def test_mean_completion_times_are_those_of_public_simulators(
    name: str, cluster: str, policy: str, mean_s: float, percent: float
) -> None:
    made = replay(trace(name), cluster_from_text(cluster), find_policy(policy))
    found = measures(made)
    assert found["finished"] == found["jobs"]
    assert found["jct_s"]["mean"] == pytest.approx(mean_s, rel=percent / 100)
