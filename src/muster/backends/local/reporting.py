"""What the backend has to report, from nodes and by itself, until the control plane has it in its log."""

from collections.abc import Callable

from muster.backends.local.report_numbers import ReportNumbers
from muster.backends.local.report_queue import ReportQueue
from muster.model.events import ObservedEvent
from muster.model.ids import NodeName

NOWHERE = NodeName("")
"""The node of an event that the backend observed by itself, so that no supervisor has to forget it."""


class Reporting:
    """The reports of one backend. `take` and `record` may be called on any thread."""

    def __init__(self, *hear: Callable[[ObservedEvent], None]) -> None:
        self.hear = list(hear)
        """Each is told of every report about workers before it can be taken."""
        self.numbers = ReportNumbers()
        self.has_news = False
        """True when there is something that nobody was told about."""
        self._queue = ReportQueue()

    @property
    def is_full(self) -> bool:
        """True when no more should come for now."""
        return self._queue.is_full

    def take(self) -> tuple[ObservedEvent, ...]:
        """Everything since the last call, in the order it happened."""
        events = []
        for node, number, event in self._queue.take():
            events.append(event)
            if node != NOWHERE:
                self.numbers.polled(node, number)
        return tuple(events)

    def tell(self, event: ObservedEvent, node: NodeName = NOWHERE, number: int = 0) -> None:
        """Something happened, perhaps by the report of a node."""
        self._queue.put((node, number, event))
        self.has_news = True

    def report(self, node: NodeName, event: ObservedEvent, number: int) -> None:
        """Something became of workers. Without a number it is what the backend found out instead of the node."""
        if not number:
            number = self.numbers.received(node) + 1
            self.numbers.is_news(node, number)
        for hear in self.hear:
            hear(event)
        self.tell(event, node, number)
