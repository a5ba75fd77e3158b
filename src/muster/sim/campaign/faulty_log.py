"""A log that refuses writes, loses its answer, or whose file was moved."""

from collections.abc import Sequence

from muster.model.array import JobRecord
from muster.model.audit import AuditEntry
from muster.model.errors import Unavailable
from muster.model.events import Event
from muster.store.memory import MemoryLog


class FaultyLog(MemoryLog):
    """A log in memory with the faults of one on a disk. Reading always works."""

    def __init__(self, events: Sequence[Event] = ()) -> None:
        super().__init__(events)
        self.is_full = False
        """True: nothing can be written."""
        self.is_moved = False
        """True: the file has another name, or none. What is written to it would not be found again."""
        self.loses_answer = False
        """True: the next write is done, but the caller gets an error instead of the answer."""
        self._writes = [0]
        """The version after each write. Events written together are found together, or not at all."""

    def before(self, version: int) -> "FaultyLog":
        """A copy that was made when the log had at most this version."""
        copied = max((each for each in self._writes if each <= version), default=0)
        copy = FaultyLog(tuple(self.read())[:copied])
        copy._writes = [each for each in self._writes if each <= copied]
        return copy

    @property
    def can_be_written(self) -> bool:
        """True when a write would succeed."""
        return not self.is_full and not self.is_moved

    def append(
        self,
        events: Sequence[Event],
        expected_version: int,
        *,
        jobs: Sequence[JobRecord] = (),
        audit: Sequence[AuditEntry] = (),
    ) -> int:
        """Add the events, unless something is wrong with the disk."""
        if self.is_full:
            raise Unavailable("the disk is full")
        if not self._is_in_place():
            raise Unavailable("the file of the log is not where it was")
        if self.is_moved:
            return expected_version + len(events)
        version = super().append(events, expected_version, jobs=jobs, audit=audit)
        self._writes.append(version)
        if self.loses_answer:
            self.loses_answer = False
            raise Unavailable("the connection was lost before the answer came")
        return version

    def mend(self) -> None:
        """The disk has room, and the file is where it belongs."""
        self.is_full = self.is_moved = self.loses_answer = False

    def _is_in_place(self) -> bool:
        """True when what is written will be found again. Checked before anything is acknowledged."""
        return not self.is_moved
