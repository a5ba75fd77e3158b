"""A database and nodes that several simulated control planes share. Both refuse an epoch that is over, and keep count.

They stand in for SQL transactions and for supervisors. What decides who may lead when is the production code.
"""

from collections.abc import Sequence

from muster.backends.fake import FakeBackend
from muster.model.array import JobRecord
from muster.model.audit import AuditEntry
from muster.model.errors import Superseded, Unavailable
from muster.model.events import Event, ObservedEvent
from muster.model.instructions import Command
from muster.model.machines.lease import LeaseHolder, LeaseRecord
from muster.model.records import evolve
from muster.store.memory import MemoryLog


class SimulatedDatabase:
    """The lease and the log."""

    def __init__(self) -> None:
        self.lease = LeaseRecord()
        self.log = MemoryLog()
        self.is_down = False
        self.cut_off: set[str] = set()
        """Control planes that do not reach it."""
        self.problems: list[str] = []

    def read(self, plane: str) -> LeaseRecord:
        """The lease as it is now."""
        self._reach(plane)
        return self.lease

    def take(self, plane: str, seen: LeaseRecord) -> int:
        """Begin an epoch, unless the lease is not as it was seen."""
        self._reach(plane)
        if self.lease != seen:
            raise Superseded("another was faster")
        self.lease = LeaseRecord(epoch=seen.epoch + 1, holder=LeaseHolder(id=plane, url=plane))
        return self.lease.epoch

    def renew(self, plane: str, epoch: int) -> LeaseRecord:
        """Show that this epoch's leader is there."""
        self._reach(plane)
        if self.lease.epoch != epoch or self.lease.holder is None:
            raise Superseded("another epoch has begun")
        self.lease = evolve(self.lease, beat=self.lease.beat + 1)
        return self.lease

    def give_up(self, plane: str, epoch: int) -> None:
        """Let another lead."""
        self._reach(plane)
        if self.lease.epoch == epoch:
            self.lease = evolve(self.lease, holder=None, beat=0)

    def want(self, plane: str) -> None:
        """Ask the leader to hand over."""
        self._reach(plane)
        self.lease = evolve(self.lease, wanted_by=plane)

    def append(
        self,
        plane: str,
        epoch: int,
        events: Sequence[Event],
        expected: int,
        jobs: Sequence[JobRecord],
        audit: Sequence[AuditEntry],
    ) -> int:
        """Write under an epoch."""
        self._reach(plane)
        if self._is_over(epoch):
            raise Superseded(f"epoch {self.lease.epoch} has begun")
        version = self.log.append(events, expected, jobs=jobs, audit=audit)
        if epoch != self.lease.epoch:
            self.problems.append(f"{plane} wrote in epoch {epoch} while epoch {self.lease.epoch} led")
        return version

    def _is_over(self, epoch: int) -> bool:
        return epoch != self.lease.epoch

    def _reach(self, plane: str) -> None:
        if self.is_down or plane in self.cut_off:
            raise Unavailable("the database does not answer")


class SimulatedNodes:
    """Nodes that obey the newest epoch that has greeted them."""

    def __init__(self) -> None:
        self.fake = FakeBackend()
        self.epoch = 0
        self.problems: list[str] = []
        self.refused = 0
        """Commands of an older epoch, which were not obeyed."""
        self._unacknowledged: list[ObservedEvent] = []

    def greet(self, epoch: int) -> bool:
        """Obey this epoch from now on. False when a newer one governs."""
        if self._is_over(epoch):
            return False
        self.epoch = max(self.epoch, epoch)
        return True

    def obey(self, epoch: int, command: Command) -> None:
        """Carry out a command, unless its epoch is over."""
        if self._is_over(epoch):
            self.refused += 1
            return
        if epoch != self.epoch:
            self.problems.append(f"nodes obeyed {type(command).__name__} of epoch {epoch} after epoch {self.epoch}")
        self.fake.send(command)

    def reports(self, epoch: int) -> tuple[ObservedEvent, ...]:
        """All reports that no leader has recorded yet, for the leader that greeted last.

        A supervisor closes its connection with the one before. A leader that wakes up late hears nothing, and so does
        not let nodes forget reports on jobs that it knows nothing of.
        """
        self._unacknowledged += self.fake.poll()
        return () if self._is_over(epoch) else tuple(self._unacknowledged)

    def acknowledge(self, epoch: int, number: int) -> None:
        """The oldest so many reports are in the log."""
        if not self._is_over(epoch):
            del self._unacknowledged[:number]

    def _is_over(self, epoch: int) -> bool:
        return epoch < self.epoch
