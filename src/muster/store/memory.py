"""A log in memory: for simulation, for tests, and for trying things out. Gone when the process is."""

from collections.abc import Iterator, Sequence

from muster.model.audit import AuditEntry
from muster.model.errors import Conflict
from muster.model.events import Event
from muster.model.job import Job


class MemoryLog:
    """An event log that lives as long as the process."""

    def __init__(self, events: Sequence[Event] = ()) -> None:
        self._events = list(events)
        self.audit: list[AuditEntry] = []

    @property
    def version(self) -> int:
        """How many events the log holds."""
        return len(self._events)

    def append(
        self,
        events: Sequence[Event],
        expected_version: int,
        *,
        jobs: Sequence[Job] = (),  # noqa: ARG002 - whoever has a state in memory has the jobs
        audit: Sequence[AuditEntry] = (),
    ) -> int:
        """Add the events if the log is at the expected version."""
        if expected_version != self.version:
            message = f"the log is at version {self.version}, not {expected_version}: read what is new and try again"
            raise Conflict(message)
        self._events.extend(events)
        self.audit.extend(audit)
        return self.version

    def read(self, from_version: int = 0) -> Iterator[Event]:
        """The events after the first `from_version`."""
        return iter(self._events[from_version:])


class MemoryStore(MemoryLog):
    """A log that also keeps the newest saved state."""

    def __init__(self, events: Sequence[Event] = ()) -> None:
        super().__init__(events)
        self._states: dict[str, tuple[int, bytes]] = {}

    def save_state(self, version: int, layout: str, body: bytes) -> None:
        """Keep a state in the place of the one before."""
        self._states[layout] = (version, body)

    def load_state(self, layout: str) -> tuple[int, bytes] | None:
        """The newest state with this layout, and its version."""
        return self._states.get(layout)
