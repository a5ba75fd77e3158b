"""The topology tree as arrays: nodes numbered along it, every domain a contiguous range of node numbers.

Level 0 is the whole cluster, levels 1..k are the configured levels, level k+1 is the node. The full path identifies a
domain, so that a rack named `r1` in two blocks is two racks.
"""

from collections.abc import Sequence

from muster.model.ids import ENGINE_LEVEL, NODE_LEVEL, LevelName, NodeName, natural
from muster.model.node import ClusterSpec, Node


class Tree:
    """The static shape of a cluster. It does not know what is free."""

    __slots__ = (
        "domain_of",
        "gpus",
        "index_of",
        "largest_node_gpus",
        "levels",
        "node_level",
        "nodes",
        "nvlink_level",
        "ranges",
    )

    def __init__(self, cluster: ClusterSpec) -> None:
        self.nodes: list[Node] = sorted(cluster.nodes, key=lambda node: (node.domains, natural(node.name)))
        self.index_of: dict[NodeName, int] = {node.name: index for index, node in enumerate(self.nodes)}
        self.gpus = sum(node.gpus for node in self.nodes)
        self.largest_node_gpus = max((node.gpus for node in self.nodes), default=0)
        self.levels: tuple[LevelName, ...] = (LevelName("cluster"), *cluster.levels, NODE_LEVEL)
        self.node_level = len(self.levels) - 1
        self.nvlink_level = (
            self.levels.index(cluster.nvlink_level) if cluster.nvlink_level is not None else self.node_level
        )
        self.domain_of: list[list[int]] = []
        self.ranges: list[list[tuple[int, int]]] = []
        for level in range(self.node_level):
            self._number_domains([node.domains[:level] for node in self.nodes])

    def _number_domains(self, paths: Sequence[tuple[str, ...]]) -> None:
        """Number the domains of one level in node order, and remember the range of nodes of each domain."""
        domain_of: list[int] = []
        starts: list[int] = []
        previous: tuple[str, ...] | None = None
        for index, path in enumerate(paths):
            if path != previous:
                starts.append(index)
                previous = path
            domain_of.append(len(starts) - 1)
        self.domain_of.append(domain_of)
        ends = [*starts[1:], len(paths)] if starts else []
        self.ranges.append(list(zip(starts, ends, strict=True)))

    @property
    def widest_level(self) -> int:
        """The widest level that a gang may span: the cluster, or an engine where there are several."""
        return 1 if self.levels[1] == ENGINE_LEVEL else 0

    def level_of(self, name: LevelName) -> int:
        """The number of the level called `name`."""
        return self.levels.index(name)

    def children(self, level: int, domain: int) -> range:
        """The domains of the next level inside one domain; node numbers if the next level is the node."""
        start, end = self.ranges[level][domain]
        if level + 1 == self.node_level:
            return range(start, end)
        inner = self.domain_of[level + 1]
        return range(inner[start], inner[end - 1] + 1)

    def span(self, level: int, domain: int) -> tuple[int, int]:
        """The range of node numbers of a domain, at any level including the node level."""
        return (domain, domain + 1) if level == self.node_level else self.ranges[level][domain]

    def domain_at(self, level: int, node: int) -> int:
        """The domain of `level` that a node is in."""
        return node if level == self.node_level else self.domain_of[level][node]

    def are_together(self, level: int, nodes: Sequence[int]) -> bool:
        """True when all these nodes are in one domain of a level."""
        return all(self.domain_at(level, node) == self.domain_at(level, nodes[0]) for node in nodes)


def same_place(before: Node, after: Node) -> bool:
    """True when the change affects neither the numbering of nodes, nor the device count, nor which asks exist."""
    return (before.domains, before.gpus, before.gpu_type, before.pool, before.labels, before.whole_gpus) == (
        after.domains,
        after.gpus,
        after.gpu_type,
        after.pool,
        after.labels,
        after.whole_gpus,
    )
