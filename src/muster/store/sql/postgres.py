"""PostgreSQL through psycopg: the only writer holds a lock that lasts as long as its connection."""

import time
from typing import Any, TypeVar, cast

from psycopg import Connection as DriverConnection
from psycopg import OperationalError as DriverError
from psycopg.abc import PQGen
from psycopg.errors import LockNotAvailable
from sqlalchemy import URL, Connection, Dialect, Engine, NullPool, QueuePool, create_engine, event, text
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.exc import OperationalError
from sqlalchemy.pool import ConnectionPoolEntry

from muster.model.errors import Refused
from muster.model.limits import STORE_CLAIM_MS, STORE_CONNECT_S, STORE_READ_MS, STORE_READERS, STORE_WRITE_MS
from muster.model.machines.lease import LEASE_ANSWER_MS

T = TypeVar("T")

LOCK = 0x4D55_5354
"""Spells "MUST". It is the same for every Muster, so that two of them collide. The lock's other half is the schema."""

CLAIM = text("SELECT pg_advisory_lock(:lock, hashtext(current_schema()))")

HOLDER = text(
    "SELECT a.pid, a.client_addr::text AS host FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid"
    " WHERE l.locktype = 'advisory' AND l.granted AND l.classid = :lock"
    " AND l.objid::bigint = hashtext(current_schema())::bigint & 4294967295 LIMIT 1"
)

EVICT = text(
    "SELECT pg_terminate_backend(l.pid) FROM pg_locks l"
    " WHERE l.locktype = 'advisory' AND l.granted AND l.classid = :lock AND l.pid <> pg_backend_pid()"
    " AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())"
    " AND l.objid::bigint = hashtext(current_schema())::bigint & 4294967295"
)

IDENTITY = text(
    "SELECT concat_ws('/', system_identifier, current_database(), current_schema()) FROM pg_control_system()"
)

MIGRATING = text("SELECT pg_advisory_xact_lock(:lock, hashtext(current_schema()))")

KEEPALIVES = ("SET tcp_keepalives_idle = 30", "SET tcp_keepalives_interval = 10", "SET tcp_keepalives_count = 3")
"""So the server releases the lock of a lost machine after a minute, and not after hours."""

OWN_KEEPALIVES = {
    "connect_timeout": str(STORE_CONNECT_S),
    "keepalives_idle": "10",
    "keepalives_interval": "5",
    "keepalives_count": "3",
    "tcp_user_timeout": str(STORE_WRITE_MS),
}
"""How this side notices that the server's machine was lost. The store's URL may override it."""


class Postgres:
    """A PostgreSQL database, or one schema of it."""

    def __init__(self, url: URL) -> None:
        own = {key: value for key, value in OWN_KEEPALIVES.items() if key not in url.query}
        self._url = url.set(drivername="postgresql+psycopg").update_query_dict(own)
        self.name = f"the store {url.set(drivername='postgresql').render_as_string(hide_password=True)}"

    def readers(self) -> Engine:
        """Connections that cannot write. Each of their transactions sees one moment of the database."""
        engine = create_engine(
            self._url,
            poolclass=QueuePool,
            pool_size=STORE_READERS,
            max_overflow=STORE_READERS,
            pool_pre_ping=True,
            isolation_level="REPEATABLE READ",
        )
        _prepare(engine, "SET default_transaction_read_only = on", answer_ms=STORE_READ_MS)
        return engine

    def writer(self) -> Engine:
        """A connection whose commits wait for the disk, whatever the server's default is."""
        engine = create_engine(self._url, poolclass=NullPool)
        _prepare(engine, "SET synchronous_commit = on", *KEEPALIVES, answer_ms=STORE_WRITE_MS)
        return engine

    def renewer(self) -> Engine:
        """A connection for the lease, which gives up soon. A beat that a crash could undo would mislead the others."""
        bounds = {"connect_timeout": str(LEASE_ANSWER_MS // 1000), "tcp_user_timeout": str(LEASE_ANSWER_MS)}
        engine = create_engine(self._url.update_query_dict(bounds), poolclass=NullPool)
        _prepare(engine, "SET synchronous_commit = on", answer_ms=LEASE_ANSWER_MS)
        return engine

    def claim(self, connection: Connection) -> None:
        """Take the lock. It belongs to the connection: a writer that has lost the connection has lost the lock.

        It waits a moment, because the server may not have noticed yet that the last writer is gone.
        """
        try:
            with connection.begin():
                connection.execute(text(f"SET LOCAL lock_timeout = {STORE_CLAIM_MS}"))
                connection.execute(CLAIM, {"lock": LOCK})
        except OperationalError as error:
            if not isinstance(error.orig, LockNotAvailable):
                raise
            raise self._refusal(connection) from error

    def evict(self, connection: Connection) -> None:
        """End the session that holds the lock. The process may be stopped in the middle of a transaction."""
        with connection.begin():
            connection.execute(EVICT, {"lock": LOCK})

    def identity(self, connection: Connection) -> str:
        """The server's permanent number, the database and the schema, however they are reached."""
        return str(connection.execute(IDENTITY).scalar_one())

    def migrating(self, connection: Connection) -> None:
        """Take a lock that lasts as long as the transaction."""
        connection.execute(MIGRATING, {"lock": LOCK + 1})

    def _refusal(self, connection: Connection) -> Refused:
        with connection.begin():
            holder = connection.execute(HOLDER, {"lock": LOCK}).first()
        who = "nobody knows who" if holder is None else f"server process {holder.pid}, from {holder.host or 'here'}"
        return Refused(f"{self.name} is in use by another Muster ({who}): end that one first, or use another store")

    def check_place(self) -> None:
        """Do nothing: a server looks after its own files."""

    def check_claim(self, connection: Connection) -> None:
        """Check that the connection works: the lock belongs to it."""
        with connection.begin():
            connection.execute(text("SELECT 1"))

    def damage(self, connection: Connection, *, thorough: bool) -> tuple[str, ...]:
        """Nothing: PostgreSQL looks after its own files, and the rows of the store have digests."""
        del connection, thorough
        return ()

    def release(self) -> None:
        """Do nothing: the lock was released with the connection."""


class _BoundedConnection(DriverConnection[Any]):
    """A connection with a time limit for every answer: a server that hangs keeps its connections open."""

    answer_ms = STORE_WRITE_MS

    def wait(self, gen: PQGen[T], interval: float = 0.1, timeout: float | None = None) -> T:
        """Wait for an answer. After the limit, close the connection: a late answer would be taken for the next one."""
        bound_s = self.answer_ms / 1000
        ends_s = time.monotonic() + bound_s
        try:
            return super().wait(gen, interval, bound_s if timeout is None else min(timeout, bound_s))
        except DriverError:
            if time.monotonic() < ends_s:
                raise
            self.pgconn.finish()
            raise DriverError(f"no answer within {bound_s:.0f} s") from None


def _prepare(engine: Engine, *settings: str, answer_ms: int) -> None:
    # The server times out first, so that its error arrives and the connection can be used again.
    bounds = (f"SET statement_timeout = {answer_ms * 9 // 10}", f"SET lock_timeout = {answer_ms // 2}")

    @event.listens_for(engine, "do_connect")
    def _connect(_: Dialect, __: ConnectionPoolEntry, given: list[Any], named: dict[str, Any]) -> DBAPIConnection:
        made = _BoundedConnection.connect(*given, **named)
        made.answer_ms = answer_ms
        return cast(DBAPIConnection, made)

    @event.listens_for(engine, "connect")
    def _set_up(connection: "DriverConnection[object]", _: ConnectionPoolEntry) -> None:
        for setting in (*settings, *bounds, "SET application_name = 'muster'"):
            connection.execute(setting)
        connection.commit()
