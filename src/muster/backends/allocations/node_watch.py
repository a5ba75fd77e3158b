"""The nodes of engines: what each engine says of its nodes, as events for Muster.

A node that its engine drains is drained here, for the engine's reason, and is back when the engine resumes it. A node
that is down there is lost, unless an agent on it still talks. While an engine does not answer, its nodes take no new
work, and what runs there goes on.
"""

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from muster.backends.allocations.allocation import EngineAllocation
from muster.backends.allocations.engine import EngineNode
from muster.backends.allocations.link import AllocationLink
from muster.model.events import BY_ENGINE, NodeChanged, NodeLost, NodeReturned, NodeUnreachable, ObservedEvent
from muster.model.ids import EngineName, GpuType, NodeName
from muster.model.node import Node, NodeState
from muster.model.node_limits import ENGINE_NODES_S, ENGINE_SILENCE_S
from muster.model.records import evolve

Admit = Callable[[Sequence[Node]], Sequence[Node]]
"""From new nodes of an engine to those of them that the cluster takes in, as it has them from then on."""


@dataclass(slots=True, kw_only=True)
class _Watched:
    """A node as it was last told of."""

    node: Node
    address: str = ""
    because: str = ""
    is_told: bool = False
    is_lost: bool = False
    in_use: tuple[int, ...] = ()
    """GPUs that count as used by others, so that as many are left as the engine has free."""


class NodeWatch:
    """All nodes of all engines."""

    def __init__(
        self,
        tell: Callable[[ObservedEvent], None],
        posts_on: Callable[[NodeName], Sequence[AllocationLink]],
        admit: Admit,
    ) -> None:
        self._tell = tell
        self._posts_on = posts_on
        self._admit = admit
        self._nodes: dict[NodeName, _Watched] = {}
        self._heard_s: dict[EngineName, float] = {}
        """When each engine was last heard, by a monotonic clock."""
        self._asked_s: dict[EngineName, float] = {}

    def begin(self, nodes: Iterable[Node]) -> None:
        """These are there by the configuration, and by what their engines said at the start."""
        self._nodes = {node.name: _Watched(node=evolve(node, state=NodeState.READY)) for node in nodes}

    def knows(self, node: NodeName) -> bool:
        """True for a node of an engine."""
        return node in self._nodes

    def engine(self, node: NodeName) -> EngineName:
        """The engine of a node."""
        return self._nodes[node].node.engine

    def gpu_type(self, node: NodeName) -> GpuType:
        """What GPUs a node has."""
        return self._nodes[node].node.gpu_type

    def address(self, node: NodeName) -> str:
        """Where other nodes reach a node."""
        watched = self._nodes.get(node)
        return (watched.address if watched is not None else "") or str(node)

    def is_lost(self, node: NodeName) -> bool:
        """True while a node counts as gone."""
        watched = self._nodes.get(node)
        return watched is not None and watched.is_lost

    def is_due(self, engine: EngineName) -> bool:
        """True when it is time to ask about nodes again."""
        now_s = time.monotonic()
        if now_s - self._asked_s.get(engine, 0.0) < ENGINE_NODES_S:
            return False
        self._asked_s[engine] = now_s
        return True

    def lost(self, node: NodeName, because: str) -> None:
        """The engine has taken a node away from what ran there."""
        watched = self._nodes.get(node)
        if watched is not None and not watched.is_lost:
            watched.is_lost = True
            said = watched.because or because or "it is down"
            self._tell(NodeLost(at_ms=_now_ms(), node=node, because=f"{watched.node.engine}: {said}"))

    def silent(self, engine: EngineName, problem: str) -> None:
        """An engine does not answer. After a while its nodes take no new work."""
        now_s = time.monotonic()
        if now_s - self._heard_s.setdefault(engine, now_s) < ENGINE_SILENCE_S:
            return
        for watched in self._nodes.values():
            if watched.node.engine == engine and not watched.is_lost:
                self._show(watched, NodeState.DRAINING, problem)

    def looked(self, engine: EngineName, found: Iterable[EngineNode], allocations: Iterable[EngineAllocation]) -> None:
        """An engine has said how its nodes are."""
        self._heard_s[engine] = time.monotonic()
        living = [each for each in allocations if not each.is_over]
        seen = {each.node.name: each for each in found}
        new = [each for name, each in seen.items() if name not in self._nodes]
        self._join([each for each in new if each.node.state is not NodeState.DOWN])
        for name, watched in self._nodes.items():
            if watched.node.engine == engine:
                each = seen.get(name)
                if each is None:
                    self._missed(watched, "its engine does not have it any more")
                else:
                    watched.address = each.address
                    self._see(watched, each, [allocation for allocation in living if name in allocation.nodes])

    def _join(self, found: Sequence[EngineNode]) -> None:
        """An engine has nodes that it did not have before. With the look at all nodes they are told of."""
        if found:
            addresses = {each.node.name: each.address for each in found}
            for node in self._admit([each.node for each in found]):
                self._nodes[node.name] = _Watched(node=node, address=addresses[node.name])

    def _see(self, watched: _Watched, now: EngineNode, allocations: list[EngineAllocation]) -> None:
        if now.node.state is NodeState.DOWN:
            self._missed(watched, now.because)
            return
        if watched.is_lost:
            watched.is_lost = False
            back = NodeReturned(at_ms=_now_ms(), node=watched.node.name, because=f"{watched.node.engine} has it back")
            self._tell(back)
        watched.in_use = _in_use(watched, now, allocations)
        self._show(watched, now.node.state, now.because, labels=now.node.labels)

    def _missed(self, watched: _Watched, because: str) -> None:
        """The engine cannot use a node. Whether Muster has lost it, its posts say."""
        name, posts = watched.node.name, self._posts_on(watched.node.name)
        if watched.is_lost:
            return
        if any(link.is_up or link.is_awaited for link in posts):
            self._show(watched, NodeState.DRAINING, because)
            return
        watched.because = because
        if posts:
            self.lost(name, because)
        else:
            watched.is_lost = True
            said = f"{watched.node.engine}: {because or 'it is down'}"
            self._tell(NodeUnreachable(at_ms=_now_ms(), node=name, because=said))

    def _show(self, watched: _Watched, state: NodeState, because: str, labels: tuple[str, ...] | None = None) -> None:
        """Tell of a node if anything about it has changed."""
        node = evolve(
            watched.node,
            state=state,
            labels=watched.node.labels if labels is None else labels,
            used_by_others=watched.in_use,
        )
        if watched.is_told and node == watched.node and because == watched.because:
            return
        watched.node, watched.because, watched.is_told = node, because, True
        said = because or (f"{len(watched.in_use)} of its GPUs are used by others" if watched.in_use else "")
        self._tell(NodeChanged(at_ms=_now_ms(), node=node, because=said, by=f"{BY_ENGINE}{node.engine}"))


def _in_use(watched: _Watched, now: EngineNode, allocations: list[EngineAllocation]) -> tuple[int, ...]:
    """GPUs that are to count as used by others' jobs: as many as those have, with numbers that Muster uses for none.

    While an allocation of Muster comes or goes, whose GPUs are in use is not known, and nothing changes.
    """
    if any(not each.is_settled_on(watched.node.name) for each in allocations):
        return watched.in_use
    own = {gpu for each in allocations for gpu in each.devices(watched.node.name)}
    others = max(now.gpus_used - len(own), 0)
    free = [gpu for gpu in range(watched.node.gpus) if gpu not in own]
    return tuple(free[len(free) - others :]) if others else ()


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
