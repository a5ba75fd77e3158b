"""Saved engine states, each bound to the event after which it was saved."""

from typing import Any

from sqlalchemy import Connection, Row, delete, insert, select

from muster.model.errors import Conflict, Corrupted
from muster.model.limits import SAVED_STATES
from muster.store.base import SavedState
from muster.store.sql.chains import EVENTS
from muster.store.sql.database import Database
from muster.store.sql.digests import seal
from muster.store.sql.schema import states as table


class SqlStateStore:
    """The newest states. A damaged one is skipped, because it can be made again from the log."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def save_state(self, version: int, layout: str, body: bytes) -> None:
        """Save a state, and drop all but the newest `SAVED_STATES`."""
        with self._database.writing("save_state") as connection:
            chain = EVENTS.at(connection, version)
            if chain is None:
                raise Conflict(f"there is no event {version} yet, so no state was folded from it")
            connection.execute(delete(table).where(table.c.version == version))
            digest = seal(version, layout, body, chain)
            row = {"version": version, "layout": layout, "body": body, "digest": digest}
            connection.execute(insert(table), row)
            newest = connection.scalars(select(table.c.version).order_by(table.c.version.desc()).limit(SAVED_STATES))
            connection.execute(delete(table).where(table.c.version.not_in(newest.all())))

    def load_state(self, layout: str) -> SavedState | None:
        """The newest state of this layout that is undamaged and belongs to this log."""
        versions = select(table.c.version).where(table.c.layout == layout).order_by(table.c.version.desc())
        with self._database.reading() as connection:
            candidates = connection.scalars(versions).all()
        for version in candidates:
            if (found := self._whole(version)) is not None:
                return found
        return None

    def _whole(self, version: int) -> SavedState | None:
        try:
            with self._database.reading() as connection:
                row = connection.execute(select(table).where(table.c.version == version)).first()
                if row is not None and _is_sound(connection, row):
                    return SavedState(version=row.version, body=row.body)
        except Corrupted:
            pass  # the file is damaged at this state; there may be an older one
        return None


def _is_sound(connection: Connection, row: Row[Any]) -> bool:
    """True when the row is what was written, and the log up to it is the one it was saved for."""
    return bool(seal(*row[:-1], EVENTS.at(connection, row.version)) == row.digest)
