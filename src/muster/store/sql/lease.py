"""The lease in the row of the cluster: read by those that stand by, renewed and given up by the leader."""

import json
from typing import Any

from sqlalchemy import Row, func, select, update

from muster.model.errors import Superseded
from muster.model.machines.lease import LeaseHolder, LeaseRecord
from muster.store.sql.schema import cluster as table
from muster.store.sql.shared_database import SharedDatabase

_READ = select(table.c.epoch, table.c.leader, table.c.beat, table.c.wanted_by)


class SqlLease:
    """The lease of one database."""

    def __init__(self, database: SharedDatabase) -> None:
        self._database = database

    def read(self) -> LeaseRecord:
        """The lease as it is now."""
        row = self._database.renew(_READ)
        return LeaseRecord() if row is None else lease_of(row)

    def renew(self, epoch: int) -> LeaseRecord:
        """Show that this epoch's leader is there. Raises `Superseded` when another epoch has begun."""
        beat = func.coalesce(table.c.beat, 0) + 1
        renewal = update(table).where(table.c.epoch == epoch, table.c.leader.is_not(None)).values(beat=beat)
        row = self._database.renew(renewal.returning(table.c.epoch, table.c.leader, table.c.beat, table.c.wanted_by))
        if row is None:
            raise Superseded(f"{self._database.name}: another control plane leads since epoch {epoch}")
        return lease_of(row)

    def give_up(self, epoch: int) -> None:
        """Let another control plane lead at once, if this epoch is still the present one."""
        given = update(table).where(table.c.epoch == epoch).values(leader=None, beat=0)
        self._database.renew(given.returning(table.c.epoch))

    def want(self, holder: str) -> None:
        """Ask the leader to hand over to this control plane."""
        self._database.renew(update(table).values(wanted_by=holder).returning(table.c.epoch))

    def begin_writing(self, seen: LeaseRecord) -> None:
        """Become the only process that writes, before a new epoch begins. `seen` is the lease that is over."""
        self._database.begin_writing(evict=seen.holder is not None)

    def end_writing(self) -> None:
        """Write nothing more."""
        self._database.end_writing()


def lease_of(row: Row[Any]) -> LeaseRecord:
    """The lease in a row of the cluster."""
    holder = None if row.leader is None else LeaseHolder(**json.loads(row.leader))
    return LeaseRecord(epoch=row.epoch, beat=row.beat or 0, holder=holder, wanted_by=row.wanted_by or "")


def lease_columns(lease: LeaseRecord) -> dict[str, object]:
    """The columns of a lease that is taken. A wish to take it is over with that."""
    holder = lease.holder
    fields = ("id", "url", "machine", "host", "pid", "start_ticks", "muster")
    said = None if holder is None else json.dumps({name: getattr(holder, name) for name in fields})
    return {"leader": said, "beat": 0, "wanted_by": None}
