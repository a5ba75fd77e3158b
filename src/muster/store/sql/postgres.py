"""PostgreSQL through psycopg: the one writer holds a lock that lasts as long as its connection."""

from psycopg import Connection as DriverConnection
from sqlalchemy import URL, Connection, Engine, NullPool, QueuePool, create_engine, event, text
from sqlalchemy.pool import ConnectionPoolEntry

from muster.model.errors import Refused
from muster.model.limits import STORE_READERS

LOCK = 0x4D55_5354
"""Says "MUST": the same for every Muster, so that two of them find each other. The schema is the lock's other half."""

HOLDER = text(
    "SELECT a.pid, a.client_addr::text AS host FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid"
    " WHERE l.locktype = 'advisory' AND l.granted AND l.classid = :lock"
    " AND l.objid::bigint = hashtext(current_schema())::bigint & 4294967295 LIMIT 1"
)


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
        _prepare(engine, "SET synchronous_commit = on")
        return engine

    def claim(self, connection: Connection) -> None:
        """Take the lock. It goes with the connection, so who has lost the one has lost the other."""
        with connection.begin():
            asked = text("SELECT pg_try_advisory_lock(:lock, hashtext(current_schema()))")
            if connection.scalar(asked, {"lock": LOCK}):
                return
            holder = connection.execute(HOLDER, {"lock": LOCK}).first()
        who = "another process" if holder is None else f"server process {holder.pid}, from {holder.host or 'here'}"
        raise Refused(f"{self.name} is in use by another Muster ({who}): end that one first, or use another store")

    def damage(self, connection: Connection, *, thorough: bool) -> tuple[str, ...]:
        """Nothing: PostgreSQL looks after its own files, and every row of the store has a digest."""
        del connection, thorough
        return ()

    def release(self) -> None:
        """Nothing to do: the lock went with the connection."""


def _prepare(engine: Engine, setting: str) -> None:
    @event.listens_for(engine, "connect")
    def _set_up(connection: "DriverConnection[object]", _: ConnectionPoolEntry) -> None:
        connection.execute(setting)
        connection.execute("SET application_name = 'muster'")
        connection.commit()
