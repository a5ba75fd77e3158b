"""The ports to what Muster stores: the event log, and what is stored beside it.

A log is a list of events that only grows. Its version is the number of events. There is one writer at a time, and the
expected version enforces that: a writer that expects an older version gets an error and writes nothing. What is read is
what was written, or `Corrupted` is raised.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from muster.model.access import EVERY_TEAM
from muster.model.array import JobRecord
from muster.model.audit import AuditEntry
from muster.model.events import Event
from muster.model.ids import JobId, TeamPath, TierName
from muster.model.job import Job, JobState


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
        jobs: Sequence[JobRecord] = (),
        audit: Sequence[AuditEntry] = (),
    ) -> int:
        """Add all of the events or none, and return the new version. They are durable when it returns.

        `jobs` are the records after the events, including those of whole arrays. `audit` says who caused the events.
        Both are stored in the same transaction. There may be no events when there is only something to audit.
        Raises `Conflict` when the log is not at `expected_version`: another writer has written in between.
        Raises `Unavailable` when the log cannot be written now. Then nothing has changed.
        """
        ...

    def read(self, from_version: int = 0) -> Iterator[Event]:
        """The events after the first `from_version`, in the order they were appended.

        Events appended while reading may or may not be seen; those seen are never out of order.
        """
        ...


class DurableLog(EventLog, Protocol):
    """A log outside of this process, which can be moved away or get another writer."""

    def check(self) -> None:
        """Check that the log is still where it was opened, for times without a write that would notice.

        Raises `Unavailable` when it is not but may come back, `Refused` when another process has become the writer, and
        `Corrupted` when a part of it is gone.
        """
        ...


class EventPages(Protocol):
    """The log a page at a time: for watchers, and for what happened to one job."""

    def events_after(self, version: int, limit: int, job: JobId | None = None) -> Sequence[tuple[int, Event]]:
        """Up to `limit` events after `version`, each with its own version; only those that name `job` if given.

        An event's version is that of the log once it was appended: the first event has version 1.
        """
        ...

    def node_events_between(self, version: int, until: int, limit: int) -> Sequence[tuple[int, Event]]:
        """Up to `limit` events about nodes after `version` and up to `until`: they may concern jobs on these nodes."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedState:
    """An engine's state as bytes, and the version of the log it was folded from."""

    version: int
    body: bytes


class StateStore(Protocol):
    """Saved engine states, so that a restart need not fold the whole log. They can always be made again from it."""

    def save_state(self, version: int, layout: str, body: bytes) -> None:
        """Save the state that the first `version` events fold to, and drop all but the newest states.

        `layout` names the form of the state: only a reader of the same form loads it. Raises `Conflict` when the log is
        shorter.
        """
        ...

    def load_state(self, layout: str) -> SavedState | None:
        """The newest state of this layout that is whole and belongs to this log; None when there is none."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditRecord:
    """An audit entry as it was written."""

    seq: int
    """The number of the entry, from 1 without gaps."""
    entry: AuditEntry
    version: int
    """The version of the log after the change that the entry is about."""
    chain: str
    """In hexadecimal. A copy of the last one, noted elsewhere, shows later whether anything before it was changed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditFilter:
    """Which entries to list: those that match everything given."""

    by: str | None = None
    action: str | None = None
    subject: str | None = None
    since_ms: int | None = None
    """Written then or later."""
    until_ms: int | None = None
    """Written before then."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditVerdict:
    """What a check of everything that is stored has found."""

    entries: int
    """Audit entries that are whole, from the first on."""
    events: int
    """Events that are whole, from the first on."""
    broken_seq: int | None = None
    """The first audit entry that is missing or is not what was written."""
    broken_version: int | None = None
    """The first event that is missing or is not what was written."""
    problems: tuple[str, ...] = ()
    """All problems, in words."""

    @property
    def is_whole(self) -> bool:
        """True when no problem was found."""
        return not self.problems


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditHead:
    """The end of the audit. A copy noted elsewhere shows later whether anything before it was changed or dropped."""

    seq: int
    """The number of the last entry; 0 when there is none."""
    chain: str
    """In hexadecimal."""


EVERYTHING = AuditFilter()


class AuditTrail(Protocol):
    """Who did what. Entries are written with events and with token changes, never changed, and chained like events."""

    def entries(self, after_seq: int, limit: int, filters: AuditFilter = EVERYTHING) -> Sequence[AuditRecord]:
        """Up to `limit` entries after `after_seq`, oldest first."""
        ...

    def latest(self, before_seq: int | None, limit: int, filters: AuditFilter = EVERYTHING) -> Sequence[AuditRecord]:
        """Up to `limit` entries before `before_seq`, or up to the last one, newest first."""
        ...

    def head(self) -> AuditHead:
        """Where the audit ends now."""
        ...

    def chain_at(self, seq: int) -> str | None:
        """The chain of an entry in hexadecimal, as it is stored; None when there is no such entry."""
        ...

    def verify(self) -> AuditVerdict:
        """Check all entries, all events, and the records, keys, tokens and states beside them. May take a while."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyedRequest:
    """The job of a request that had a key."""

    job: JobId
    fingerprint: str


@dataclass(frozen=True, slots=True, kw_only=True)
class JobFilter:
    """Which jobs and arrays to list: those that match everything given. Tasks are not listed, only their array."""

    states: tuple[JobState, ...] = ()
    """Any of these; empty means all."""
    teams: tuple[TeamPath, ...] = (EVERY_TEAM,)
    """Any of these teams and all below them."""
    team: TeamPath | None = None
    """The team and all below it."""
    user: str | None = None
    name: str | None = None
    tier: TierName | None = None
    from_ms: int | None = None
    """Submitted then or later."""
    until_ms: int | None = None
    """Submitted before then."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobPage:
    """Some jobs and arrays, the newest first."""

    jobs: tuple[JobRecord, ...]
    next: int | None
    """The next page continues with the submissions before this number; None when there are no more."""


class JobArchive(Protocol):
    """The newest record of every job, task and array there ever was."""

    def page(self, filters: JobFilter, *, limit: int, before: int | None = None) -> JobPage:
        """Jobs and arrays that match the filter, the newest first, optionally only submissions before a number.

        At most `JOBS_SCANNED` submissions are looked at, and reading stops after `PAGE_RECORD_BYTES` of records. So a
        page may have fewer than `limit` and still a next page.
        """
        ...

    def find(self, jobs: Sequence[JobId]) -> dict[JobId, JobRecord]:
        """The records of these jobs, tasks and arrays, as far as they exist."""
        ...

    def ended(self) -> Iterator[Job]:
        """Every job and task that has ended, oldest submission first."""
        ...

    def keyed(self, by: str, key: str) -> KeyedRequest | None:
        """The job that a user submitted under a key; None when there is none."""
        ...
