"""What happens to the nodes of a replay, and when. It is drawn from rates and a seed, the same for every policy.

Nodes fail and are repaired, sometimes a whole rack at a time. Single GPUs break. Nodes straggle. Spot nodes are
reclaimed after a notice. While a node is away, only its bad GPUs are replaced. When it is back, all its clocks start
anew. Nothing depends on what runs on a node, so two policies with the same seed see the same node faults.
"""

import heapq
from collections.abc import Container, Iterable
from enum import Enum, auto
from random import Random
from typing import assert_never

from muster.estimates.training import PARTS
from muster.model.ids import NodeName, PoolName
from muster.model.node import Node, NodeState
from muster.model.records import evolve
from muster.sim.faults import FaultRates
from muster.sim.world import World


class Incident(Enum):
    """What happens to a node."""

    FAILS = auto()
    RETURNS = auto()
    GPU_BREAKS = auto()
    GPU_MENDED = auto()
    SLOWS = auto()
    RECOVERS = auto()
    NOTICE = auto()
    LAST_SAVE = auto()
    RECLAIMED = auto()


class NodeFaults:
    """The incidents of all nodes in the order of time; they never end."""

    def __init__(self, rates: FaultRates, nodes: Iterable[Node], spot: Container[PoolName], seed: int) -> None:
        self._rates = rates
        self._chance = Random(f"weather {seed}")
        self._coming: list[tuple[int, int, Incident, NodeName, int, int]] = []
        self._drawn = 0
        self._spot = spot
        self._spells = {node.name: 0 for node in nodes}
        """How often each node has gone or come back. A node is away when the number is odd."""
        self._neighbours: dict[tuple[str, ...], list[NodeName]] = {}
        self._domain = {node.name: node.domains for node in nodes}
        self._gpus = {node.name: node.gpus for node in nodes}
        for node in nodes:
            if node.domains:
                self._neighbours.setdefault(node.domains, []).append(node.name)
            self._start_clocks(0, node)

    @property
    def next_ms(self) -> int | None:
        """When the next incident happens."""
        return self._coming[0][0] if self._coming else None

    def befall(self, world: World, now_ms: int) -> None:
        """Let the incidents that are due happen to the world, and draw those that follow."""
        while self._coming and self._coming[0][0] <= now_ms:
            at_ms, _, incident, name, what, spell = heapq.heappop(self._coming)
            # GPUs are replaced in any case. All other incidents of a node are void once it goes.
            if spell == self._spells[name] or incident is Incident.GPU_MENDED:
                self._happen(world, at_ms, incident, name, what)

    def _happen(self, world: World, at_ms: int, incident: Incident, name: NodeName, what: int) -> None:
        match incident:
            case Incident.FAILS:
                self._fail(world, at_ms, name)
            case Incident.RETURNS:
                self._return(world, at_ms, name)
            case Incident.GPU_BREAKS | Incident.GPU_MENDED:
                self._change_gpu(world, at_ms, incident, name, what)
            case Incident.SLOWS | Incident.RECOVERS:
                self._change_speed(world, at_ms, incident, name, what)
            case Incident.NOTICE:
                self._give_notice(world, at_ms, name)
            case Incident.LAST_SAVE:
                world.warn(name)
            case Incident.RECLAIMED:
                self._take(world, at_ms, name, "reclaimed")
            case _:
                assert_never(incident)

    def _fail(self, world: World, at_ms: int, name: NodeName) -> None:
        """A node fails, or every node of its domain that is up. Each node comes back at its own time."""
        takes_all = self._chance.random() < self._rates.rack
        for each in self._neighbours.get(self._domain[name], [name]) if takes_all else [name]:
            if self._spells[each] % 2 == 0:
                self._take(world, at_ms, each, "failed")

    def _take(self, world: World, at_ms: int, name: NodeName, because: str) -> None:
        """A node is gone until it is repaired."""
        self._spells[name] += 1
        self._plan(at_ms + self._after(self._rates.repair), Incident.RETURNS, name)
        world.lose_node(name, because=because)

    def _return(self, world: World, at_ms: int, name: NodeName) -> None:
        self._spells[name] += 1
        node = evolve(world.nodes[name], state=NodeState.READY)
        world.change_node(node, because="repaired")
        self._start_clocks(at_ms, node)

    def _start_clocks(self, from_ms: int, node: Node) -> None:
        for incident in (Incident.FAILS, Incident.SLOWS, Incident.GPU_BREAKS):
            self._draw(from_ms, incident, node.name)
        if node.pool in self._spot:
            self._draw(from_ms, Incident.NOTICE, node.name)

    def _change_gpu(self, world: World, at_ms: int, incident: Incident, name: NodeName, gpu: int) -> None:
        node = world.nodes[name]
        if incident is Incident.GPU_BREAKS:
            self._draw(at_ms, Incident.GPU_BREAKS, name)
            if gpu in node.bad_gpus:
                return
            self._plan(at_ms + self._after(self._rates.repair), Incident.GPU_MENDED, name, gpu)
            bad = tuple(sorted((*node.bad_gpus, gpu)))
            world.change_node(evolve(node, bad_gpus=bad), because=f"GPU {gpu} failed")
        else:
            good = tuple(each for each in node.bad_gpus if each != gpu)
            world.change_node(evolve(node, bad_gpus=good), because=f"GPU {gpu} was replaced")

    def _change_speed(self, world: World, at_ms: int, incident: Incident, name: NodeName, speed: int) -> None:
        if incident is Incident.SLOWS:
            self._plan(at_ms + self._after(self._rates.straggler_time), Incident.RECOVERS, name, PARTS)
        else:
            self._draw(at_ms, Incident.SLOWS, name)
        world.slow_node(name, speed)

    def _give_notice(self, world: World, at_ms: int, name: NodeName) -> None:
        """Drain the node, let its jobs save as late as they can, and then take it away."""
        notice_ms, save_ms = self._rates.notice, world.habits.save_cost_ms
        if notice_ms:
            world.change_node(evolve(world.nodes[name], state=NodeState.DRAINING), because="will be reclaimed")
        if notice_ms and notice_ms >= save_ms:
            self._plan(at_ms + notice_ms - save_ms, Incident.LAST_SAVE, name)
        self._plan(at_ms + notice_ms, Incident.RECLAIMED, name)

    def _draw(self, from_ms: int, incident: Incident, name: NodeName) -> None:
        """Plan when this incident next happens to a node, if its rate is not 0."""
        mean_ms, what = self._mean(incident, name)
        if mean_ms:
            if incident is Incident.GPU_BREAKS:
                what = self._chance.randrange(self._gpus[name])
            self._plan(from_ms + self._after(mean_ms), incident, name, what)

    def _mean(self, incident: Incident, name: NodeName) -> tuple[int, int]:
        rates = self._rates
        match incident:
            case Incident.FAILS:
                return rates.mtbf, 0
            case Incident.SLOWS:
                return rates.straggler, max(int(rates.straggler_speed * PARTS), 1)
            case Incident.GPU_BREAKS:
                gpus = self._gpus[name]
                return (rates.gpu // gpus if gpus else 0), 0
            case _:
                return rates.spot, 0

    def _after(self, mean_ms: int) -> int:
        return 1 + int(self._chance.expovariate(1 / mean_ms)) if mean_ms else 1

    def _plan(self, at_ms: int, incident: Incident, name: NodeName, what: int = 0) -> None:
        self._drawn += 1
        heapq.heappush(self._coming, (at_ms, self._drawn, incident, name, what, self._spells[name]))
