"""SQLite: one file, and beside it a lock file that the only writer holds as long as it lives."""

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from sqlite3 import Connection as DriverConnection
from sqlite3 import OperationalError
from typing import Any
from urllib.parse import quote

from sqlalchemy import URL, Connection, Dialect, Engine, NullPool, QueuePool, create_engine, event
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.pool import ConnectionPoolEntry

from muster.locks import has_locked
from muster.model.errors import InvalidInput, NotFound, Refused
from muster.model.limits import STORE_BUSY_MS, STORE_CHECKED_BYTES, STORE_READERS, STORE_WAL_BYTES
from muster.store.sql.file_identity import DatabaseFiles, is_same, stat_of
from muster.store.sql.schema import metadata

READ_AHEAD_BYTES = 1 << 20

CHECKED_AS_READ = frozenset({"events", "jobs"})
"""The large tables that grow without end. A start reads only the newest part of one of them."""

PRAGMAS = (
    f"busy_timeout = {STORE_BUSY_MS}",
    "synchronous = FULL",  # in WAL mode, syncs the write-ahead log at every commit
    "foreign_keys = ON",
    "cell_size_check = ON",
    "trusted_schema = OFF",
    f"journal_size_limit = {STORE_WAL_BYTES}",
)


class Sqlite:
    """A SQLite file, readable by its owner only."""

    def __init__(self, url: URL, *, write: bool) -> None:
        if not url.database or url.database == ":memory:":
            raise InvalidInput("a store in memory would not be kept; name a file: sqlite:////path/to/muster.db")
        self._path = Path(url.database)
        self.name = f"the store {self._path}"
        # Opening never creates the file: a file that was moved away must not come back empty.
        self._url = url.set(database=f"file:{quote(str(self._path.absolute()))}", query={"mode": "rw", "uri": "true"})
        self._lock: int | None = None
        if write:
            self._make_file()
        elif not self._path.exists():
            raise NotFound(f"there is no store at {self._path}; `muster up` makes one")
        self._place = DatabaseFiles(self._path, self.name)
        self._file: int | None = os.open(self._path, os.O_RDONLY | os.O_CLOEXEC)
        """Kept open until all connections are closed. When a process closes any descriptor of a file, the kernel drops
        all its locks on the file. SQLite's locks would be lost, and other processes would take the journal for left
        behind."""

    def readers(self) -> Engine:
        """Connections that cannot write."""
        engine = create_engine(self._url, poolclass=QueuePool, pool_size=STORE_READERS, max_overflow=STORE_READERS)
        event.listen(engine, "do_connect", self._connect_reader)
        _prepare(engine, (*PRAGMAS, "query_only = ON"), begin="BEGIN", check=self._check_file)
        return engine

    def _connect_reader(
        self, dialect: Dialect, _: ConnectionPoolEntry, given: list[Any], named: dict[str, Any]
    ) -> DBAPIConnection:
        """Open the file even on a full disk. Readers need an index file beside it, for which there may be no room.

        A file without a journal is complete by itself, and can be opened as one that no process changes.
        """
        connection = dialect.connect(*given, **named)
        try:
            connection.cursor().execute("PRAGMA schema_version")
        except OperationalError:
            connection.close()
            if self._place.has_journal:
                raise
            return dialect.connect(f"{given[0]}&immutable=1", *given[1:], **named)
        return connection

    def writer(self) -> Engine:
        """A connection whose transactions take the write lock at their beginning, not in the middle."""
        engine = create_engine(self._url, poolclass=NullPool)
        _prepare(engine, (*PRAGMAS, "journal_mode = WAL"), begin="BEGIN IMMEDIATE", check=self._check_file)
        return engine

    def claim(self, connection: Connection) -> None:
        """The lock was taken before the file was opened, and is still held. Only the journal may be a new one."""
        del connection
        self._place.forget_journal()

    def _check_file(self) -> None:
        self._place.check_file()

    def check_place(self) -> None:
        """Check that the file and its journal are still the ones that lie under their names."""
        self._place.check()

    def check_claim(self, connection: Connection) -> None:
        """Check that the lock file that is held is the one that other processes would try to lock."""
        del connection
        lock = self._lock
        if lock is not None and not is_same(os.fstat(lock), stat_of(self._lock_path)):
            raise Refused(
                f"{self.name}: its lock was removed, so another process may write to it; start only one again"
            )

    def damage(self, connection: Connection, *, thorough: bool) -> tuple[str, ...]:
        """What SQLite's own check says about pages, rows and indexes.

        The check at every start leaves out the log and the records of jobs if the file is large: their rows have
        digests of their own, and are checked as they are read.
        """
        if not thorough and self._path.stat().st_size > STORE_CHECKED_BYTES:
            others = (table for table in metadata.tables if table not in CHECKED_AS_READ)
            return tuple(each for table in others for each in _findings(connection, f"({table})"))
        _read_through(self._file)
        return _findings(connection)

    @property
    def _lock_path(self) -> Path:
        return self._path.with_name(f"{self._path.name}.lock")

    def release(self) -> None:
        """Release the lock. Called once all connections are closed."""
        if self._file is not None:
            os.close(self._file)
            self._file = None
        self._unlock()

    def _unlock(self) -> None:
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def _make_file(self) -> None:
        """Take the lock, and create the file before SQLite does, so that no other user can ever read it."""
        if not self._path.parent.is_dir():
            raise NotFound(f"{self._path.parent} does not exist, so no store can be made in it")
        self._lock = _locked(self._lock_path, self.name)
        try:
            os.close(os.open(self._path, os.O_CREAT | os.O_RDWR, 0o600))
            self._path.chmod(0o600)
            _sync_folder(self._path.parent)
        except OSError:
            self._unlock()
            raise


def _findings(connection: Connection, of: str = "") -> tuple[str, ...]:
    found = connection.exec_driver_sql(f"PRAGMA integrity_check{of}").scalars().all()
    return () if found == ["ok"] else tuple(str(each) for each in found)


def _read_through(file: int | None) -> None:
    """Bring the file into the page cache: reading it from front to back takes a tenth of the time of page by page."""
    offset = 0
    while file is not None and (part := os.pread(file, READ_AHEAD_BYTES, offset)):
        offset += len(part)


def _locked(path: Path, name: str) -> int:
    """A lock that lasts until this process ends for any reason. The process id in the file is for messages only."""
    lock = os.open(path, os.O_CREAT | os.O_RDWR, 0o600)
    if not has_locked(lock):
        holder = os.read(lock, 32).decode("ascii", "replace").strip()
        os.close(lock)
        message = f"{name} is in use by process {holder or 'unknown'}: end that one first, or use another store"
        raise Refused(message)
    with suppress(OSError):  # the disk is full
        os.truncate(lock, 0)
        os.write(lock, f"{os.getpid()}\n".encode())
    return lock


def _sync_folder(folder: Path) -> None:
    """Sync a folder: a new file in it is durable only after that."""
    opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


def _prepare(engine: Engine, pragmas: tuple[str, ...], *, begin: str, check: Callable[[], None]) -> None:
    """Set up every new connection, and begin transactions where SQLAlchemy begins them."""

    @event.listens_for(engine, "connect")
    def _set_up(connection: DriverConnection, _: ConnectionPoolEntry) -> None:
        check()
        connection.isolation_level = None  # the driver must not begin transactions by itself
        for pragma in pragmas:
            connection.execute(f"PRAGMA {pragma}").close()

    @event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        connection.exec_driver_sql(begin)
