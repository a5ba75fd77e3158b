"""One row: the cluster's name, the present and the former owner of its nodes, the epoch and the lease of its leader."""

import os
from dataclasses import dataclass

from sqlalchemy import Connection, insert, select, update

from muster.model.errors import Refused, Superseded
from muster.model.machines.lease import LeaseHolder, LeaseRecord
from muster.model.machines.ownership import Leadership, Owner
from muster.store.sql.database import Database
from muster.store.sql.lease import lease_columns, lease_of
from muster.store.sql.schema import cluster as table


@dataclass(frozen=True, slots=True, kw_only=True)
class _Row:
    owner: Owner | None = None
    former: Owner | None = None
    leadership: Leadership = Leadership()
    lease: LeaseRecord = LeaseRecord()


class SqlClusterRecord:
    """Which control plane the nodes of this database obey."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def owner(self) -> Owner | None:
        """The owner of the nodes; None when no control plane has led the cluster yet."""
        return self._read().owner

    def former(self) -> Owner | None:
        """The former owner of the nodes, until the log says that what those nodes ran has ended."""
        return self._read().former

    def leadership(self) -> Leadership:
        """The newest leadership; an empty one when no control plane has led the cluster yet."""
        return self._read().leadership

    def lead(
        self,
        owner: Owner,
        *,
        above_epoch: int = 0,
        take_over: bool = False,
        holder: LeaseHolder | None = None,
        seen: LeaseRecord | None = None,
    ) -> Leadership:
        """Begin a new epoch, above all that are known. An owner that is replaced is stored as the former owner.

        Raises `Refused` when the nodes have another owner and `take_over` is not set. With a holder, the epoch begins
        with a lease, unless the lease is not any more as it was seen: then it raises `Superseded`.
        """
        self._database.epoch = None
        with self._database.writing("lead") as connection:
            # Waits for every transaction of the last epoch, and keeps others from beginning.
            known = _read(connection, to_change=True)
            if seen is not None and seen != known.lease:
                raise Superseded(f"{self._database.name}: another control plane has taken or renewed the lease")
            is_taken_over = known.owner is not None and not known.owner.is_same(owner)
            if is_taken_over and not take_over:
                raise Refused(
                    f"{self._database.name} governs the nodes of {known.owner}: two homes on one database would run "
                    "every job twice; `muster up --take-over` ends what runs there and goes on here"
                )
            new = Leadership(
                cluster=known.leadership.cluster or os.urandom(8).hex(),
                epoch=max(known.leadership.epoch, above_epoch) + 1,
            )
            former = _former(known, owner) if is_taken_over else known.former
            lease = LeaseRecord(epoch=new.epoch, holder=holder)
            row = _Row(owner=owner, former=former, leadership=new, lease=lease)
            _write(connection, row, is_first=known.owner is None)
        if holder is not None:
            self._database.epoch = new.epoch
        return new

    def forget_former(self) -> None:
        """Drop the former owner, once the log says that what its nodes ran has ended."""
        with self._database.writing("forget_former") as connection:
            connection.execute(update(table).values(_columns(None, "former_")))

    def _read(self) -> _Row:
        with self._database.reading() as connection:
            return _read(connection)


def _former(known: _Row, owner: Owner) -> Owner | None:
    """The owner whose end has to be recorded.

    If the present owner has not yet recorded the end of the one before it, it has started nothing, and that older owner
    stays the former one.
    """
    former = known.former or known.owner
    return None if former is None or former.is_same(owner) else former


def _read(connection: Connection, *, to_change: bool = False) -> _Row:
    row = connection.execute(select(table).with_for_update() if to_change else select(table)).first()
    if row is None:
        return _Row()
    former = row.former_home is not None
    return _Row(
        owner=Owner(machine=row.machine, home=row.home, host=row.host),
        former=Owner(machine=row.former_machine, home=row.former_home, host=row.former_host) if former else None,
        leadership=Leadership(cluster=row.name, epoch=row.epoch),
        lease=lease_of(row),
    )


def _write(connection: Connection, row: _Row, *, is_first: bool) -> None:
    named = {"name": row.leadership.cluster, "epoch": row.leadership.epoch}
    values = {**named, **_columns(row.owner), **_columns(row.former, "former_"), **lease_columns(row.lease)}
    connection.execute(insert(table).values({"id": 1, **values}) if is_first else update(table).values(values))


def _columns(owner: Owner | None, prefix: str = "") -> dict[str, str | None]:
    return {f"{prefix}{key}": None if owner is None else getattr(owner, key) for key in ("machine", "home", "host")}
