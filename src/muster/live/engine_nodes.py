"""The nodes that engines have, joined with those that are described: asked for at the start, and kept for the next one.

An engine that does not answer at the start has the nodes that it had last. So what runs there is not forgotten, and
everything else goes on. Nodes that an engine gets later join the cluster then.
"""

import json
import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from muster.backends.allocations.book import AllocationBook
from muster.backends.allocations.engine import AllocationEngine, EngineSilent
from muster.formats.rules.cluster_file import under_engines
from muster.home import Home
from muster.live.layout import Layout
from muster.model.ids import ENGINE_LEVEL, EngineName, GpuType, LevelName, NodeName, PoolName
from muster.model.limits import NODES_PER_CLUSTER
from muster.model.node import ClusterSpec, Node, NodeState
from muster.model.records import evolve
from muster.private_files import write_private

SWITCH = "switch"
"""What a level of switches is called if nobody has named it."""

_log = logging.getLogger("muster.live")


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineUse:
    """An engine, and how its nodes are used."""

    engine: AllocationEngine
    pool: PoolName
    levels: tuple[LevelName, ...] = ()
    """What its levels are called if the cluster has none."""


def with_engine_nodes(layout: Layout, uses: Sequence[EngineUse], home: Path) -> Layout:
    """The layout with the nodes of engines, and with what an operator should know about them."""
    notes: list[str] = []
    found = {use.engine.name: _nodes(use, home, notes) for use in uses}
    taken = {node.name for node in layout.cluster.nodes}
    kept: list[Node] = []
    for name, nodes in found.items():
        for node in nodes:
            if node.name in taken:
                notes.append(f"{name} has a node {node.name}, and so has another engine: it is not used")
            else:
                taken.add(node.name)
                kept.append(node)
    cluster = _joined(layout.cluster, kept, uses)
    return replace(layout, cluster=cluster, notes=(*layout.notes, *notes))


def _nodes(use: EngineUse, home: Path, notes: list[str]) -> tuple[Node, ...]:
    """The nodes of an engine now, or those that it had when it answered last."""
    path = Home(home).engine_nodes(use.engine.name)
    try:
        nodes = tuple(evolve(each.node, pool=use.pool, state=NodeState.READY) for each in use.engine.inventory())
    except EngineSilent as silent:
        last = _read(path, use)
        what = f"its {len(last)} nodes are those that it had last" if last else "its nodes join once it answers"
        notes.append(f"engine {use.engine.name}: {silent}; {what}")
        return last
    nodes = (*nodes, *_still_used(nodes, path, use, home))
    if not nodes:
        notes.append(f"engine {use.engine.name} has no nodes")
    _write(path, nodes)
    return nodes


def _still_used(nodes: Iterable[Node], path: Path, use: EngineUse, home: Path) -> Iterator[Node]:
    """Nodes that the engine does not have any more, where something of Muster may run all the same."""
    present = {node.name for node in nodes}
    used = {node for each in AllocationBook(home).read() if each.engine == use.engine.name for node in each.nodes}
    return (node for node in _read(path, use) if node.name in used and node.name not in present)


class Newcomers:
    """Takes in nodes that engines get while Muster runs, into the levels that the cluster has."""

    def __init__(self, cluster: ClusterSpec, uses: Sequence[EngineUse], home: Path) -> None:
        self._levels = cluster.levels
        self._engine_of = {node.name: node.engine for node in cluster.nodes}
        self._uses = {use.engine.name: use for use in uses}
        self._home = home
        self._refused: set[NodeName] = set()

    def __call__(self, nodes: Sequence[Node]) -> list[Node]:
        """Nodes of one engine as the cluster has them from now on, without those that it cannot have."""
        allowed = [node for node in nodes if self._may_join(node)]
        if not allowed:
            return []
        use = self._uses[allowed[0].engine]
        joining = [evolve(node, pool=use.pool, state=NodeState.READY) for node in allowed]
        # All at once, because a cluster may get a thousand nodes at a time.
        path = Home(self._home).engine_nodes(use.engine.name)
        names = {node.name for node in joining}
        _write(path, (*(each for each in _read(path, use) if each.name not in names), *joining))
        return [self._placed(node) for node in joining]

    def _may_join(self, node: Node) -> bool:
        """True unless another engine has a node of this name, or the cluster has as many nodes as it may."""
        if node.name not in self._engine_of and len(self._engine_of) < NODES_PER_CLUSTER:
            self._engine_of[node.name] = node.engine
        owner = self._engine_of.get(node.name)
        if owner == node.engine:
            return True
        if node.name not in self._refused and len(self._refused) < NODES_PER_CLUSTER:
            self._refused.add(node.name)
            because = "another engine has a node of this name" if owner else "the cluster has as many nodes as it may"
            _log.warning(because, extra={"node": node.name, "engine": node.engine})
        return False

    def _placed(self, node: Node) -> Node:
        """The node in the levels of the cluster."""
        is_below = ENGINE_LEVEL in self._levels
        domains = _aligned(node.domains, node.engine, len(self._levels) - is_below)
        return evolve(node, domains=(str(node.engine), *domains) if is_below else domains)


def _joined(cluster: ClusterSpec, nodes: Iterable[Node], uses: Sequence[EngineUse]) -> ClusterSpec:
    """One cluster of nodes that are described and nodes that engines have, or may get."""
    known, names = tuple(nodes), tuple(level for use in uses for level in use.levels)
    levels = tuple(level for level in cluster.levels if level != ENGINE_LEVEL)
    has_engine_level = len(levels) < len(cluster.levels)
    if not levels:
        levels = _level_names(known, names)
    described = (
        evolve(node, domains=_aligned(node.domains[has_engine_level:], node.engine, len(levels)))
        for node in cluster.nodes
    )
    given = (evolve(node, domains=_aligned(node.domains, node.engine, len(levels))) for node in known)
    whole = evolve(cluster, levels=levels, nodes=(*described, *given))
    return under_engines(whole, (use.engine.name for use in uses))


def _level_names(nodes: tuple[Node, ...], names: tuple[LevelName, ...]) -> tuple[LevelName, ...]:
    """Names for as many levels as the deepest node has, the innermost last.

    The outermost is left out if nobody has named it and it has one domain only. Those that are named are there even
    while no node has them, because jobs may ask for them.
    """
    names = tuple(dict.fromkeys(names))
    depth = max((len(names), *(len(node.domains) for node in nodes)))
    if depth > len(names) and len({node.domains[:1] for node in nodes}) == 1:
        depth -= 1  # the switch above everything says nothing, unless it was named
    above = tuple(LevelName(f"{SWITCH}{up}" if up > 1 else SWITCH) for up in range(depth, 0, -1))
    return (*above[: max(depth - len(names), 0)], *names[-depth:]) if depth else ()


def _aligned(domains: tuple[str, ...], engine: EngineName, depth: int) -> tuple[str, ...]:
    """As many domains as there are levels: the innermost ones, below the engine as a whole where there are fewer."""
    inner = domains[len(domains) - depth :] if len(domains) > depth else domains
    return (*(str(engine),) * (depth - len(inner)), *inner)


def _write(path: Path, nodes: tuple[Node, ...]) -> None:
    try:
        path.parent.mkdir(mode=0o700, exist_ok=True)
        write_private(path, json.dumps([_plain(node) for node in nodes]))
    except OSError as error:
        _log.warning("the nodes of an engine could not be kept", extra={"cause": str(error)})


def _plain(node: Node) -> dict[str, object]:
    return {
        "name": node.name,
        "gpus": node.gpus,
        "gpu_type": node.gpu_type,
        "cpu_milli": node.cpu_milli,
        "memory_bytes": node.memory_bytes,
        "domains": node.domains,
        "labels": node.labels,
        "whole_gpus": node.whole_gpus,
    }


def _read(path: Path, use: EngineUse) -> tuple[Node, ...]:
    try:
        rows: list[Mapping[str, object]] = json.loads(path.read_text("utf-8"))
        return tuple(_node(row, use) for row in rows)
    except (OSError, ValueError, KeyError, TypeError):
        return ()


def _node(row: Mapping[str, object], use: EngineUse) -> Node:
    domains, labels = row["domains"], row["labels"]
    assert isinstance(domains, list)
    assert isinstance(labels, list)
    return Node(
        name=NodeName(str(row["name"])),
        gpus=int(str(row["gpus"])),
        gpu_type=GpuType(str(row["gpu_type"])),
        cpu_milli=int(str(row["cpu_milli"])),
        memory_bytes=int(str(row["memory_bytes"])),
        domains=tuple(map(str, domains)),
        labels=tuple(map(str, labels)),
        whole_gpus=row.get("whole_gpus") is True,
        pool=use.pool,
        engine=use.engine.name,
    )
