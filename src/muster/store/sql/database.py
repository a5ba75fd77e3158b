"""Connections to one database: many readers, and at most one writer."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import RLock
from typing import Protocol

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import DBAPIError

from muster.failpoints import failpoint
from muster.model.errors import Refused
from muster.store.sql.failures import in_own_words
from muster.store.sql.fencing import check_epoch


class Host(Protocol):
    """What differs between SQLite and PostgreSQL."""

    @property
    def name(self) -> str:
        """The name of the database for messages, without its password."""
        ...

    def readers(self) -> Engine:
        """Connections that cannot write. Each of their transactions sees one moment of the database."""
        ...

    def writer(self) -> Engine:
        """Connections whose commits are durable when they return."""
        ...

    def claim(self, connection: Connection) -> None:
        """Become the only writer, on this connection. Raises `Refused` when another process is the writer."""
        ...

    def check_place(self) -> None:
        """Check that the opened file still lies under its name. Asks only the file system."""
        ...

    def check_claim(self, connection: Connection) -> None:
        """Check that this process is still the only writer, on its connection."""
        ...

    def damage(self, connection: Connection, *, thorough: bool) -> tuple[str, ...]:
        """What the database itself finds wrong with its files. A thorough check may take long."""
        ...

    def release(self) -> None:
        """Let another process write."""
        ...


class Database:
    """One open database. Any thread may read; threads that write wait for each other."""

    def __init__(self, host: Host, *, write: bool) -> None:
        self.host = host
        self.name = host.name
        self._may_write = write
        self._readers = host.readers()
        self._writer_engine = host.writer()
        self._writer: Connection | None = None
        self._turn = RLock()
        self.epoch: int | None = None
        """The epoch under which this process writes; None where no lease is needed to write."""
        self.before_writing: Callable[[Connection], None] | None = None
        """What has to be done before anything else is written, if it could not be done when the database was opened."""

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A transaction that sees one moment of the database."""
        with in_own_words(self.name), self._readers.connect() as connection, connection.begin():
            yield connection

    @contextmanager
    def writing(self, what: str) -> Iterator[Connection]:
        """A transaction that is durable once the context ends, and leaves no trace if it ends with an error.

        `what` names the failpoints before and after the commit.
        """
        with in_own_words(self.name), self._turn, self._writing_connection() as connection:
            self.host.check_place()
            with connection.begin():
                self._check_epoch(connection)
                yield connection
                failpoint(f"{what}.before-commit")
            failpoint(f"{what}.after-commit")
            # Check again: a write into a file that was moved away meanwhile must not be acknowledged.
            self.host.check_place()

    def check(self) -> None:
        """Check that the database is where it was opened, and that this is its writer. A lost claim is made again."""
        with in_own_words(self.name), self._turn, self._writing_connection() as connection:
            self.host.check_place()
            self.host.check_claim(connection)
            with connection.begin():
                self._check_epoch(connection)

    def _check_epoch(self, connection: Connection) -> None:
        if self.epoch is not None:
            check_epoch(connection, self.epoch, self.name)

    @contextmanager
    def _writing_connection(self) -> Iterator[Connection]:
        """The connection that may write, made again if it was lost."""
        if not self._may_write:
            raise Refused(f"{self.name} was opened for reading only, or another process writes to it now")
        if self._writer is None:
            self._writer = self._claimed()
        try:
            if self.before_writing is not None:
                with self._writer.begin():
                    self.before_writing(self._writer)
                self.before_writing = None
            yield self._writer
        except DBAPIError as error:
            if error.connection_invalidated:
                self._drop_writer()
            raise

    def _claimed(self) -> Connection:
        connection = self._writer_engine.connect()
        try:
            self.host.claim(connection)
        except BaseException:
            connection.close()
            raise
        # Readers that were opened while no process could write may see only what was there then.
        self._readers.dispose()
        return connection

    def _drop_writer(self) -> None:
        if self._writer is not None:
            self._writer.close()
            self._writer = None

    def close(self) -> None:
        """Close all connections, and give up the right to write."""
        with self._turn:
            self._readers.dispose()
            self._drop_writer()
            self._writer_engine.dispose()
            self._may_write = False
            self.host.release()
