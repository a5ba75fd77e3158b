"""A database that several control planes have open: all read, and the one that leads writes."""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Any, Protocol

from sqlalchemy import Connection, Engine, Executable, Row
from sqlalchemy.exc import DBAPIError

from muster.store.sql.database import Database, Host
from muster.store.sql.failures import in_own_words


class SharedHost(Host, Protocol):
    """What a database needs besides, so that another process can take the writer's place."""

    def renewer(self) -> Engine:
        """Connections for the lease: their commits are durable too, and their answers come soon or never."""
        ...

    def evict(self, connection: Connection) -> None:
        """End the session of the present writer, with its open transaction."""
        ...

    def identity(self, connection: Connection) -> str:
        """What names the database, by whatever address it is reached."""
        ...

    def migrating(self, connection: Connection) -> None:
        """Keep others from changing the schema until this transaction ends."""
        ...


class SharedDatabase(Database):
    """Opened for reading. It may become the writer's, and cease to be."""

    def __init__(self, host: SharedHost) -> None:
        super().__init__(host, write=False)
        self._shared_host = host
        self._renewer_engine = host.renewer()
        self._renewer: Connection | None = None
        self._renewing = Lock()

    def identity(self) -> str:
        """What names the database, by whatever address it is reached."""
        with self.reading() as connection:
            return self._shared_host.identity(connection)

    @contextmanager
    def migrating(self) -> Iterator[Connection]:
        """A transaction that changes the schema. It needs no claim: another process may be the writer meanwhile."""
        with in_own_words(self.name), self._writer_engine.connect() as connection, connection.begin():
            self._shared_host.migrating(connection)
            yield connection

    def begin_writing(self, *, evict: bool) -> None:
        """Become the writer. Raises `Refused` when another process is it.

        With `evict`, the session of a writer whose lease is over is ended first: its process may be stopped.
        """
        with in_own_words(self.name), self._turn:
            self.epoch = None
            self._may_write = True
            if self._writer is not None:
                return
            if evict:
                with self._writer_engine.connect() as connection:
                    self._shared_host.evict(connection)
            self._writer = self._claimed()

    def end_writing(self) -> None:
        """Write nothing more, and let another process do it. Threads of this one that still want to are refused."""
        with self._turn:
            self._may_write = False
            self.epoch = None
            self._drop_writer()

    def renew(self, statement: Executable) -> Row[Any] | None:
        """Run a statement about the lease on a connection of its own, so that it waits for no other write."""
        with in_own_words(self.name), self._renewing:
            if self._renewer is None:
                self._renewer = self._renewer_engine.connect()
            try:
                with self._renewer.begin():
                    return self._renewer.execute(statement).first()
            except DBAPIError:
                self._renewer.close()
                self._renewer = None
                raise

    def close(self) -> None:
        """Close all connections, and give up the right to write."""
        super().close()
        with self._renewing:
            if self._renewer is not None:
                self._renewer.close()
                self._renewer = None
            self._renewer_engine.dispose()
