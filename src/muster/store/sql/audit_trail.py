"""Who did what, in a table that is chained like the log."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy import Connection, Row, Select

from muster.model.audit import AuditEntry
from muster.store.base import EVERYTHING, AuditFilter, AuditHead, AuditRecord, AuditVerdict
from muster.store.codec import decode_pairs, encode
from muster.store.sql.chains import AUDIT
from muster.store.sql.database import Database
from muster.store.sql.head import Head, read_head
from muster.store.sql.schema import audit as table
from muster.store.sql.verification import verify


class SqlAuditTrail:
    """The audit entries."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def entries(self, after_seq: int, limit: int, filters: AuditFilter = EVERYTHING) -> Sequence[AuditRecord]:
        """Up to `limit` entries after `after_seq`, oldest first, each checked against the one before it."""
        asked = AUDIT.scattered().where(table.c.seq > after_seq).order_by(table.c.seq)
        return self._found(_matching(asked, filters).limit(limit))

    def latest(self, before_seq: int | None, limit: int, filters: AuditFilter = EVERYTHING) -> Sequence[AuditRecord]:
        """Up to `limit` entries before `before_seq`, or up to the last one, newest first, each checked likewise."""
        asked = AUDIT.scattered().order_by(table.c.seq.desc())
        if before_seq is not None:
            asked = asked.where(table.c.seq < before_seq)
        return self._found(_matching(asked, filters).limit(limit))

    def _found(self, asked: Select[Any]) -> Sequence[AuditRecord]:
        with self._database.reading() as connection:
            rows = connection.execute(asked).all()
        AUDIT.check_scattered(rows, self._database.name)
        return [_record(row) for row in rows]

    def head(self) -> AuditHead:
        """Where the audit ends now."""
        with self._database.reading() as connection:
            head = read_head(connection, self._database.name)
        return AuditHead(seq=head.audit_seq, chain=head.audit_chain.hex())

    def chain_at(self, seq: int) -> str | None:
        """The chain of an entry, as it is stored."""
        with self._database.reading() as connection:
            chain = AUDIT.at(connection, seq)
        return chain.hex() if isinstance(chain, bytes) else None

    def verify(self) -> AuditVerdict:
        """Check everything that is stored."""
        return verify(self._database)


def _matching(asked: Select[Any], filters: AuditFilter) -> Select[Any]:
    for name in ("by", "action", "subject"):
        if (wanted := getattr(filters, name)) is not None:
            asked = asked.where(table.c[name] == wanted)
    if filters.since_ms is not None:
        asked = asked.where(table.c.at_ms >= filters.since_ms)
    return asked if filters.until_ms is None else asked.where(table.c.at_ms < filters.until_ms)


def add_entries(connection: Connection, head: Head, entries: Sequence[AuditEntry]) -> Head:
    """Write the entries at the present version of the log, and return the head after them."""
    rows = (_row(entry, head.version) for entry in entries)
    seq, chain = AUDIT.add(connection, (head.audit_seq, head.audit_chain), rows)
    return replace(head, audit_seq=seq, audit_chain=chain)


def _row(entry: AuditEntry, version: int) -> Sequence[object]:
    by, action, subject, reason = map(_storable, (entry.by, entry.action, entry.subject, entry.reason))
    detail = encode(tuple((_storable(key), _storable(value)) for key, value in entry.detail))
    return (entry.at_ms, by, action, subject, detail, reason, version)


def _storable(text: str) -> str:
    """The text in a form that any database can store: a user's reason must not make the whole write fail."""
    return text.encode("utf-8", "replace").decode().replace("\0", "\N{REPLACEMENT CHARACTER}")


def _record(row: Row[Any]) -> AuditRecord:
    entry = AuditEntry(
        at_ms=row.at_ms,
        by=row.by,
        action=row.action,
        subject=row.subject,
        detail=decode_pairs(row.detail),
        reason=row.reason,
    )
    return AuditRecord(seq=row.seq, entry=entry, version=row.version, chain=row.chain.hex())
