"""One row: what the cluster is called, whose nodes it has, and how many control planes have led it."""

import os

from sqlalchemy import Connection, insert, select, update

from muster.model.errors import Refused
from muster.model.leadership import Leadership
from muster.model.owner import Owner
from muster.store.sql.database import Database
from muster.store.sql.schema import cluster as table


class SqlClusterRecord:
    """Whose commands the nodes of this database obey."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def owner(self) -> Owner | None:
        """Whose nodes it governs; None when nobody has led it yet."""
        with self._database.reading() as connection:
            return _read(connection)[0]

    def leadership(self) -> Leadership:
        """The newest leadership there is; that of nobody when nobody has led it yet."""
        with self._database.reading() as connection:
            return _read(connection)[1]

    def lead(self, owner: Owner, *, above_epoch: int = 0, take_over: bool = False) -> Leadership:
        """Begin an epoch of one's own, above all that are known.

        Raises `Refused` when the database governs the nodes of another owner and is not to be taken over.
        """
        with self._database.writing("lead") as connection:
            known, last = _read(connection)
            if known is not None and not known.is_same(owner) and not take_over:
                raise Refused(
                    f"{self._database.name} governs the nodes of {known}: two homes on one database would run every "
                    "job twice; `muster up --take-over` ends what runs there and goes on here"
                )
            new = Leadership(
                cluster=last.cluster or os.urandom(8).hex(),
                epoch=max(last.epoch, above_epoch) + 1,
                takes_over=take_over,
            )
            _write(connection, owner, new, is_first=known is None)
        return new


def _read(connection: Connection) -> tuple[Owner | None, Leadership]:
    row = connection.execute(select(table)).first()
    if row is None:
        return None, Leadership()
    owner = Owner(machine=row.machine, home=row.home, host=row.host)
    return owner, Leadership(cluster=row.name, epoch=row.epoch)


def _write(connection: Connection, owner: Owner, leadership: Leadership, *, is_first: bool) -> None:
    values = {
        "name": leadership.cluster,
        "machine": owner.machine,
        "home": owner.home,
        "host": owner.host,
        "epoch": leadership.epoch,
    }
    connection.execute(insert(table).values({"id": 1, **values}) if is_first else update(table).values(values))
