"""The nodes that engines have, joined with those that are described."""

from pathlib import Path

import pytest

from muster.backends.allocations.allocation import EngineAllocation
from muster.backends.allocations.book import AllocationBook
from muster.backends.allocations.engine import (
    AllocationId,
    AllocationRequest,
    EngineNode,
    EngineSilent,
    SeenAllocation,
)
from muster.live import engine_nodes
from muster.live.engine_nodes import EngineUse, Newcomers, with_engine_nodes
from muster.live.layout import NOTHING, Layout
from muster.model.ids import DEFAULT_POOL, ENGINE_LEVEL, EngineName, JobId, LevelName, NodeName
from muster.model.job import Worker
from muster.model.node import ClusterSpec, Node
from muster.private_files import write_private


class PretendedEngine:
    """Has some nodes, or does not answer."""

    runs_images = False

    def __init__(self, name: str, *domains: tuple[str, ...]) -> None:
        self.name = EngineName(name)
        self.is_silent = False
        self._nodes = tuple(
            EngineNode(
                node=Node(
                    name=NodeName(f"{name}-{number}"),
                    gpus=8,
                    domains=each,
                    engine=self.name,
                    labels=("ib",),
                    whole_gpus=True,
                ),
                address="10.0.0.1",
            )
            for number, each in enumerate(domains)
        )

    def inventory(self) -> tuple[EngineNode, ...]:
        if self.is_silent:
            raise EngineSilent("it hangs")
        return self._nodes

    def address(self, allocation: AllocationId, node: NodeName) -> str:
        raise NotImplementedError

    def submit(self, request: AllocationRequest) -> str:
        raise NotImplementedError

    def cancel(self, engine_id: str) -> None:
        raise NotImplementedError

    def look(self) -> tuple[SeenAllocation, ...]:
        raise NotImplementedError

    def close(self) -> None:
        pass


def joined(home: Path, *uses: tuple[PretendedEngine, tuple[str, ...]]) -> Layout:
    """What becomes of a server that describes no nodes, over these engines with the names of their levels."""
    found = [EngineUse(engine=engine, pool=DEFAULT_POOL, levels=tuple(map(LevelName, names))) for engine, names in uses]
    return with_engine_nodes(Layout(cluster=ClusterSpec(), text=NOTHING), found, home)


def test_the_switch_above_everything_is_left_out_unless_it_is_named(tmp_path: Path) -> None:
    engine = PretendedEngine("a", ("root", "s1"), ("root", "s2"))
    assert joined(tmp_path, (engine, ("rack",))).cluster.levels == ("rack",)
    assert joined(tmp_path, (engine, ("block", "rack"))).cluster.levels == ("block", "rack")
    assert joined(tmp_path, (engine, ())).cluster.levels == ("switch",)


def test_engines_that_name_the_same_levels_share_them(tmp_path: Path) -> None:
    deep, flat = PretendedEngine("a", ("b1", "r1"), ("b2", "r2")), PretendedEngine("b", ("r3",))
    cluster = joined(tmp_path, (deep, ("block", "rack")), (flat, ("rack",))).cluster
    assert cluster.levels[1:] == ("block", "rack")
    assert [node.domains[1:] for node in cluster.nodes] == [("b1", "r1"), ("b2", "r2"), ("b", "r3")]


def test_an_engine_that_does_not_answer_has_the_nodes_that_it_had_last(tmp_path: Path) -> None:
    engine = PretendedEngine("a", ("r1",), ("r2",))
    before = joined(tmp_path, (engine, ("rack",))).cluster
    engine.is_silent = True
    now = joined(tmp_path, (engine, ("rack",)))
    assert now.cluster == before
    assert now.notes == ("engine a: it hangs; its 2 nodes are those that it had last",)


def names(layout: Layout) -> list[str]:
    return [str(node.name) for node in layout.cluster.nodes]


def test_a_node_that_is_away_stays_while_something_may_run_there(tmp_path: Path) -> None:
    joined(tmp_path, (PretendedEngine("a", ("r1",), ("r2",), ("r3",)), ()))
    one = PretendedEngine("a", ("r1",))
    worker = Worker(rank=0, role="worker", node=NodeName("a-1"), gpus=(0,))
    allocation = EngineAllocation(
        id=AllocationId("ab12"), engine=one.name, job=JobId("job-1"), attempt=1, workers=(worker,)
    )
    AllocationBook(tmp_path).note(allocation)
    assert names(joined(tmp_path, (one, ()))) == ["a-0", "a-1"]
    assert names(joined(tmp_path, (one, ()))) == ["a-0", "a-1"]  # at the next start, too
    AllocationBook(tmp_path).forget(allocation.id)
    assert names(joined(tmp_path, (one, ()))) == ["a-0"]


def test_a_level_that_somebody_has_named_is_there_whatever_the_nodes_are(tmp_path: Path) -> None:
    assert joined(tmp_path, (PretendedEngine("a", ("r1",), ("r1",)), ("rack",))).cluster.levels == ("rack",)
    assert joined(tmp_path, (PretendedEngine("a"), ("rack",))).cluster.levels == ("rack",)


def test_a_level_that_nobody_has_named_and_that_says_nothing_is_left_out(tmp_path: Path) -> None:
    assert joined(tmp_path, (PretendedEngine("a", ("r1",), ("r1",)), ())).cluster.levels == ()
    assert joined(tmp_path, (PretendedEngine("a", ("r1",), ("r2",)), ())).cluster.levels == ("switch",)


def a_newcomer(name: str, engine: PretendedEngine, *domains: str) -> Node:
    return Node(name=NodeName(name), gpus=8, domains=domains, engine=engine.name)


def test_a_node_that_joins_later_is_below_the_levels_of_the_cluster_and_there_at_the_next_start(tmp_path: Path) -> None:
    one, other = PretendedEngine("a", ("r1",), ("r2",)), PretendedEngine("b", ("r3",))
    uses = [EngineUse(engine=each, pool=DEFAULT_POOL, levels=(LevelName("rack"),)) for each in (one, other)]
    cluster = joined(tmp_path, (one, ("rack",)), (other, ("rack",))).cluster
    admit = Newcomers(cluster, uses, tmp_path)
    (joining,) = admit([a_newcomer("a-9", one, "root", "r4")])
    assert joining.domains == ("a", "r4")
    assert admit([a_newcomer("a-1", other, "r1")]) == []  # another engine has this name
    one.is_silent = True
    assert names(joined(tmp_path, (one, ("rack",)), (other, ("rack",)))) == ["a-0", "a-1", "a-9", "b-0"]


def test_nodes_that_join_together_are_kept_at_once_and_never_too_many(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine_nodes, "NODES_PER_CLUSTER", 4)
    written: list[Path] = []

    def note(path: Path, text: str) -> None:
        written.append(path)
        write_private(path, text)

    monkeypatch.setattr(engine_nodes, "write_private", note)
    one = PretendedEngine("a", ("r1",), ("r2",))
    cluster = joined(tmp_path, (one, ())).cluster
    admit = Newcomers(cluster, [EngineUse(engine=one, pool=DEFAULT_POOL)], tmp_path)
    written.clear()
    joining = admit([a_newcomer(f"a-{number}", one, "r1") for number in range(2, 8)])
    assert [node.name for node in joining] == ["a-2", "a-3"]
    assert len(written) == 1
    one.is_silent = True
    assert names(joined(tmp_path, (one, ()))) == ["a-0", "a-1", "a-2", "a-3"]


def test_an_engine_that_was_never_heard_has_its_place_in_the_topology_all_the_same(tmp_path: Path) -> None:
    one, silent = PretendedEngine("a", ("r1",)), PretendedEngine("b", ("r3",))
    silent.is_silent = True
    layout = joined(tmp_path, (one, ("rack",)), (silent, ("rack",)))
    assert layout.cluster.levels == (ENGINE_LEVEL, "rack")
    assert layout.notes == ("engine b: it hangs; its nodes join once it answers",)
