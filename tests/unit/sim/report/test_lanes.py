from itertools import combinations

import pytest

from muster.model.ids import NodeName
from muster.model.records import evolve
from muster.sim.report.charts.lanes import Bar, bars
from muster.sim.report.figures.busiest_day import Window
from tests.unit.sim.report.made_up import GPUS_PER_NODE, HOUR_MS, a_replay, a_trace_job, an_outcome

DAY = Window(start_ms=0, end_ms=24 * HOUR_MS)


def overlap(one: Bar, other: Bar) -> bool:
    return (
        one.node == other.node
        and max(one.start_ms, other.start_ms) < min(one.end_ms, other.end_ms)
        and max(one.lane, other.lane) < min(one.lane + one.lanes, other.lane + other.lanes)
    )


@pytest.mark.parametrize("policy", ["fifo", "muster"])
def test_bars_never_overlap_and_stay_on_their_node(policy: str) -> None:
    found = bars(a_replay(policy, jobs=150, nodes=4).outcomes, DAY)
    assert found
    assert not [pair for pair in combinations(found, 2) if overlap(*pair)]
    assert max(bar.lane + bar.lanes for bar in found) <= GPUS_PER_NODE


def test_bars_are_cut_to_the_window_and_others_left_out() -> None:
    across = an_outcome(a_trace_job(0, run_ms=10 * HOUR_MS))
    before = an_outcome(a_trace_job(1, run_ms=HOUR_MS))
    found = bars([across, before], Window(start_ms=2 * HOUR_MS, end_ms=4 * HOUR_MS))
    assert [(bar.outcome.job.id, bar.start_ms, bar.end_ms) for bar in found] == [("job-0", 2 * HOUR_MS, 4 * HOUR_MS)]


def test_a_gang_has_a_bar_on_each_node_as_high_as_its_gpus_there() -> None:
    outcome = an_outcome(a_trace_job(0, gpus=12))
    nodes = tuple(NodeName(each) for each in ("b", "a", "b"))
    spread = evolve(outcome, stints=(evolve(outcome.stints[0], nodes=nodes),))
    assert [(bar.node, bar.lanes) for bar in bars([spread], DAY)] == [("a", 4), ("b", 8)]


def test_a_share_of_a_gpu_has_a_lane_to_itself() -> None:
    found = bars([an_outcome(a_trace_job(number, gpus=0.5)) for number in range(2)], DAY)
    assert [(bar.lane, bar.lanes) for bar in found] == [(0, 1), (1, 1)]
