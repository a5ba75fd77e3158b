"""The port to the event log.

A log is a list of events that only grows; its version is how many there are. There is one writer at a time, and the
expected version is what makes sure of it: who writes on a version that has moved on is told so and writes nothing.
"""

from collections.abc import Iterator, Sequence
from typing import Protocol

from muster.model.audit import AuditEntry
from muster.model.events import Event
from muster.model.job import Job


class EventLog(Protocol):
    """An append-only list of events."""

    @property
    def version(self) -> int:
        """How many events the log holds."""
        ...

    def append(
        self,
        events: Sequence[Event],
        expected_version: int,
        *,
        jobs: Sequence[Job] = (),
        audit: Sequence[AuditEntry] = (),
    ) -> int:
        """Add all of the events or none, and return the new version. They are durable when this returns.

        Written with them: `jobs`, the records that the events changed as they left them, and `audit`, who did it. There
        may be entries for the audit without events.

        Raises `Conflict` when the log is not at `expected_version`: somebody else has written in between.
        """
        ...

    def read(self, from_version: int = 0) -> Iterator[Event]:
        """The events after the first `from_version`, in the order they were appended.

        Events appended while reading may or may not be seen; those seen are never out of order.
        """
        ...
