"""An event log that tells watchers what was written, once it is."""

from collections.abc import Iterator, Sequence

from muster.live.feed import Feed
from muster.model.audit import AuditEntry
from muster.model.events import Event
from muster.model.job import Job
from muster.store.base import EventLog


class PublishedLog:
    """Passes everything on to the real log, and what was written to the feed."""

    def __init__(self, log: EventLog, feed: Feed) -> None:
        self._log = log
        self._feed = feed

    @property
    def version(self) -> int:
        """How many events the log holds."""
        return self._log.version

    def append(
        self,
        events: Sequence[Event],
        expected_version: int,
        *,
        jobs: Sequence[Job] = (),
        audit: Sequence[AuditEntry] = (),
    ) -> int:
        """Write, then tell."""
        version = self._log.append(events, expected_version, jobs=jobs, audit=audit)
        self._feed.publish(events)
        return version

    def read(self, from_version: int = 0) -> Iterator[Event]:
        """The events after the first `from_version`."""
        return self._log.read(from_version)
