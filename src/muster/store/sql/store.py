"""Opens the whole store."""

from types import TracebackType
from typing import Self

from sqlalchemy import URL, Connection, make_url
from sqlalchemy.exc import ArgumentError

from muster.model.errors import Corrupted, InvalidInput, Unavailable
from muster.store.sql.audit_trail import SqlAuditTrail
from muster.store.sql.cluster_record import SqlClusterRecord
from muster.store.sql.database import Database, Host
from muster.store.sql.event_log import SqlEventLog
from muster.store.sql.head import check_head
from muster.store.sql.job_archive import SqlJobArchive
from muster.store.sql.lease import SqlLease
from muster.store.sql.shared_database import SharedDatabase
from muster.store.sql.sqlite import Sqlite
from muster.store.sql.state_store import SqlStateStore
from muster.store.sql.tokens import SqlTokenStore
from muster.store.sql.upgrade import bring_up_to_date, check_up_to_date


def open_store(url: str, *, write: bool) -> "SqlStore":
    """Open the store at `sqlite:////path/to/muster.db` or `postgresql://user@host/database`.

    For writing, it is created if there is none, and brought to the newest schema. If it cannot be written now and its
    schema is the newest already, that step is put off until the first write that succeeds. Raises `Refused` when
    another process has it open for writing, `TooNew` when a newer Muster made it, `Corrupted` when it is damaged.
    """
    database = Database(host_of(url, write=write), write=write)
    try:
        _prepare(database, write=write)
    except BaseException:
        database.close()
        raise
    return SqlStore(database)


def open_shared_store(url: str) -> "SharedStore":
    """Open a PostgreSQL database that other control planes may have open too: for reading, until it is led from here.

    The schema is created or brought up to date at once, also while another process leads: migrations only add to it.
    """
    from muster.store.sql.postgres import Postgres  # noqa: PLC0415

    host = host_of(url, write=False)
    assert isinstance(host, Postgres)
    database = SharedDatabase(host)
    try:
        with database.migrating() as connection:
            bring_up_to_date(connection, database.name)
        with database.reading() as connection:
            check_head(connection, database.name)
    except BaseException:
        database.close()
        raise
    return SharedStore(database)


class SqlStore:
    """An open store, with one attribute for each port."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.log = SqlEventLog(database)
        self.states = SqlStateStore(database)
        self.audit = SqlAuditTrail(database)
        self.tokens = SqlTokenStore(database)
        self.jobs = SqlJobArchive(database)
        self.cluster = SqlClusterRecord(database)

    @property
    def name(self) -> str:
        """The kind and the place of the store for messages, without a password."""
        return self._database.name

    def close(self) -> None:
        """Close the database, so that another process may write."""
        self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class SharedStore(SqlStore):
    """An open store that several control planes share."""

    def __init__(self, database: SharedDatabase) -> None:
        super().__init__(database)
        self.lease = SqlLease(database)
        self.identity = database.identity()
        """What names the database, by whatever address it is reached."""


def host_of(url: str, *, write: bool) -> Host:
    """The adapter for the kind of database that the URL names."""
    try:
        parsed: URL = make_url(url)
    except ArgumentError:
        raise InvalidInput("the store's url cannot be read; write sqlite:////path or postgresql://…") from None
    match parsed.get_backend_name():
        case "sqlite":
            return Sqlite(parsed, write=write)
        case "postgresql" | "postgres":
            # Imported here, because most stores are SQLite files and should not pay for the import at every start.
            from muster.store.sql.postgres import Postgres  # noqa: PLC0415

            return Postgres(parsed)
        case other:
            raise InvalidInput(f"a store cannot be kept in {other!r}; write sqlite:////path or postgresql://…")


def _prepare(database: Database, *, write: bool) -> None:
    """Look for damage, bring the schema up to date, and check that the log and the audit end where they should."""
    if write:
        _upgrade_now_or_later(database)
    with database.reading() as connection:
        if not write:
            _check_files(database, connection)
        if not write or database.before_writing is not None:
            check_up_to_date(connection, database.name)
        check_head(connection, database.name)


def _upgrade_now_or_later(database: Database) -> None:
    """Upgrade now, or before the first write if nothing can be written now, as on a full disk. Reads work at once."""

    def upgrade(connection: Connection) -> None:
        _check_files(database, connection)
        bring_up_to_date(connection, database.name)

    try:
        with database.writing("upgrade") as connection:
            upgrade(connection)
    except Unavailable:
        database.before_writing = upgrade


def _check_files(database: Database, connection: Connection) -> None:
    if found := database.host.damage(connection, thorough=False):
        raise Corrupted(f"{database.name} is damaged ({found[0]}); restore it from a copy")
