"""The log in a table. Every row is chained to the one before, and rows that do not fit are never returned."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, get_args

from sqlalchemy import Connection, Select

from muster.model.array import JobRecord
from muster.model.audit import AuditEntry
from muster.model.errors import Conflict, Unavailable
from muster.model.events import Event, NodeEvent
from muster.model.ids import JobId
from muster.model.limits import STORE_PAGE_ROWS
from muster.store.codec import decode_event, encode, kind_of
from muster.store.sql.audit_trail import add_entries
from muster.store.sql.chains import EVENTS, first_broken
from muster.store.sql.database import Database
from muster.store.sql.head import Head, move_head, read_head
from muster.store.sql.job_archive import put_jobs, put_keys
from muster.store.sql.schema import events as table

_OF_NODES = tuple(kind.__name__ for kind in get_args(NodeEvent))


class SqlEventLog:
    """The event log, and its pages."""

    def __init__(self, database: Database) -> None:
        self._database = database

    @property
    def version(self) -> int:
        """How many events the log holds."""
        with self._database.reading() as connection:
            return read_head(connection, self._database.name).version

    def append(
        self,
        events: Sequence[Event],
        expected_version: int,
        *,
        jobs: Sequence[JobRecord] = (),
        audit: Sequence[AuditEntry] = (),
    ) -> int:
        """Add the events, the records after them, and who caused them, in one transaction."""
        new: Head | None = None
        try:
            with self._database.writing("append") as connection:
                head = read_head(connection, self._database.name, to_change=True)
                _check_version(head, expected_version)
                if not (events or jobs or audit):
                    return head.version
                new = add_entries(connection, _add_events(connection, head, events), audit)
                put_jobs(connection, jobs)
                put_keys(connection, events)
                move_head(connection, new)
        except Unavailable:
            if new is None or not self._has_arrived(new):
                raise
        return new.version

    def check(self) -> None:
        """Check that the database is where it was, and that this is its writer."""
        self._database.check()

    def read(self, from_version: int = 0) -> Iterator[Event]:
        """The events after the first `from_version`, a page at a time."""
        at = from_version
        while page := self.events_after(at, STORE_PAGE_ROWS):
            yield from (event for _, event in page)
            at = page[-1][0]

    def events_after(self, version: int, limit: int, job: JobId | None = None) -> Sequence[tuple[int, Event]]:
        """Up to `limit` events after `version`, each with its own version."""
        if job is not None:
            return self._events_of(job, version, limit)
        with self._database.reading() as connection:
            head = read_head(connection, self._database.name)
            last = min(version + limit, head.version)
            if last <= version:
                return ()
            rows = EVENTS.stretch(connection, version, last)
            broken = first_broken(rows, EVENTS.at(connection, version), expected=range(version + 1, last + 1))
        if broken is None and last == head.version and rows[-1].chain != head.chain:
            broken = last
        if broken is not None:
            raise EVENTS.damaged(self._database.name, broken)
        return [(row.version, decode_event(row.kind, row.body)) for row in rows]

    def node_events_between(self, version: int, until: int, limit: int) -> Sequence[tuple[int, Event]]:
        """Up to `limit` events about nodes after `version` and up to `until`."""
        within = (table.c.version > version, table.c.version <= until)
        asked = EVENTS.scattered().where(table.c.job.is_(None), table.c.kind.in_(_OF_NODES), *within)
        return self._found(asked, limit)

    def _events_of(self, job: JobId, version: int, limit: int) -> Sequence[tuple[int, Event]]:
        return self._found(EVENTS.scattered().where(table.c.job == job, table.c.version > version), limit)

    def _found(self, asked: Select[Any], limit: int) -> Sequence[tuple[int, Event]]:
        with self._database.reading() as connection:
            rows = connection.execute(asked.order_by(table.c.version).limit(limit)).all()
        EVENTS.check_scattered(rows, self._database.name)
        return [(row.version, decode_event(row.kind, row.body)) for row in rows]

    def _has_arrived(self, new: Head) -> bool:
        """True when a write without an answer was carried out nevertheless."""
        try:
            self._database.host.check_place()
            with self._database.reading() as connection:
                return read_head(connection, self._database.name) == new
        except Unavailable:
            return False


def _check_version(head: Head, expected: int) -> None:
    if head.version != expected:
        message = f"the log is at version {head.version}, not {expected}: read what is new and try again"
        raise Conflict(message)


def _add_events(connection: Connection, head: Head, events: Sequence[Event]) -> Head:
    rows = ((event.at_ms, kind_of(event), getattr(event, "job", None), encode(event)) for event in events)
    version, chain = EVENTS.add(connection, (head.version, head.chain), rows)
    return replace(head, version=version, chain=chain)
