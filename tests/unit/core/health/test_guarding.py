"""The guard: never more out of service than may be, whatever the signals say."""

from collections.abc import Sequence

from muster.core.health import NodeCase, Wish, guarded, wish
from muster.model.events import HEALTH
from muster.model.ids import PoolName
from muster.model.node import Node, NodeState
from muster.model.records import evolve
from tests.unit.core.health.builders import NOW_MS, POLICY, a_case, a_finding


def decided(cases: Sequence[NodeCase], *, others: int = 0) -> tuple[Wish, ...]:
    """What becomes of these nodes beside others that are well."""
    more = [a_case(name=f"w{number}").node for number in range(others)]
    nodes: list[Node] = [*(case.node for case in cases), *more]
    by = [*(case.set_aside_by for case in cases), *(None for _ in more)]
    return guarded([wish(case, POLICY, NOW_MS) for case in cases], nodes, by, POLICY)


def states(wishes: Sequence[Wish]) -> list[str]:
    return [each.state.value for each in wishes]


def test_at_least_one_node_may_go_and_the_first_one_to_fail_goes() -> None:
    late, early = a_case(a_finding(evidence_ms=9), name="n1"), a_case(a_finding(evidence_ms=3), name="n2")
    allowed = decided([late, early], others=2)
    assert states(allowed) == ["suspect", "draining"]
    assert "stays in service: 1 of 4 nodes of pool main are out" in allowed[0].because


def test_the_share_is_rounded_down() -> None:
    cases = [a_case(a_finding(), name=f"n{number}") for number in range(5)]
    assert states(decided(cases, others=9)).count("draining") == 2
    assert states(decided(cases, others=10)).count("draining") == 3


def test_nodes_that_are_out_keep_their_places_also_when_they_are_down() -> None:
    for state in (NodeState.DRAINED, NodeState.PROBATION, NodeState.DOWN):
        out = a_case(name="n1", state=state, set_aside_by=HEALTH)
        assert states(decided([out, a_case(a_finding(), name="n2")], others=2))[1] == "suspect"


def test_a_node_that_an_operator_took_out_takes_no_place() -> None:
    out = a_case(name="n1", state=NodeState.DRAINED, set_aside_by="ann")
    assert states(decided([out, a_case(a_finding(), name="n2")], others=2))[1] == "draining"


def test_each_pool_has_its_own_places() -> None:
    case = a_case(a_finding(), name="n1")
    spot = NodeCase(node=evolve(case.node, pool=PoolName("spot")), findings=case.findings)
    assert states(decided([case, spot])) == ["draining", "draining"]


def test_single_gpus_are_guarded_too() -> None:
    cases = [a_case(a_finding(gpu=number), name=f"n{number}", gpus=2) for number in (0, 1)]
    third = a_case(a_finding(gpu=0, evidence_ms=7), name="n3", gpus=2)
    allowed = decided([*cases, third])
    assert [each.bad_gpus for each in allowed] == [(0,), (1,), ()]
    assert "GPUs of pool main are out" in allowed[2].because
    assert allowed[2].state is NodeState.SUSPECT


def test_a_node_that_may_not_drain_does_not_lose_its_gpus_one_by_one() -> None:
    out = a_case(name="n1", state=NodeState.DRAINED, gpus=2)
    ill = a_case(a_finding(gpu=0), a_finding(gpu=1), name="n2", gpus=2)
    allowed = decided([out, ill], others=2)
    assert (allowed[1].state, allowed[1].bad_gpus) == (NodeState.SUSPECT, ())


def test_a_node_with_other_ills_that_may_not_drain_still_loses_a_bad_gpu() -> None:
    out = a_case(name="n1", state=NodeState.DRAINED)
    ill = a_case(a_finding(), a_finding(gpu=1), name="n2")
    assert decided([out, ill], others=2)[1].bad_gpus == (1,)


def test_a_node_returns_with_bad_gpus_only_while_so_many_may_be_out() -> None:
    back = a_case(name="n1", state=NodeState.PROBATION, gpus=4, bad_gpus=(0,), well_ms=0)
    for bad, state in ((3, NodeState.READY), (4, NodeState.PROBATION)):
        other = a_case(name="n2", gpus=4, bad_gpus=tuple(range(bad)))
        nodes = [back.node, other.node]
        (allowed,) = guarded([wish(back, POLICY, NOW_MS)], nodes, [HEALTH, None], POLICY)
        assert allowed.state is state
        assert ("waits until they are well" in allowed.waits) == (state is NodeState.PROBATION)


def test_bad_gpus_of_a_node_that_comes_back_by_itself_count() -> None:
    down = evolve(a_case(name="n1", gpus=2, bad_gpus=(0, 1)).node, state=NodeState.DOWN)
    ill = wish(a_case(a_finding(gpu=0), name="n2", gpus=2), POLICY, NOW_MS)
    for by, bad_gpus in ((None, ()), (HEALTH, (0,))):
        (allowed,) = guarded([ill], [down, ill.case.node], [by, None], POLICY)
        assert allowed.bad_gpus == bad_gpus
