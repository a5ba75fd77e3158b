"""A log in memory: for simulation, for tests, and for trying things out. Gone when the process is."""

from collections.abc import Iterator, Sequence
from itertools import islice

from muster.model.audit import AuditEntry
from muster.model.errors import Conflict
from muster.model.events import Event, NodeEvent
from muster.model.ids import JobId
from muster.model.job import Job
from muster.store.base import SavedState


class MemoryLog:
    """An event log that lives as long as the process. Job records and audit entries are not kept."""

    def __init__(self, events: Sequence[Event] = ()) -> None:
        self._events = list(events)

    @property
    def version(self) -> int:
        """How many events the log holds."""
        return len(self._events)

    def append(
        self,
        events: Sequence[Event],
        expected_version: int,
        *,
        jobs: Sequence[Job] = (),  # noqa: ARG002
        audit: Sequence[AuditEntry] = (),  # noqa: ARG002
    ) -> int:
        """Add the events if the log is at the expected version."""
        if expected_version != self.version:
            message = f"the log is at version {self.version}, not {expected_version}: read what is new and try again"
            raise Conflict(message)
        self._events.extend(events)
        return self.version

    def check(self) -> None:
        """Nothing can be lost that is in memory."""

    def read(self, from_version: int = 0) -> Iterator[Event]:
        """The events after the first `from_version`."""
        return iter(self._events[from_version:])

    def events_after(self, version: int, limit: int, job: JobId | None = None) -> Sequence[tuple[int, Event]]:
        """Up to `limit` events behind `version`, each with its own."""
        numbered = enumerate(self._events[version:], start=version + 1)
        asked_for = (each for each in numbered if job is None or getattr(each[1], "job", None) == job)
        return list(islice(asked_for, limit))

    def node_events_between(self, version: int, until: int, limit: int) -> Sequence[tuple[int, Event]]:
        """Up to `limit` events about nodes behind `version` and up to `until`."""
        numbered = enumerate(self._events[version:until], start=version + 1)
        return list(islice((each for each in numbered if isinstance(each[1], NodeEvent)), limit))


class MemoryStates:
    """The newest saved state, for as long as the process lives."""

    def __init__(self) -> None:
        self._states: dict[str, SavedState] = {}

    def save_state(self, version: int, layout: str, body: bytes) -> None:
        """Keep a state in the place of the one before."""
        self._states[layout] = SavedState(version=version, body=body)

    def load_state(self, layout: str) -> SavedState | None:
        """The newest state with this layout."""
        return self._states.get(layout)
