"""Checks that every row of the store is still what was written, except the row about the cluster, which has no digest.

What the database finds wrong with its own files is reported too. Nothing is changed, and the writer is not blocked.
"""

from collections.abc import Iterator

from sqlalchemy import Connection, select

from muster.model.errors import Corrupted
from muster.model.limits import STORE_PAGE_ROWS
from muster.store.base import AuditVerdict
from muster.store.sql.chains import AUDIT, EVENTS, Chain, first_broken
from muster.store.sql.database import Database
from muster.store.sql.digests import GENESIS, is_sealed, seal
from muster.store.sql.head import check_head
from muster.store.sql.schema import jobs, keys, states, tokens


def verify(database: Database) -> AuditVerdict:
    """Check the store as far as it went when the check began."""
    problems: list[str] = []
    with database.reading() as connection:
        try:
            head = check_head(connection, database.name)
        except Corrupted as error:
            return AuditVerdict(entries=0, events=0, broken_seq=1, broken_version=1, problems=(str(error),))
        problems += database.host.damage(connection, thorough=True)
        problems += _unsound_records(connection)
    broken_version = _walk(database, EVENTS, head.version)
    broken_seq = _walk(database, AUDIT, head.audit_seq)
    for chain, broken in ((EVENTS, broken_version), (AUDIT, broken_seq)):
        if broken is not None:
            problems.append(str(chain.damaged(database.name, broken)))
    return AuditVerdict(
        entries=head.audit_seq if broken_seq is None else broken_seq - 1,
        events=head.version if broken_version is None else broken_version - 1,
        broken_seq=broken_seq,
        broken_version=broken_version,
        problems=tuple(problems),
    )


def _walk(database: Database, chain: Chain, last: int) -> int | None:
    """The first broken row; None when all fit together. Rows are read in pages, so that no transaction is long."""
    link: object = GENESIS
    for after in range(0, last, STORE_PAGE_ROWS):
        until = min(after + STORE_PAGE_ROWS, last)
        try:
            with database.reading() as connection:
                rows = chain.stretch(connection, after, until)
        except Corrupted:
            return after + 1
        broken = first_broken(rows, link, expected=range(after + 1, until + 1))
        if broken is not None:
            return broken
        link = rows[-1].chain
    return None


def _unsound_records(connection: Connection) -> Iterator[str]:
    for table in (jobs, keys, tokens):
        for row in connection.execute(select(table)).yield_per(STORE_PAGE_ROWS):
            if not is_sealed(row):
                yield f"the row of {row[0]} in {table.name} is not what was written"
    for version in connection.scalars(select(states.c.version)).all():
        found = connection.execute(select(states).where(states.c.version == version)).one()
        if seal(*found[:-1], EVENTS.at(connection, version)) != found.digest:
            yield f"the state saved at version {version} is not what was written"
