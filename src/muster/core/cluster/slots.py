"""How many workers of one ask fit into every node and domain, kept up to date from the capacity's journal.

When workers form tensor-parallel groups, the level that a group may span and all levels above it count whole groups.
A group never crosses a domain of that level.
"""

from typing import TYPE_CHECKING

from muster.core.cluster.free_states import Ask

if TYPE_CHECKING:
    from muster.core.cluster.capacity import Capacity


class SlotView:
    """Counts by node and, per level, by domain."""

    __slots__ = ("_capacity", "_cursor", "_grain", "_table", "ask", "group", "nodes", "sums")

    def __init__(self, capacity: "Capacity", ask: Ask, group: int) -> None:
        self._capacity = capacity
        self.ask = ask
        self.group = group
        tree = capacity.tree
        self._grain = tree.nvlink_level if group > 1 else tree.node_level
        self._table: list[int] = []
        self._cursor = 0
        self.nodes: list[int] = []
        self.sums: list[list[int]] = []
        self._count()

    def _count(self) -> None:
        """Count everything from the present state of the capacity."""
        capacity = self._capacity
        tree = capacity.tree
        self._cursor = len(capacity.changed)
        table = self._table = capacity.states.slots(self.ask)
        if self._grain == tree.node_level and self.group > 1:
            self.nodes = [table[number] // self.group for number in capacity.number]
        else:
            self.nodes = [table[number] for number in capacity.number]
        if self.ask.where is not None:
            self.nodes = [
                count if is_allowed else 0 for count, is_allowed in zip(self.nodes, self.ask.where.allows, strict=True)
            ]
        self.sums = [[] for _ in range(tree.node_level)]
        inner = self.nodes
        for level in range(tree.node_level - 1, -1, -1):
            counts = [sum(inner[start:end]) for start, end in self._inner_ranges(level)]
            if level == self._grain:
                counts = [count // self.group for count in counts]
            self.sums[level] = inner = counts

    def _inner_ranges(self, level: int) -> list[tuple[int, int]]:
        """For every domain of a level, the range of its children, by their numbers at the next level."""
        tree = self._capacity.tree
        ranges = tree.ranges[level]
        if level + 1 == tree.node_level:
            return ranges
        inner = tree.domain_of[level + 1]
        return [(inner[start], inner[end - 1] + 1) for start, end in ranges]

    def catch_up(self) -> list[int]:
        """Take over the changes since the last call. Returns the nodes that changed."""
        capacity = self._capacity
        changed = capacity.changed[self._cursor :]
        if not changed:
            return changed
        if len(changed) > len(self.nodes):
            self._count()
            return changed
        self._cursor = len(capacity.changed)
        capacity.states.slots(self.ask)
        for node in changed:
            self._recount(node)
        return changed

    def _recount(self, node: int) -> None:
        tree, where = self._capacity.tree, self.ask.where
        if where is not None and not where.allows[node]:
            return
        count = self._table[self._capacity.number[node]]
        grain, level = self._grain, tree.node_level
        if level == grain and self.group > 1:
            count //= self.group
        delta = count - self.nodes[node]
        if not delta:
            return
        self.nodes[node] = count
        while level > 0 and delta:
            level -= 1
            domain = tree.domain_of[level][node]
            if level == grain:
                start, end = tree.ranges[level][domain]
                total = sum(self.nodes[start:end]) if level + 1 == tree.node_level else self._inner_sum(level, domain)
                delta = total // self.group - self.sums[level][domain]
            self.sums[level][domain] += delta

    def _inner_sum(self, level: int, domain: int) -> int:
        children = self._capacity.tree.children(level, domain)
        return sum(self.sums[level + 1][children.start : children.stop])

    def counts(self, level: int) -> list[int]:
        """How many fit into every domain of a level."""
        return self.sums[level] if level < len(self.sums) else self.nodes

    def count(self, level: int, domain: int) -> int:
        """How many fit into one domain of any level. At `group_level` and above, these are whole groups."""
        return self.counts(level)[domain]

    @property
    def group_level(self) -> int:
        """The level inside which a group stays. From here upwards, counts are of groups."""
        return self._grain
