"""What is made of what an engine says of its nodes, and of the GPUs there."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from muster.backends.allocations import link as link_module
from muster.backends.allocations.engine import (
    AllocationPhase,
)
from muster.model.events import (
    NodeChanged,
    NodeLost,
    NodeReturned,
    NodeUnreachable,
)
from muster.model.ids import JobId, NodeName
from muster.model.instructions import StartWorkers
from muster.model.node import Node, NodeState
from muster.model.records import evolve
from tests.unit.backends.allocations.desk import HPC, Desk, PretendedEngine
from tests.unit.core.lifecycle.builders import a_gang, a_spec


def test_nodes_follow_their_engine(desk: Callable[[], Desk], engine: PretendedEngine) -> None:
    one = desk()
    one.round(nodes=True)
    engine.states["n0"] = NodeState.DRAINING
    (drained,) = one.round(nodes=True)
    assert isinstance(drained, NodeChanged)
    assert (drained.node.name, drained.node.state, drained.by) == ("n0", NodeState.DRAINING, "engine hpc")
    engine.states["n0"] = NodeState.DOWN
    (gone,) = one.round(nodes=True)
    assert isinstance(gone, NodeUnreachable)
    assert gone.because == "hpc: fan is loud"
    engine.states["n0"] = NodeState.READY
    back, ready = one.round(nodes=True)
    assert isinstance(back, NodeReturned)
    assert isinstance(ready, NodeChanged)
    assert ready.node.state is NodeState.READY


def test_a_node_that_joins_later_is_told_of_once_it_is_up(desk: Callable[[], Desk], engine: PretendedEngine) -> None:
    one = desk()
    one.round(nodes=True)
    engine.more = [Node(name=NodeName(name), gpus=8, engine=HPC) for name in ("n9", "taken")]
    engine.states |= {"n9": NodeState.DOWN, "taken": NodeState.READY}
    assert one.round(nodes=True) == []
    engine.states["n9"] = NodeState.READY
    (new,) = one.round(nodes=True)
    assert isinstance(new, NodeChanged)
    assert (new.node.name, new.node.domains, new.node.state) == ("n9", ("r1",), NodeState.READY)
    assert one.allocations.provide(a_start("job-7", 0, "n9")) == {}
    one.round()
    assert engine.requests[-1].shares[0].nodes == ("n9",)


def a_start(job: str, rank: int, node: str) -> StartWorkers:
    workers = tuple(evolve(each, node=NodeName(node)) for each in a_gang(2) if each.rank == rank)
    return StartWorkers(job=JobId(job), attempt=1, generation=1, spec=a_spec(), workers=workers, gang=workers)


def test_gpus_are_in_use_on_their_own_node_only(desk: Callable[[], Desk], engine: PretendedEngine) -> None:
    one = desk()
    assert one.allocations.provide(a_start("job-7", 0, "n0")) == {}
    assert one.allocations.provide(a_start("job-8", 0, "n1")) == {}
    assert "is in use by job-7" in one.allocations.provide(a_start("job-9", 0, "n0"))[0]


def running_on(engine: PretendedEngine, *nodes: str, over: tuple[str, ...] = ()) -> None:
    """From now on, the engine has these nodes of the allocation, and on some it is over."""
    engine.says(AllocationPhase.RUNNING)
    named, ended = tuple(map(NodeName, nodes)), tuple(map(NodeName, over))
    engine.seen[-1] = replace(engine.seen[-1], nodes=named, over=ended)


def test_an_agent_has_the_time_to_connect_before_its_node_is_lost(
    desk: Callable[[], Desk], engine: PretendedEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = desk()
    one.start()
    one.round(nodes=True)
    running_on(engine, "n0")
    engine.states["n1"] = NodeState.DRAINING
    one.round(nodes=True)
    engine.states["n1"], engine.because = NodeState.DOWN, "fan stands"
    told = one.round(nodes=True)
    said = [event for event in told if isinstance(event, NodeChanged) and event.node.name == "n1"]
    assert [(event.node.state, event.because) for event in said] == [(NodeState.DRAINING, "fan stands")]
    assert not [event for event in told if isinstance(event, NodeLost)]
    monkeypatch.setattr(link_module, "AGENT_RETURN_S", 0.0)
    assert [event.node for event in one.round(nodes=True) if isinstance(event, NodeLost)] == ["n1"]


def test_an_allocation_that_has_lost_all_of_its_nodes_is_over(
    desk: Callable[[], Desk], engine: PretendedEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(link_module, "AGENT_RETURN_S", 0.0)
    one = desk()
    one.start()
    one.round()
    running_on(engine)
    assert {event.node for event in one.round() if isinstance(event, NodeLost)} == {"n0", "n1"}
    one.start(attempt=2, generation=2)
    engine.states = dict.fromkeys(("n0", "n1"), NodeState.READY)
    (allocation,) = [each for each in one.allocations._register.by_id.values() if each.attempt == 1]
    assert allocation.is_over
    running_on(engine, "n0", "n1")  # they are back, and it still runs there
    one.round()
    assert "1" in engine.cancelled


def test_an_allocation_whose_nodes_are_lost_or_done_is_over(
    desk: Callable[[], Desk], engine: PretendedEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(link_module, "AGENT_RETURN_S", 0.0)
    one = desk()
    one.start()
    one.round()
    running_on(engine, "n0", over=("n1",))
    one.round()
    (allocation,) = one.allocations._register.by_id.values()
    assert not allocation.is_over
    running_on(engine, over=("n1",))
    assert [event.node for event in one.round() if isinstance(event, NodeLost)] == ["n0"]
    assert allocation.is_over
