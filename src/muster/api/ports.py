"""What the API needs of parts that it does not know: stores, logs and terminals."""

from collections.abc import Callable, Sequence
from typing import Protocol

from muster.model.audit import AuditEntry
from muster.model.events import Event
from muster.model.ids import JobId


class EventPages(Protocol):
    """The log a page at a time."""

    def events_after(self, version: int, limit: int, job: JobId | None = None) -> Sequence[tuple[int, Event]]:
        """Up to `limit` events behind `version`, each with its own version; only those that name `job` if given."""
        ...


class AuditRecord(Protocol):
    """An entry of the audit as it was written."""

    @property
    def seq(self) -> int:
        """The first entry is 1; none is ever left out."""
        ...

    @property
    def entry(self) -> AuditEntry:
        """Who did what."""
        ...

    @property
    def version(self) -> int:
        """Of the log, once what the entry tells of was written."""
        ...

    @property
    def chain(self) -> str:
        """The digest over this entry and all before it."""
        ...


class AuditVerdict(Protocol):
    """What a walk through everything that is kept has found."""

    @property
    def entries(self) -> int:
        """Entries that are whole, from the first on."""
        ...

    @property
    def events(self) -> int:
        """Events that are whole, from the first on."""
        ...

    @property
    def problems(self) -> tuple[str, ...]:
        """Everything that is wrong, in words."""
        ...


class AuditTrail(Protocol):
    """Who did what."""

    def entries(self, after_seq: int, limit: int) -> Sequence[AuditRecord]:
        """Up to `limit` entries behind `after_seq`, oldest first."""
        ...

    def verify(self) -> AuditVerdict:
        """Walk through all that is kept. May take a while."""
        ...


class LogChunk(Protocol):
    """A part of what a worker printed."""

    @property
    def start(self) -> int:
        """Where the part begins: the number of bytes before it."""
        ...

    @property
    def data(self) -> bytes:
        """The part itself."""
        ...

    @property
    def end(self) -> int:
        """Where to go on reading."""
        ...

    @property
    def is_complete(self) -> bool:
        """True when the worker is gone and nothing comes after this part."""
        ...


class LogSource(Protocol):
    """What workers printed. Called on threads of its own, as it may wait for a disk."""

    def read(self, job: JobId, attempt: int, rank: int, offset: int, limit: int) -> LogChunk:
        """Up to `limit` bytes from an offset on; a negative one counts from the end.

        Begins later when what was there is gone. Raises `NotFound` when there is no such worker.
        """
        ...


class TerminalSession(Protocol):
    """Somebody who is attached to a terminal."""

    def write(self, data: bytes) -> None:
        """Type this."""
        ...

    def resize(self, rows: int, columns: int) -> None:
        """The window has another size."""
        ...

    def close(self) -> None:
        """Detach; the job goes on."""
        ...


class Terminals(Protocol):
    """The terminals of interactive jobs."""

    def attach(
        self, job: JobId, attempt: int, on_output: Callable[[bytes], None], on_end: Callable[[], None]
    ) -> TerminalSession:
        """Attach to the first worker's terminal. Both functions are called from any thread, and return at once.

        Raises `NotFound` when it has none, and `Unavailable` when its node cannot be reached.
        """
        ...
