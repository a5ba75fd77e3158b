"""Health: verdicts over single nodes, and the guard that keeps a bad signal from draining a cluster."""

from dataclasses import replace

import pytest

from muster.core.health import (
    GpuSignals,
    HealthPolicy,
    Judgement,
    NodeSignals,
    Symptom,
    Verdict,
    apply_verdict,
    guard,
    judge,
)
from muster.model.ids import NodeName
from muster.model.node import Node, NodeState

POLICY = HealthPolicy()
LONG_MS = POLICY.clear_after_ms


def a_node(name: str = "n1", *, state: NodeState = NodeState.READY, bad_gpus: tuple[int, ...] = ()) -> Node:
    return Node(name=NodeName(name), gpus=8, state=state, bad_gpus=bad_gpus)


def slow_nic(mbps: int, *, drained_by_health: bool = False, healthy_ms: int = 0) -> NodeSignals:
    return NodeSignals(
        nic_mbps=mbps, nic_nominal_mbps=1_000, drained_by_health=drained_by_health, healthy_ms=healthy_ms
    )


@pytest.mark.parametrize(
    ("signals", "verdict", "symptom"),
    [
        (NodeSignals(heartbeat_age_ms=59_999), Verdict.OK, None),
        (NodeSignals(heartbeat_age_ms=60_000), Verdict.SUSPECT, Symptom.HEARTBEAT),
        (NodeSignals(heartbeat_age_ms=180_000), Verdict.DOWN, Symptom.HEARTBEAT),
        (NodeSignals(throttled_milli=499), Verdict.OK, None),
        (NodeSignals(throttled_milli=500), Verdict.DRAIN_NODE, Symptom.THERMAL),
        (slow_nic(800), Verdict.OK, None),
        (slow_nic(799), Verdict.DRAIN_NODE, Symptom.NIC),
        (NodeSignals(job_failures=1), Verdict.OK, None),
        (NodeSignals(job_failures=2), Verdict.SUSPECT, Symptom.JOB_FAILURES),
        (NodeSignals(job_failures=5), Verdict.DRAIN_NODE, Symptom.JOB_FAILURES),
        (NodeSignals(gpus=(GpuSignals(index=3, ecc_errors=1),)), Verdict.DRAIN_GPU, Symptom.ECC),
        (NodeSignals(gpus=(GpuSignals(index=3, xid_errors=1),)), Verdict.DRAIN_GPU, Symptom.XID),
        (NodeSignals(gpus=(GpuSignals(index=3),)), Verdict.OK, None),
    ],
)
def test_each_signal_has_its_limit(signals: NodeSignals, verdict: Verdict, symptom: Symptom | None) -> None:
    judgement = judge(a_node(), signals, POLICY)
    assert judgement.verdict is verdict
    assert [finding.symptom for finding in judgement.findings] == ([] if symptom is None else [symptom])


def test_the_worst_finding_decides_and_all_are_told() -> None:
    signals = NodeSignals(heartbeat_age_ms=60_000, throttled_milli=900, job_failures=2)
    judgement = judge(a_node(), signals, POLICY)
    assert judgement.verdict is Verdict.DRAIN_NODE
    assert judgement.because == (
        "no heartbeat for 60 s; slowed down by heat 90 % of the time; the last 2 attempts failed here"
    )


def test_one_bad_gpu_leaves_the_rest_of_the_node_in_use() -> None:
    judgement = judge(a_node(), NodeSignals(gpus=(GpuSignals(index=3, ecc_errors=4, xid_errors=1),)), POLICY)
    node = apply_verdict(a_node(), judgement, drained_by_health=False)
    assert (node.state, node.bad_gpus) == (NodeState.READY, (3,))
    assert judgement.because == "GPU 3: 4 uncorrectable memory errors"


def test_half_of_its_gpus_bad_drains_the_node() -> None:
    gpus = tuple(GpuSignals(index=index, xid_errors=1) for index in range(4))
    judgement = judge(a_node(), NodeSignals(gpus=gpus), POLICY)
    assert (judgement.verdict, judgement.bad_gpus) == (Verdict.DRAIN_NODE, (0, 1, 2, 3))
    assert "4 of 8 GPUs are bad" in judgement.because


def test_gpus_that_an_operator_took_out_stay_out_and_so_do_those_that_were_not_measured() -> None:
    healthy = tuple(GpuSignals(index=index) for index in range(4))
    signals = NodeSignals(gpus=healthy, healthy_ms=LONG_MS)
    judgement = judge(a_node(bad_gpus=(1, 7)), signals, POLICY)
    assert (judgement.verdict, judgement.bad_gpus) == (Verdict.OK, (1, 7))
    many = judge(a_node(bad_gpus=(0, 1, 2, 3)), signals, POLICY)
    assert many.verdict is Verdict.DRAIN_NODE


def test_a_gpu_comes_back_when_it_has_been_well_for_a_while() -> None:
    gpu = GpuSignals(index=3, drained_by_health=True)
    node = a_node(bad_gpus=(3,))
    assert judge(node, NodeSignals(gpus=(gpu,), healthy_ms=LONG_MS - 1), POLICY).bad_gpus == (3,)
    assert judge(node, NodeSignals(gpus=(gpu,), healthy_ms=LONG_MS), POLICY).bad_gpus == ()


def test_a_drained_node_must_do_better_than_just_enough_to_come_back() -> None:
    drained = a_node(state=NodeState.DRAINED)
    assert (
        judge(drained, slow_nic(900, drained_by_health=True, healthy_ms=LONG_MS), POLICY).verdict is Verdict.DRAIN_NODE
    )
    assert judge(drained, slow_nic(950, drained_by_health=True, healthy_ms=LONG_MS), POLICY).verdict is Verdict.OK
    warm = NodeSignals(throttled_milli=200, drained_by_health=True, healthy_ms=LONG_MS)
    assert judge(drained, warm, POLICY).verdict is Verdict.DRAIN_NODE


@pytest.mark.parametrize(
    ("state", "verdict"),
    [
        (NodeState.READY, Verdict.OK),
        (NodeState.SUSPECT, Verdict.SUSPECT),
        (NodeState.DOWN, Verdict.SUSPECT),
        (NodeState.DRAINING, Verdict.DRAIN_NODE),
        (NodeState.DRAINED, Verdict.DRAIN_NODE),
    ],
)
def test_health_must_last_before_it_counts(state: NodeState, verdict: Verdict) -> None:
    signals = NodeSignals(healthy_ms=LONG_MS - 1, drained_by_health=True)
    assert judge(a_node(state=state), signals, POLICY).verdict is verdict
    assert judge(a_node(state=state), replace(signals, healthy_ms=LONG_MS), POLICY).verdict is Verdict.OK


@pytest.mark.parametrize(
    ("before", "verdict", "by_health", "after"),
    [
        (NodeState.READY, Verdict.DRAIN_NODE, False, NodeState.DRAINING),
        (NodeState.READY, Verdict.SUSPECT, False, NodeState.SUSPECT),
        (NodeState.READY, Verdict.DOWN, False, NodeState.DOWN),
        (NodeState.SUSPECT, Verdict.OK, False, NodeState.READY),
        (NodeState.DRAINED, Verdict.DRAIN_NODE, True, NodeState.DRAINED),
        (NodeState.DRAINED, Verdict.OK, True, NodeState.READY),
        (NodeState.DRAINED, Verdict.OK, False, NodeState.DRAINED),
        (NodeState.DRAINING, Verdict.SUSPECT, False, NodeState.DRAINING),
        (NodeState.DRAINED, Verdict.DOWN, False, NodeState.DOWN),
    ],
)
def test_a_verdict_moves_a_node_unless_an_operator_has_put_it_where_it_is(
    before: NodeState, verdict: Verdict, by_health: bool, after: NodeState
) -> None:
    judgement = Judgement(node=NodeName("n1"), verdict=verdict)
    assert apply_verdict(a_node(state=before), judgement, drained_by_health=by_health).state is after


def judged(count: int, signals: NodeSignals) -> list[Judgement]:
    return [judge(a_node(f"n{number:04}"), signals, POLICY) for number in range(count)]


def test_one_bad_node_is_drained() -> None:
    assert guard(judged(1, slow_nic(1)), fleet=3, out=(), policy=POLICY)[0].verdict is Verdict.DRAIN_NODE


def test_a_symptom_of_every_node_drains_only_the_allowed_share() -> None:
    guarded = guard(judged(2_048, slow_nic(1)), fleet=2_048, out=(), policy=POLICY)
    assert sum(each.verdict is Verdict.DRAIN_NODE for each in guarded) == 2_048 * 50 // 1000
    assert all(each.verdict is Verdict.SUSPECT for each in guarded if each.is_withheld)
    assert "not taken out" in guarded[-1].because


def test_lost_heartbeats_of_every_node_are_not_believed() -> None:
    guarded = guard(judged(100, NodeSignals(heartbeat_age_ms=10**6)), fleet=100, out=(), policy=POLICY)
    assert [each.verdict for each in guarded].count(Verdict.DOWN) == 5


def test_nodes_that_are_out_already_count_and_keep_their_places() -> None:
    out = [(NodeName("n0002"), Symptom.NIC)]
    guarded = guard(judged(3, slow_nic(1)), fleet=3, out=out, policy=POLICY)
    assert [each.verdict for each in guarded] == [Verdict.SUSPECT, Verdict.SUSPECT, Verdict.DRAIN_NODE]


def test_other_symptoms_have_places_of_their_own() -> None:
    hot = judge(a_node("n2"), NodeSignals(throttled_milli=900), POLICY)
    slow = judge(a_node("n1"), slow_nic(1), POLICY)
    guarded = guard([hot, slow], fleet=10, out=(), policy=POLICY)
    assert [(each.node, each.verdict) for each in guarded] == [
        ("n1", Verdict.DRAIN_NODE),
        ("n2", Verdict.DRAIN_NODE),
    ]


def test_a_gpu_that_may_not_be_taken_out_goes_on_being_used() -> None:
    gpus = (GpuSignals(index=3, ecc_errors=1),)
    first, second = guard(judged(2, NodeSignals(gpus=gpus)), fleet=2, out=(), policy=POLICY)
    assert (first.verdict, first.bad_gpus) == (Verdict.DRAIN_GPU, (3,))
    assert (second.verdict, second.bad_gpus, second.is_withheld) == (Verdict.SUSPECT, (), True)


def test_nodes_on_their_way_back_need_no_place() -> None:
    recovering = [
        judge(a_node(f"n{number}", state=NodeState.DRAINED), NodeSignals(drained_by_health=True), POLICY)
        for number in range(3)
    ]
    guarded = guard(recovering, fleet=3, out=(), policy=POLICY)
    assert all(each.verdict is Verdict.DRAIN_NODE for each in guarded)
