"""The ports to what Muster keeps: the event log, and what is kept beside it.

A log is a list of events that only grows; its version is how many there are. There is one writer at a time, and the
expected version is what makes sure of it: who writes on a version that has moved on is told so and writes nothing.
What is read back is what was written, or `Corrupted` is raised.
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
        """Add all of the events or none, and return the new version. They are durable when this returns.

        `jobs` are the records as the events left them, with those of whole arrays, and `audit` says who caused them:
        both are kept in the same transaction. There may be no events when there is only something to audit.
        Raises `Conflict` when the log is not at `expected_version`: somebody else has written in between.
        Raises `Unavailable` when it cannot be written now; the log is then as it was before.
        """
        ...

    def read(self, from_version: int = 0) -> Iterator[Event]:
        """The events after the first `from_version`, in the order they were appended.

        Events appended while reading may or may not be seen; those seen are never out of order.
        """
        ...


class DurableLog(EventLog, Protocol):
    """A log that others can take away, because it is kept outside of this process."""

    def check(self) -> None:
        """See that what is written is kept where it was opened: for when nobody writes, who would notice.

        Raises `Unavailable` when it is not and may be again, `Refused` when another process has become the writer, and
        `Corrupted` when something of it is gone.
        """
        ...


class EventPages(Protocol):
    """The log a page at a time: for whoever watches it, and for what happened to one job."""

    def events_after(self, version: int, limit: int, job: JobId | None = None) -> Sequence[tuple[int, Event]]:
        """Up to `limit` events behind `version`, each with its own version; only those that name `job` if given.

        An event's version is that of the log once it was appended: the first event has version 1.
        """
        ...

    def node_events_between(self, version: int, until: int, limit: int) -> Sequence[tuple[int, Event]]:
        """Up to `limit` events about nodes behind `version` and up to `until`: what may have happened to jobs there."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedState:
    """An engine's state as bytes, and the version of the log it was folded from."""

    version: int
    body: bytes


class StateStore(Protocol):
    """Saved engine states, so that a restart need not fold the whole log. They can always be made again."""

    def save_state(self, version: int, layout: str, body: bytes) -> None:
        """Keep the state that the first `version` events fold to, and of older ones only the newest.

        `layout` names the form that the state is in: only a reader of the same form loads it. Raises `Conflict` when
        the log is shorter.
        """
        ...

    def load_state(self, layout: str) -> SavedState | None:
        """The newest state of this layout that is whole and belongs to this log; None when there is none."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditRecord:
    """An entry as it was written."""

    seq: int
    """The first entry is 1; none is ever left out."""
    entry: AuditEntry
    version: int
    """Of the log, once what the entry tells of was written."""
    chain: str
    """In hexadecimal. Whoever notes the last one elsewhere can later tell that nothing before it was changed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditFilter:
    """Which entries to list: those that agree with everything given."""

    by: str | None = None
    action: str | None = None
    subject: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditVerdict:
    """What a walk through everything that is kept has found."""

    entries: int
    """Audit entries that are whole, from the first on."""
    events: int
    """Events that are whole, from the first on."""
    broken_seq: int | None = None
    """The first audit entry that is missing or is not what was written."""
    broken_version: int | None = None
    """The first event that is missing or is not what was written."""
    problems: tuple[str, ...] = ()
    """Everything that is wrong, in words."""

    @property
    def is_whole(self) -> bool:
        """True when nothing was found."""
        return not self.problems


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditHead:
    """Where the audit ends. Noted elsewhere, it tells later whether anything before it was changed or dropped."""

    seq: int
    """The number of the last entry; 0 when there is none."""
    chain: str
    """In hexadecimal."""


EVERYTHING = AuditFilter()


class AuditTrail(Protocol):
    """Who did what. Entries are written by `EventLog.append`, never changed, and chained like the events."""

    def entries(self, after_seq: int, limit: int, filters: AuditFilter = EVERYTHING) -> Sequence[AuditRecord]:
        """Up to `limit` entries behind `after_seq`, oldest first."""
        ...

    def head(self) -> AuditHead:
        """Where the audit ends now."""
        ...

    def chain_at(self, seq: int) -> str | None:
        """The chain of an entry in hexadecimal, as it is kept; None when there is no such entry."""
        ...

    def verify(self) -> AuditVerdict:
        """Walk through all entries, all events and all that is kept beside them. May take a while."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyedRequest:
    """What became of a request that was given a key."""

    job: JobId
    fingerprint: str


@dataclass(frozen=True, slots=True, kw_only=True)
class JobFilter:
    """Which jobs and arrays to list: those that agree with everything given. Tasks are listed by their array only."""

    states: tuple[JobState, ...] = ()
    """Any of these; empty means all."""
    teams: tuple[TeamPath, ...] = (EVERY_TEAM,)
    """Any of these teams and all below them."""
    team: TeamPath | None = None
    """The team and all below it."""
    user: str | None = None
    name: str | None = None
    tier: TierName | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class JobPage:
    """Some jobs and arrays, the newest first."""

    jobs: tuple[JobRecord, ...]
    next: int | None
    """The next page goes on with the submissions before this number; None when there are none."""


class JobArchive(Protocol):
    """Every job, task and array there ever was, as the log left it."""

    def page(self, filters: JobFilter, *, limit: int, before: int | None = None) -> JobPage:
        """Jobs and arrays that the filter lets through, the newest first, out of the submissions before a number.

        Looks at `JOBS_SCANNED` submissions at most, and reads `PAGE_RECORD_BYTES` of records and one more: there may be
        fewer than `limit`, and still a next page.
        """
        ...

    def find(self, jobs: Sequence[JobId]) -> dict[JobId, JobRecord]:
        """The records of these jobs, tasks and arrays, as far as there are any."""
        ...

    def ended(self) -> Iterator[Job]:
        """Every job and task that has ended, oldest submission first."""
        ...

    def keyed(self, by: str, key: str) -> KeyedRequest | None:
        """The job that was submitted under a key by somebody; None when there is none."""
        ...
