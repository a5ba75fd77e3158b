"""How far the reports of each node have come. Nodes number them, and keep each until it is acknowledged."""

from collections.abc import Iterator

from muster.model.ids import NodeName


class ReportNumbers:
    """By node, the number of the last report that was received, polled, recorded and acknowledged."""

    def __init__(self) -> None:
        self._received: dict[NodeName, int] = {}
        self._polled: dict[NodeName, int] = {}
        self._recorded: dict[NodeName, int] = {}
        self._acknowledged: dict[NodeName, int] = {}

    def received(self, node: NodeName) -> int:
        """The number of the last report of a node that came."""
        return self._received.get(node, 0)

    def is_news(self, node: NodeName, number: int) -> bool:
        """True for a report that had not come before. From now on it has."""
        if number <= self.received(node):
            return False
        self._received[node] = number
        return True

    def polled(self, node: NodeName, number: int) -> None:
        """The control plane has this report."""
        self._polled[node] = number

    def record(self) -> bool:
        """Everything that was polled is recorded; True when that is news."""
        if self._polled == self._recorded:
            return False
        self._recorded = dict(self._polled)
        return True

    def is_recorded(self, node: NodeName) -> bool:
        """True when every report of a node that came is recorded."""
        return self._recorded.get(node, 0) >= self.received(node)

    def greeted(self, node: NodeName, last: int) -> None:
        """A node has greeted, and has numbered its reports up to `last`. Acknowledgements are to be sent again."""
        if last < self.received(node):
            self._received[node] = self._polled[node] = 0  # its folder is new, and numbers its reports from 1
        self._acknowledged[node] = 0

    def to_acknowledge(self) -> Iterator[tuple[NodeName, int]]:
        """Nodes with the number of their last report that is recorded, and of which they were not told."""
        for node, number in self._recorded.items():
            if number > self._acknowledged.get(node, 0):
                yield node, number

    def acknowledged(self, node: NodeName, number: int) -> None:
        """The node was told."""
        self._acknowledged[node] = number
