"""Reports that were not polled yet: one thread puts them here, another takes them."""

import threading

from muster.model.events import ObservedEvent
from muster.model.ids import JobId, NodeName
from muster.model.node_limits import BACKEND_MEASURED, BACKEND_NEWS
from muster.model.reports import CheckpointDamaged, CheckpointSaved, CheckpointUploaded, ShardsSaved
from muster.model.telemetry import Telemetry
from muster.worker.messages import CheckpointReport
from muster.worker.records.superseding import unneeded

Item = tuple[NodeName, int, ObservedEvent]
"""The node that reported it, the number of the report there, and what it says."""


class ReportQueue:
    """Reports in the order in which they came. Of the saves of an attempt only the newest are kept."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._items: dict[int, Item] = {}
        self._saves: dict[tuple[str, JobId, int, NodeName], dict[int, int]] = {}
        """By type, job, attempt and node, where the reports on its checkpoints are in `_items`, with their steps."""
        self._count = 0

    @property
    def is_full(self) -> bool:
        """True when no more should come for now, because reports are not being recorded."""
        return len(self._items) >= BACKEND_NEWS

    def put(self, item: Item) -> None:
        """Add what happened last."""
        with self._lock:
            self._count += 1
            self._items[self._count] = item
            if isinstance(item[2], CheckpointSaved | ShardsSaved | CheckpointUploaded | CheckpointDamaged):
                self._supersede(item[0], item[2])

    def _supersede(self, node: NodeName, event: CheckpointReport) -> None:
        """Drop reports that the last one makes unnecessary. Each node reports its own part of a save."""
        kind = type(event).__name__
        kept = self._saves.setdefault((kind, event.job, event.attempt, node), {})
        kept[self._count] = 0 if isinstance(event, CheckpointSaved) else event.step
        for number in unneeded(kind, kept):
            del self._items[number], kept[number]

    def take(self) -> tuple[Item, ...]:
        """Take all reports."""
        with self._lock:
            items, self._items, self._saves = self._items, {}, {}
        return tuple(items.values())


class MeasuredValues:
    """What nodes measured and nobody has taken yet: of each thing the newest value."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._values: dict[tuple[object, ...], Telemetry] = {}

    def put(self, value: Telemetry) -> None:
        """Keep a value instead of the one before. Beyond a bound, things that were never measured are left out."""
        with self._lock:
            if value.subject in self._values or len(self._values) < BACKEND_MEASURED:
                self._values[value.subject] = value

    def take(self) -> tuple[Telemetry, ...]:
        """Take all values."""
        with self._lock:
            values, self._values = self._values, {}
        return tuple(values.values())
