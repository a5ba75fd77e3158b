import re
from dataclasses import fields
from pathlib import Path
from random import Random

import pytest

from muster.model.errors import InvalidInput
from muster.model.events import NodeChanged, NodeLost, ObservedEvent
from muster.model.ids import PoolName
from muster.model.node import Node, NodeState
from muster.model.policy import DAY_MS, HOUR_MS, MINUTE_MS
from muster.sim.faults import FaultRates, fault_rates, job_fate
from muster.sim.node_faults import NodeFaults
from muster.sim.world import World
from tests.builders import a_node

NODES = tuple(a_node(f"n{place}", domains=(f"r{place // 4}",)) for place in range(20))


def faults_until(
    rates: FaultRates, until_ms: int, *, seed: int = 1, nodes: tuple[Node, ...] = NODES
) -> list[ObservedEvent]:
    """What the world reports when only node faults happen to it."""
    world = World(nodes)
    faults = NodeFaults(rates, nodes, (PoolName("spot"),), seed)
    reports: list[ObservedEvent] = []
    while (next_ms := faults.next_ms) is not None and next_ms <= until_ms:
        world.advance(next_ms)
        faults.befall(world, next_ms)
        reports += world.poll()
    return reports


def test_rates_are_read_as_people_write_them() -> None:
    rates = fault_rates("mtbf=250d, repair=4h, rack=0.1,straggler-time=30m")
    assert rates == FaultRates(mtbf=250 * DAY_MS, repair=4 * HOUR_MS, rack=0.1, straggler_time=30 * MINUTE_MS)
    assert fault_rates("") == FaultRates()
    assert not fault_rates("").disturb_jobs
    assert fault_rates("cancel=0.1").disturb_jobs


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("mtfb=3d", "'mtfb' is not a fault; there are: mtbf"),
        ("mtbf=often", "mtbf: must be a duration"),
        ("mtbf", "mtbf: must be a duration"),
        ("rack=2", "rack must be a number between 0 and 1, not '2'"),
        ("crash=x", "crash must be a number"),
        ("mtbf=1d,mtbf=2d", "mtbf is given twice"),
        ("mtbf=1s,repair=1s", "mtbf must be at least 1m, or 0s for never, not '1s'"),
        ("gpu=59s", "gpu must be at least 1m"),
        ("straggler=1ms,straggler_time=1ms", "straggler must be at least 1m"),
        ("spot=1s", "spot must be at least 1m"),
    ],
)
def test_mistakes_in_rates_are_named(text: str, problem: str) -> None:
    with pytest.raises(InvalidInput, match=problem):
        fault_rates(text)


def test_every_fault_is_documented_with_its_default() -> None:
    document = Path(__file__).parents[3].joinpath("docs", "SIMULATOR.md").read_text("utf-8")
    rows = dict(re.findall(r"^\| `(\w+)` \| (?:time|part) \| `?([\w.]+)`? \|", document, re.MULTILINE))
    assert fault_rates(",".join(f"{name}={default}" for name, default in rows.items())) == FaultRates()
    assert list(rows) == [field.name for field in fields(FaultRates)]


def test_nodes_fail_about_as_often_as_asked_and_come_back() -> None:
    reports = faults_until(FaultRates(mtbf=10 * DAY_MS, repair=HOUR_MS), 100 * DAY_MS)
    lost = [report for report in reports if isinstance(report, NodeLost)]
    back = [report for report in reports if isinstance(report, NodeChanged)]
    assert 140 <= len(lost) <= 260
    assert len(lost) - len(back) in (0, 1, 2)
    assert {report.node.state for report in back} == {NodeState.READY}


def test_nodes_are_up_for_as_much_of_the_time_as_failures_and_repairs_say() -> None:
    """A node that is down does not fail again: half of the time with equal means, and not 1/e of it."""
    until_ms = 500 * DAY_MS
    up_ms, since_ms = 0, dict.fromkeys((node.name for node in NODES), 0)
    for report in faults_until(FaultRates(mtbf=DAY_MS, repair=DAY_MS), until_ms):
        match report:
            case NodeLost(node=name, at_ms=at_ms):
                up_ms += at_ms - since_ms.pop(name)
            case NodeChanged(node=node, at_ms=at_ms):
                assert node.name not in since_ms
                since_ms[node.name] = at_ms
            case _:
                raise AssertionError(report)
    up_ms += sum(until_ms - at_ms for at_ms in since_ms.values())
    assert up_ms / (until_ms * len(NODES)) == pytest.approx(0.5, abs=0.02)


def test_nothing_happens_to_a_node_that_is_away_but_new_gpus() -> None:
    """Its clocks start anew when it is back."""
    rates = FaultRates(mtbf=DAY_MS, repair=2 * DAY_MS, gpu=8 * DAY_MS, spot=DAY_MS, notice=HOUR_MS)
    reports = faults_until(rates, 200 * DAY_MS, nodes=(a_node("n1", pool="spot"),))
    state = NodeState.READY
    for report in reports:
        if isinstance(report, NodeLost):
            assert state is not NodeState.DOWN
            state = NodeState.DOWN
        elif isinstance(report, NodeChanged):
            if state is NodeState.DOWN:
                assert report.because == "repaired" or report.because.endswith("was replaced")
            state = report.node.state
    assert {report.because for report in reports if isinstance(report, NodeLost)} == {"failed", "reclaimed"}


def test_a_whole_rack_goes_at_once() -> None:
    reports = faults_until(FaultRates(mtbf=100 * DAY_MS, rack=1), 20 * DAY_MS)
    times = [report.at_ms for report in reports if isinstance(report, NodeLost)]
    assert times
    assert all(times.count(at_ms) == 4 for at_ms in times)


def test_a_gpu_breaks_and_is_replaced() -> None:
    reports = faults_until(FaultRates(gpu=100 * DAY_MS), 10 * DAY_MS)
    bad = [len(report.node.bad_gpus) for report in reports if isinstance(report, NodeChanged)]
    assert len(bad) == len(reports) > 10
    assert {0, 1} <= set(bad)


def test_a_spot_node_is_told_before_it_goes() -> None:
    nodes = (a_node("n1", pool="spot"), a_node("n2"))
    reports = faults_until(FaultRates(spot=DAY_MS, notice=2 * MINUTE_MS), 10 * DAY_MS, nodes=nodes)
    told, lost = reports[:2]
    assert isinstance(told, NodeChanged)
    assert isinstance(lost, NodeLost)
    assert (told.node.name, told.node.state, lost.node) == ("n1", NodeState.DRAINING, "n1")
    assert lost.at_ms - told.at_ms == 2 * MINUTE_MS
    assert {report.node for report in reports if isinstance(report, NodeLost)} == {"n1"}


def test_a_spot_node_without_notice_is_just_gone() -> None:
    reports = faults_until(FaultRates(spot=DAY_MS, notice=0), 10 * DAY_MS, nodes=(a_node("n1", pool="spot"),))
    assert [type(report) for report in reports[:3]] == [NodeLost, NodeChanged, NodeLost]


def test_stragglers_are_not_reported() -> None:
    assert faults_until(FaultRates(straggler=DAY_MS), 10 * DAY_MS) == []
    assert faults_until(FaultRates(straggler=DAY_MS, mtbf=DAY_MS), 10 * DAY_MS) != []


def test_node_faults_follow_from_the_seed() -> None:
    rates = FaultRates(mtbf=10 * DAY_MS, rack=0.2, gpu=100 * DAY_MS, straggler=DAY_MS)
    first, again, other = (faults_until(rates, 20 * DAY_MS, seed=seed) for seed in (1, 1, 2))
    assert first == again != other


def test_a_perfect_world_has_no_node_faults() -> None:
    assert NodeFaults(FaultRates(), NODES, (), 1).next_ms is None
    assert NodeFaults(FaultRates(mtbf=DAY_MS), NODES, (), 1).next_ms is not None


def test_fates_are_drawn_in_the_order_of_the_trace_whatever_the_rates() -> None:
    def fates(rates: FaultRates) -> list[float | None]:
        chance = Random("fates")
        return [job_fate(rates, 1000, chance).crash_at for _ in range(1000)]

    some, more = fates(FaultRates(crash=0.1)), fates(FaultRates(crash=0.2, cancel=0.5))
    assert 60 < sum(fate is not None for fate in some) < 140
    assert all(fate == other for fate, other in zip(some, more, strict=True) if fate is not None)


def test_users_give_up_within_twice_the_run_time() -> None:
    chance = Random("fates")
    given_up = [job_fate(FaultRates(cancel=1), 1000, chance).cancel_after_ms for _ in range(100)]
    assert all(after is not None and 0 <= after < 2000 for after in given_up)
