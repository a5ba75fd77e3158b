"""PostgreSQL through psycopg: the one writer holds a lock that lasts as long as its connection."""

from psycopg import Connection as DriverConnection
from psycopg.errors import LockNotAvailable
from sqlalchemy import URL, Connection, Engine, NullPool, QueuePool, create_engine, event, text
from sqlalchemy.exc import OperationalError
from sqlalchemy.pool import ConnectionPoolEntry

from muster.model.errors import Refused
from muster.model.limits import STORE_CLAIM_MS, STORE_READERS

LOCK = 0x4D55_5354
"""Says "MUST": the same for every Muster, so that two of them find each other. The schema is the lock's other half."""

CLAIM = text("SELECT pg_advisory_lock(:lock, hashtext(current_schema()))")

HOLDER = text(
    "SELECT a.pid, a.client_addr::text AS host FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid"
    " WHERE l.locktype = 'advisory' AND l.granted AND l.classid = :lock"
    " AND l.objid::bigint = hashtext(current_schema())::bigint & 4294967295 LIMIT 1"
)


KEEPALIVES = ("SET tcp_keepalives_idle = 30", "SET tcp_keepalives_interval = 10", "SET tcp_keepalives_count = 3")
"""The server lets go of the lock of a machine that was lost after a minute, and not after hours."""


class Postgres:
    """A PostgreSQL database, or one schema of it."""

    def __init__(self, url: URL) -> None:
        self._url = url.set(drivername="postgresql+psycopg")
        self.name = f"the store {url.set(drivername='postgresql').render_as_string(hide_password=True)}"

    def readers(self) -> Engine:
        """Connections that cannot write, each of whose transactions sees one moment."""
        engine = create_engine(
            self._url,
            poolclass=QueuePool,
            pool_size=STORE_READERS,
            max_overflow=STORE_READERS,
            pool_pre_ping=True,
            isolation_level="REPEATABLE READ",
        )
        _prepare(engine, "SET default_transaction_read_only = on")
        return engine

    def writer(self) -> Engine:
        """A connection that waits for the disk, whatever the server does by default."""
        engine = create_engine(self._url, poolclass=NullPool)
        _prepare(engine, "SET synchronous_commit = on", *KEEPALIVES)
        return engine

    def claim(self, connection: Connection) -> None:
        """Take the lock. It goes with the connection, so who has lost the one has lost the other.

        Waits a moment, because the server may not have noticed yet that the last writer is gone.
        """
        try:
            with connection.begin():
                connection.execute(text(f"SET LOCAL lock_timeout = {STORE_CLAIM_MS}"))
                connection.execute(CLAIM, {"lock": LOCK})
        except OperationalError as error:
            if not isinstance(error.orig, LockNotAvailable):
                raise
            raise self._refusal(connection) from error

    def _refusal(self, connection: Connection) -> Refused:
        with connection.begin():
            holder = connection.execute(HOLDER, {"lock": LOCK}).first()
        who = "nobody knows who" if holder is None else f"server process {holder.pid}, from {holder.host or 'here'}"
        return Refused(f"{self.name} is in use by another Muster ({who}): end that one first, or use another store")

    def damage(self, connection: Connection, *, thorough: bool) -> tuple[str, ...]:
        """Nothing: PostgreSQL looks after its own files, and every row of the store has a digest."""
        del connection, thorough
        return ()

    def release(self) -> None:
        """Nothing to do: the lock went with the connection."""


def _prepare(engine: Engine, *settings: str) -> None:
    @event.listens_for(engine, "connect")
    def _set_up(connection: "DriverConnection[object]", _: ConnectionPoolEntry) -> None:
        for setting in (*settings, "SET application_name = 'muster'"):
            connection.execute(setting)
        connection.commit()
