"""A log in memory, for simulation, tests and trying things out. It is gone when the process ends."""

from collections.abc import Iterator, Sequence
from itertools import islice

from muster.model.access import covers
from muster.model.array import ArrayRecord, JobRecord
from muster.model.audit import AuditEntry
from muster.model.errors import Conflict
from muster.model.events import Event, JobSubmitted, NodeEvent
from muster.model.ids import JobId
from muster.model.job import Job
from muster.store.base import JobFilter, JobPage, KeyedRequest, SavedState


class MemoryLog:
    """An event log that lives as long as the process, with the records of jobs. Audit entries are not stored."""

    def __init__(self, events: Sequence[Event] = ()) -> None:
        self._events = list(events)
        self._jobs: dict[JobId, JobRecord] = {}
        self._keys: dict[tuple[str, str], KeyedRequest] = {}

    @property
    def version(self) -> int:
        """How many events the log holds."""
        return len(self._events)

    def append(
        self,
        events: Sequence[Event],
        expected_version: int,
        *,
        jobs: Sequence[JobRecord] = (),
        audit: Sequence[AuditEntry] = (),  # noqa: ARG002
    ) -> int:
        """Add the events if the log is at the expected version."""
        if expected_version != self.version:
            message = f"the log is at version {self.version}, not {expected_version}: read what is new and try again"
            raise Conflict(message)
        self._events.extend(events)
        self._jobs |= {job.id: job for job in jobs}
        for event in events:
            if isinstance(event, JobSubmitted) and event.key:
                self._keys[event.by, event.key] = KeyedRequest(job=event.job, fingerprint=event.fingerprint)
        return self.version

    def check(self) -> None:
        """Do nothing: a log in memory cannot be moved away."""

    def read(self, from_version: int = 0) -> Iterator[Event]:
        """The events after the first `from_version`."""
        return iter(self._events[from_version:])

    def events_after(self, version: int, limit: int, job: JobId | None = None) -> Sequence[tuple[int, Event]]:
        """Up to `limit` events after `version`, each with its own version."""
        numbered = enumerate(self._events[version:], start=version + 1)
        asked_for = (each for each in numbered if job is None or getattr(each[1], "job", None) == job)
        return list(islice(asked_for, limit))

    def node_events_between(self, version: int, until: int, limit: int) -> Sequence[tuple[int, Event]]:
        """Up to `limit` events about nodes after `version` and up to `until`."""
        numbered = enumerate(self._events[version:until], start=version + 1)
        return list(islice((each for each in numbered if isinstance(each[1], NodeEvent)), limit))

    def page(self, filters: JobFilter, *, limit: int, before: int | None = None) -> JobPage:
        """A page of jobs and arrays, the newest first."""
        listed = (job for job in self._jobs.values() if isinstance(job, ArrayRecord) or job.array_parent is None)
        wanted = (job for job in listed if _agrees(job, filters) and (before is None or job.number < before))
        newest = sorted(wanted, key=lambda job: -job.number)[: limit + 1]
        return JobPage(jobs=tuple(newest[:limit]), next=newest[limit - 1].number if len(newest) > limit else None)

    def find(self, jobs: Sequence[JobId]) -> dict[JobId, JobRecord]:
        """The records of these jobs, tasks and arrays, as far as they exist."""
        return {job: self._jobs[job] for job in jobs if job in self._jobs}

    def ended(self) -> Iterator[Job]:
        """Every job and task that has ended, in the order of submission."""
        single = [job for job in self._jobs.values() if isinstance(job, Job) and job.state.is_final]
        return iter(sorted(single, key=lambda job: job.number))

    def keyed(self, by: str, key: str) -> KeyedRequest | None:
        """The job of a request with a key."""
        return self._keys.get((by, key))


def _agrees(job: JobRecord, filters: JobFilter) -> bool:
    spec = job.spec
    return (
        (not filters.states or job.state in filters.states)
        and any(covers(team, spec.team) for team in filters.teams)
        and (filters.team is None or covers(filters.team, spec.team))
        and filters.user in (None, job.user)
        and filters.name in (None, spec.name)
        and filters.tier in (None, spec.tier)
        and (filters.from_ms is None or job.submitted_ms >= filters.from_ms)
        and (filters.until_ms is None or job.submitted_ms < filters.until_ms)
    )


class MemoryStates:
    """The newest saved state of each layout, for as long as the process lives."""

    def __init__(self) -> None:
        self._states: dict[str, SavedState] = {}

    def save_state(self, version: int, layout: str, body: bytes) -> None:
        """Save a state in the place of the last one of its layout."""
        self._states[layout] = SavedState(version=version, body=body)

    def load_state(self, layout: str) -> SavedState | None:
        """The newest state with this layout."""
        return self._states.get(layout)
