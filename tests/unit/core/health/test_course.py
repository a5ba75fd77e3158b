"""What becomes of a node: each state, each way out of it."""

from dataclasses import replace

import pytest

from muster.core.health import HealthPolicy, LastTest, Severity, wish
from muster.core.health.course import OFFENCES_MS, PENALTY_MOST, penalty
from muster.model.node import HealthRecord, NodeState
from tests.unit.core.health.builders import NOW_MS, POLICY, a_case, a_finding

TESTED = HealthPolicy(every_ms=10_000, is_tested=True)
CLEAR_MS = POLICY.clear_ms
PASSED = LastTest(at_ms=NOW_MS, is_passed=True)


def test_a_bad_node_drains_a_suspect_one_is_suspected_and_a_good_one_is_left_alone() -> None:
    assert wish(a_case(a_finding()), POLICY, NOW_MS).state is NodeState.DRAINING
    suspected = wish(a_case(a_finding(Severity.SUSPECT)), POLICY, NOW_MS)
    assert (suspected.state, suspected.because) == (NodeState.SUSPECT, "burns")
    assert not wish(a_case(), POLICY, NOW_MS).is_change


def test_a_node_that_others_suspect_stays_suspect_for_as_long_as_it_takes_to_count_as_well() -> None:
    case = a_case(state=NodeState.SUSPECT, entered_ms=NOW_MS)
    assert not wish(case, POLICY, NOW_MS + CLEAR_MS - 1).is_change
    assert wish(case, POLICY, NOW_MS + CLEAR_MS).state is NodeState.READY


def test_a_bad_gpu_takes_out_that_gpu_and_the_node_stays() -> None:
    wanted = wish(a_case(a_finding(gpu=3), a_finding(Severity.SUSPECT, gpu=3)), POLICY, NOW_MS)
    assert (wanted.state, wanted.bad_gpus, wanted.because) == (NodeState.READY, (3,), "GPU 3: burns")


def test_a_gpu_that_the_node_does_not_have_is_no_reason() -> None:
    assert wish(a_case(a_finding(gpu=9)), POLICY, NOW_MS).bad_gpus == ()


@pytest.mark.parametrize(("bad", "state"), [(3, NodeState.READY), (4, NodeState.DRAINING)])
def test_many_bad_gpus_drain_the_node(bad: int, state: NodeState) -> None:
    assert wish(a_case(*(a_finding(gpu=gpu) for gpu in range(bad))), POLICY, NOW_MS).state is state


def test_many_gpus_that_were_bad_before_keep_a_node_out() -> None:
    case = a_case(
        state=NodeState.DRAINED, bad_gpus=(0, 1, 2, 3), well_ms=0, gpus_well_ms=dict.fromkeys(range(4), NOW_MS)
    )
    assert wish(case, POLICY, NOW_MS).because == "4 of 8 GPUs are bad"


def test_a_gpu_returns_when_it_was_well_for_long_enough() -> None:
    for well_for_ms, staying in ((CLEAR_MS - 1, (3,)), (CLEAR_MS, ())):
        case = a_case(bad_gpus=(3,), gpus_well_ms={3: NOW_MS - well_for_ms})
        assert wish(case, POLICY, NOW_MS).bad_gpus == staying
    assert wish(a_case(bad_gpus=(3,)), POLICY, NOW_MS).bad_gpus == (3,)


@pytest.mark.parametrize("state", [NodeState.DRAINING, NodeState.DOWN])
def test_what_others_decide_is_left_to_them(state: NodeState) -> None:
    assert wish(a_case(a_finding(), state=state), POLICY, NOW_MS).state is state


def test_a_node_that_an_operator_drained_stays_drained() -> None:
    case = a_case(state=NodeState.DRAINED, set_aside_by="ann", well_ms=0)
    assert wish(case, POLICY, NOW_MS).state is NodeState.DRAINED
    assert wish(replace(case, set_aside_by=None), POLICY, NOW_MS).state is NodeState.DRAINED


def test_a_drained_node_waits_until_it_was_well_and_then_goes_on_probation() -> None:
    case = a_case(state=NodeState.DRAINED, well_ms=NOW_MS - CLEAR_MS + 1_000)
    waiting = wish(case, POLICY, NOW_MS)
    assert (waiting.state, waiting.waits) == (NodeState.DRAINED, "well for 59 s of 60 s")
    after = wish(case, POLICY, NOW_MS + 1_000)
    assert (after.state, after.because) == (NodeState.PROBATION, "is well again, and stays on probation for 60 s")
    assert wish(replace(case, well_ms=None), POLICY, NOW_MS).state is NodeState.DRAINED
    assert wish(replace(case, findings=(a_finding(),)), POLICY, NOW_MS).state is NodeState.DRAINED


def test_a_node_is_tested_before_it_returns() -> None:
    case = a_case(state=NodeState.DRAINED, well_ms=NOW_MS)
    asked = wish(case, TESTED, NOW_MS)
    assert (asked.wants_test, asked.waits) == (True, "is being tested")
    assert wish(replace(case, last_test=PASSED), TESTED, NOW_MS).state is NodeState.PROBATION


def test_a_node_that_fails_its_test_is_tested_again_later_and_later() -> None:
    for failures, pause_ms in ((1, CLEAR_MS), (2, 2 * CLEAR_MS), (20, PENALTY_MOST * CLEAR_MS)):
        last_test = LastTest(at_ms=NOW_MS, is_passed=False, problem="exit code 3", failures=failures)
        case = a_case(state=NodeState.DRAINED, well_ms=NOW_MS, last_test=last_test)
        waiting = wish(case, TESTED, NOW_MS + pause_ms - 1_000)
        assert (waiting.wants_test, waiting.waits) == (False, "its test failed (exit code 3); tested again in 1 s")
        assert wish(case, TESTED, NOW_MS + pause_ms).wants_test


def test_probation_ends_in_service_or_where_it_began() -> None:
    case = a_case(state=NodeState.PROBATION, entered_ms=NOW_MS - CLEAR_MS + 5_000, well_ms=0)
    assert wish(case, POLICY, NOW_MS).waits == "takes work again in 5 s"
    back = wish(case, POLICY, NOW_MS + 5_000)
    assert (back.state, "60 s of probation" in back.because) == (NodeState.READY, True)
    assert wish(replace(case, findings=(a_finding(),)), POLICY, NOW_MS).state is NodeState.DRAINING
    mild = replace(case, findings=(a_finding(Severity.SUSPECT),))
    assert wish(mild, POLICY, NOW_MS + CLEAR_MS).state is NodeState.PROBATION
    assert wish(replace(case, well_ms=None), POLICY, NOW_MS + CLEAR_MS).state is NodeState.PROBATION


@pytest.mark.parametrize(("verdicts", "times"), [(0, 1), (1, 1), (2, 2), (4, 8), (8, PENALTY_MOST)])
def test_each_return_of_a_repeat_offender_takes_longer_and_it_says_so(verdicts: int, times: int) -> None:
    case = a_case(a_finding(), verdicts=verdicts)
    assert penalty(case.record, NOW_MS) == times
    assert ("its return takes" in wish(case, POLICY, NOW_MS).because) == (verdicts > 0)
    gpu = a_case(a_finding(gpu=1), verdicts=verdicts)
    assert ("its return takes" in wish(gpu, POLICY, NOW_MS).because) == (verdicts > 0)


def test_old_verdicts_are_forgiven() -> None:
    assert penalty(HealthRecord(verdicts_ms=(0, NOW_MS - OFFENCES_MS, NOW_MS)), NOW_MS) == 1
