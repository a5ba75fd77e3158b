"""What happens to the nodes of a replay, and when: drawn from rates and a seed, the same for every policy.

Nodes fail and are repaired, sometimes a whole rack at a time; single GPUs break; nodes straggle; spot nodes are taken
away after a notice. None of it depends on what runs there, so two policies with one seed see the same weather.
"""

import heapq
from collections.abc import Container, Iterable
from dataclasses import replace
from enum import Enum, auto
from random import Random

from muster.model.ids import NodeName, PoolName
from muster.model.node import Node, NodeState
from muster.sim.faults import FaultRates
from muster.sim.training import PARTS
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
    RECLAIMED = auto()


class Weather:
    """The incidents of all nodes in the order of time, without end."""

    def __init__(self, rates: FaultRates, nodes: Iterable[Node], spot: Container[PoolName], seed: int) -> None:
        self._rates = rates
        self._chance = Random(f"weather {seed}")
        self._coming: list[tuple[int, int, Incident, NodeName, int]] = []
        self._drawn = 0
        self._down: dict[NodeName, int] = {}
        """Nodes that are away, and until when."""
        self._neighbours: dict[tuple[str, ...], list[NodeName]] = {}
        self._domain = {node.name: node.domains for node in nodes}
        self._gpus = {node.name: node.gpus for node in nodes}
        for node in nodes:
            if node.domains:
                self._neighbours.setdefault(node.domains, []).append(node.name)
            self._draw(0, Incident.FAILS, node.name)
            self._draw(0, Incident.SLOWS, node.name)
            self._draw(0, Incident.GPU_BREAKS, node.name)
            if node.pool in spot:
                self._draw(0, Incident.NOTICE, node.name)

    @property
    def next_ms(self) -> int | None:
        """When the next incident happens."""
        return self._coming[0][0] if self._coming else None

    def befall(self, world: World, now_ms: int) -> None:
        """Let happen to the world what is due, and draw what follows from it."""
        while self._coming and self._coming[0][0] <= now_ms:
            at_ms, _, incident, name, what = heapq.heappop(self._coming)
            match incident:
                case Incident.FAILS:
                    self._fail(world, at_ms, name)
                case Incident.RETURNS:
                    self._return(world, at_ms, name)
                case Incident.GPU_BREAKS | Incident.GPU_MENDED:
                    self._change_gpu(world, at_ms, incident, name, what)
                case Incident.SLOWS | Incident.RECOVERS:
                    self._change_speed(world, at_ms, incident, name, what)
                case Incident.NOTICE | Incident.RECLAIMED:
                    self._reclaim(world, at_ms, incident, name)

    def _fail(self, world: World, at_ms: int, name: NodeName) -> None:
        """A node goes, or its whole domain; each comes back in its own time."""
        self._draw(at_ms, Incident.FAILS, name)
        takes_all = self._chance.random() < self._rates.rack
        for each in self._neighbours.get(self._domain[name], [name]) if takes_all else [name]:
            self._take(world, at_ms, each, "failed")

    def _take(self, world: World, at_ms: int, name: NodeName, because: str) -> None:
        """A node is gone until it was repaired; one that is gone already stays away longer."""
        until_ms = at_ms + self._after(self._rates.repair)
        was_down = name in self._down
        self._down[name] = max(until_ms, self._down.get(name, 0))
        if not was_down:
            self._plan(until_ms, Incident.RETURNS, name)
            world.lose_node(name, because=because)

    def _return(self, world: World, at_ms: int, name: NodeName) -> None:
        if self._down[name] > at_ms:
            self._plan(self._down[name], Incident.RETURNS, name)
            return
        del self._down[name]
        world.change_node(replace(world.nodes[name], state=NodeState.READY), because="repaired")

    def _change_gpu(self, world: World, at_ms: int, incident: Incident, name: NodeName, gpu: int) -> None:
        node = world.nodes[name]
        if incident is Incident.GPU_BREAKS:
            self._draw(at_ms, Incident.GPU_BREAKS, name)
            if gpu in node.bad_gpus:
                return
            self._plan(at_ms + self._after(self._rates.repair), Incident.GPU_MENDED, name, gpu)
            bad = tuple(sorted((*node.bad_gpus, gpu)))
            world.change_node(replace(node, bad_gpus=bad), because=f"GPU {gpu} failed")
        else:
            good = tuple(each for each in node.bad_gpus if each != gpu)
            world.change_node(replace(node, bad_gpus=good), because=f"GPU {gpu} was replaced")

    def _change_speed(self, world: World, at_ms: int, incident: Incident, name: NodeName, speed: int) -> None:
        if incident is Incident.SLOWS:
            self._plan(at_ms + self._after(self._rates.straggler_time), Incident.RECOVERS, name, PARTS)
        else:
            self._draw(at_ms, Incident.SLOWS, name)
        world.slow_node(name, speed)

    def _reclaim(self, world: World, at_ms: int, incident: Incident, name: NodeName) -> None:
        """First everybody is told, and nothing more is placed there; then the node is gone."""
        if incident is Incident.RECLAIMED:
            self._draw(at_ms, Incident.NOTICE, name)
            self._take(world, at_ms, name, "reclaimed")
            return
        self._plan(at_ms + self._rates.notice, Incident.RECLAIMED, name)
        if name not in self._down:
            world.change_node(replace(world.nodes[name], state=NodeState.DRAINING), because="will be reclaimed")
            world.warn(name)

    def _draw(self, from_ms: int, incident: Incident, name: NodeName) -> None:
        """Plan when this next happens to a node, if it ever does."""
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
        heapq.heappush(self._coming, (at_ms, self._drawn, incident, name, what))
