"""What becomes of an allocation is what all of its keepers say together, and silence proves nothing."""

from typing import Any

import pytest

from muster.backends.allocations.engine import AllocationId, AllocationPhase, SeenAllocation
from muster.backends.ray.nodes import nodes_told
from muster.backends.ray.seen import seen_allocations, to_end
from muster.model.ids import NodeName
from muster.model.job import Cause
from tests.unit.backends.ray.builders import a_keeper, a_node, an_entry

ID = AllocationId("ab12")
N0, N1 = NodeName("n0"), NodeName("n1")
BOOKED = {ID: (N0, N1)}
ORDERLY = an_entry("ended", is_orderly=True)
KILLED = an_entry("ended")


def rows(*entries: Any) -> list[dict[str, Any]]:
    """The nodes n0, n1, … each with what is said of the allocation there, or in another state."""
    found = []
    for number, entry in enumerate(entries):
        name = f"n{number}"
        if entry == "gone":
            found.append(a_node(name, alive=False, keeper=None))
        elif entry == "unheard":
            found.append(a_node(name, keeper=None))
        elif entry != "unknown":
            found.append(a_node(name, keeper=a_keeper(*([] if entry is None else [entry]))))
    return found


def look(*entries: Any, booked: dict[AllocationId, tuple[NodeName, ...]] | None = None) -> SeenAllocation | None:
    found = seen_allocations(nodes_told(rows(*entries)), BOOKED if booked is None else booked)
    return found[0] if found else None


@pytest.mark.parametrize(
    ("first", "second", "phase", "nodes", "over"),
    [
        (an_entry(), an_entry(), "running", (N0, N1), ()),
        (an_entry("waiting"), an_entry(), "waiting", (N0, N1), ()),
        (an_entry("ending"), an_entry(), "ending", (N0, N1), ()),
        (ORDERLY, an_entry(), "running", (N1,), (N0,)),
        (ORDERLY, an_entry("waiting"), "running", (N1,), (N0,)),
        (KILLED, an_entry(), "running", (N1,), ()),
        (ORDERLY, KILLED, "ended", (), (N0,)),
        (an_entry(), None, "ending", (N0,), (N1,)),
        (ORDERLY, None, "ended", (), (N1, N0)),
        (an_entry(), "unheard", "running", (N0, N1), ()),
        (an_entry(), "gone", "running", (N0,), ()),
        (an_entry(), "unknown", "running", (N0,), ()),
        (ORDERLY, "gone", "running", (), (N0,)),
        (ORDERLY, "unheard", "running", (N1,), (N0,)),
        ("gone", "gone", "running", (), ()),
        ("unheard", "unheard", "running", (N0, N1), ()),
        (None, "gone", "running", (), (N0,)),
        (None, "unheard", "running", (N1,), (N0,)),
    ],
)
def test_an_allocation_is_what_its_nodes_are(
    first: Any, second: Any, phase: str, nodes: tuple[NodeName, ...], over: tuple[NodeName, ...]
) -> None:
    seen = look(first, second)
    assert seen is not None
    assert (seen.id, seen.engine_id) == (ID, "ab12")
    assert (seen.phase, seen.nodes, seen.over) == (AllocationPhase(phase), nodes, over)
    assert seen.cause is None


def test_what_no_keeper_has_is_not_there() -> None:
    assert look(None, None) is None


def test_what_a_keeper_has_and_nobody_has_written_down_is_told_all_the_same() -> None:
    seen = look(an_entry(), an_entry(), booked={})
    assert seen is not None
    assert seen.phase is AllocationPhase.RUNNING


def test_the_keeper_of_a_node_that_is_dead_is_not_believed() -> None:
    old = a_node("n1", alive=False, keeper=a_keeper(an_entry("ended")))
    (seen,) = seen_allocations(nodes_told([a_node("n0", keeper=a_keeper(an_entry())), old]), BOOKED)
    assert seen.phase is AllocationPhase.RUNNING


@pytest.mark.parametrize(
    ("first", "second", "because"),
    [
        (an_entry(), an_entry(), ""),
        (an_entry("waiting"), an_entry(), "it waits for GPUs of n0"),
        (an_entry(), None, "n1 did not begin it, or lost it"),
        (an_entry(), KILLED, "its agent on n1 was ended"),
        (an_entry(), "gone", "Ray does not reach n1"),
        ("unheard", "gone", "Ray does not reach n1, n0"),
    ],
)
def test_people_are_told_why(first: Any, second: Any, because: str) -> None:
    seen = look(first, second)
    assert seen is not None
    assert seen.because == because


def test_what_was_ended_because_its_time_was_over_has_that_cause() -> None:
    seen = look(an_entry("ended", is_overdue=True), KILLED)
    assert seen is not None
    assert (seen.cause, seen.because) == (Cause.TIMEOUT, "it was not over when its time was")


@pytest.mark.parametrize(
    ("first", "second", "unwanted", "told"),
    [
        (an_entry(), an_entry(), [], []),
        (an_entry(), an_entry(), [ID], [ID]),
        (an_entry("waiting"), ORDERLY, [ID], [ID]),
        (an_entry("ending"), an_entry("ending"), [ID], []),
        (an_entry(), None, [], [ID]),
        (an_entry("ending"), None, [], []),
        (ORDERLY, None, [ID], []),
    ],
)
def test_what_is_unwanted_or_only_half_there_is_told_to_end_until_it_does(
    first: Any, second: Any, unwanted: list[AllocationId], told: list[AllocationId]
) -> None:
    assert list(to_end(nodes_told(rows(first, second)), unwanted)) == told
