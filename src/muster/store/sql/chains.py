"""Tables that only grow, in which every row is chained to the one before: the log and the audit.

The first column numbers the rows from 1 without a gap. The last is the chain: a digest of the previous row's chain and
of all other columns.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Row, Select, Table, insert, select

from muster.model.errors import Corrupted
from muster.store.sql.digests import GENESIS, seal
from muster.store.sql.schema import audit, events


@dataclass(frozen=True, slots=True, kw_only=True)
class Chain:
    """One table of this kind."""

    table: Table
    row_name: str
    """What a row is called in messages."""

    @property
    def number(self) -> Any:
        """The column that numbers the rows."""
        return next(iter(self.table.c))

    def add(
        self, connection: Connection, end: tuple[int, bytes], rows: Iterable[Sequence[object]]
    ) -> tuple[int, bytes]:
        """Append rows, given without number and chain; returns the number and the chain of the last row."""
        number, chain = end
        names = self.table.c.keys()
        made: list[Mapping[str, object]] = []
        for row in rows:
            number += 1
            chain = seal(chain, number, *row)
            made.append(dict(zip(names, (number, *row, chain), strict=True)))
        if made:
            connection.execute(insert(self.table), made)
        return number, chain

    def at(self, connection: Connection, number: int) -> object:
        """The chain of a row; None when there is no such row."""
        if number == 0:
            return GENESIS
        return connection.scalar(select(self.table.c.chain).where(self.number == number))

    def stretch(self, connection: Connection, after: int, last: int) -> Sequence[Row[Any]]:
        """The rows after `after` up to `last`, as they are in the table."""
        asked = select(self.table).where(self.number > after, self.number <= last)
        return connection.execute(asked.order_by(self.number)).all()

    def scattered(self) -> Select[Any]:
        """A query for single rows, each with the chain of the row before it as one more column."""
        before = self.table.alias("before")
        return select(self.table, before.c.chain).outerjoin(before, next(iter(before.c)) == self.number - 1)

    def check_scattered(self, rows: Sequence[Sequence[Any]], name: str) -> None:
        """Raise `Corrupted` unless all rows that `scattered` found are what was written."""
        for row in rows:
            before = GENESIS if row[0] == 1 else row[-1]
            if seal(before, *row[:-2]) != row[-2]:
                raise self.damaged(name, row[0])

    def damaged(self, name: str, number: int) -> Corrupted:
        """The error for a row that is missing or is not what was written."""
        message = f"{name}: {self.row_name} {number}, or the one before it, is missing or is not what was written"
        return Corrupted(f"{message}; restore the store from a copy")


EVENTS = Chain(table=events, row_name="event")
AUDIT = Chain(table=audit, row_name="audit entry")


def first_broken(rows: Sequence[Sequence[Any]], chain: object, *, expected: range) -> int | None:
    """The first number whose row is missing or does not fit the chain before it; None when all rows are sound."""
    for row, number in zip(rows, expected, strict=False):
        if row[0] != number or seal(chain, *row[:-1]) != row[-1]:
            return number
        chain = row[-1]
    return expected[len(rows)] if len(rows) < len(expected) else None
