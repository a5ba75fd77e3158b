"""What the API needs of backends: what workers printed, and the terminals that some of them sit at."""

from typing import Protocol

from muster.model.ids import JobId


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
    """What workers printed. Called on threads, as it may wait for a disk."""

    def read(self, job: JobId, attempt: int, rank: int, offset: int, limit: int) -> LogChunk:
        """Up to `limit` bytes from an offset on; a negative one counts from the end.

        Begins later when what was there is gone.
        """
        ...


class Terminal(Protocol):
    """Somebody who is attached to a terminal. May wait, and is called on threads: one that reads, one that writes."""

    def read(self) -> bytes:
        """Wait for more output; empty when there will be none, also once it was closed."""
        ...

    def type(self, data: bytes) -> None:
        """Type this."""
        ...

    def resize(self, rows: int, columns: int) -> None:
        """The window has another size."""
        ...

    def close(self) -> None:
        """Detach, and let `read` return; the job goes on."""
        ...


class Terminals(Protocol):
    """The terminals of interactive jobs."""

    def attach(self, job: JobId) -> Terminal:
        """Sit down at the terminal of a job's first worker; raises `NotFound` when it has none."""
        ...
