"""A log that keeps only the newest events, and a hash of all. Two replays with the same hash ran the same way.

Every event goes into the hash as a line of plain numbers and names, so that the hash is the same in every process and
under any PYTHONHASHSEED. Of a job's spec only the few fields that matter for scheduling are hashed.
"""

import hashlib
from collections import deque
from collections.abc import Callable, Iterator, Sequence

from muster.model.array import JobRecord
from muster.model.audit import AuditEntry
from muster.model.errors import Conflict
from muster.model.events import (
    CheckpointSaved,
    Event,
    EvictionOrdered,
    HoldsSet,
    JobStarted,
    JobSubmitted,
    TimerFired,
    WorkersExited,
    WorkersStarted,
)
from muster.model.job import Placement

TAIL = 20_000
"""Events kept for the story of a job when something is wrong. Keeping months of them would only fill memory."""

HASHED_AT_ONCE = 1_000
"""Events are hashed in batches. Hashing a few at a time would cost more than the hash itself."""


class HashedLog:
    """An event log for replays. Only its tail can be read back."""

    def __init__(self) -> None:
        self._version = 0
        self._tail: deque[Event] = deque(maxlen=TAIL)
        self._unhashed: list[Event] = []
        self._hash = hashlib.sha256()

    @property
    def version(self) -> int:
        """How many events were appended."""
        return self._version

    @property
    def hash(self) -> str:
        """The SHA-256 of all events so far, in hexadecimal."""
        self._take_in()
        return self._hash.hexdigest()

    def append(
        self,
        events: Sequence[Event],
        expected_version: int,
        *,
        jobs: Sequence[JobRecord] = (),  # noqa: ARG002
        audit: Sequence[AuditEntry] = (),  # noqa: ARG002
    ) -> int:
        """Add the events to the hash and to the tail."""
        if expected_version != self._version:
            raise Conflict(f"the log is at version {self._version}, not {expected_version}")
        self._tail.extend(events)
        self._version += len(events)
        self._unhashed.extend(events)
        if len(self._unhashed) > HASHED_AT_ONCE:
            self._take_in()
        return self._version

    def read(self, from_version: int = 0) -> Iterator[Event]:
        """The events after the first `from_version`, as far as they are still in the tail."""
        forgotten = self._version - len(self._tail)
        return iter(list(self._tail)[max(from_version - forgotten, 0) :])

    def _take_in(self) -> None:
        lines = [_LINES.get(type(event), repr)(event) for event in self._unhashed]
        lines.append("")
        self._hash.update("\n".join(lines).encode())
        self._unhashed.clear()


def _submitted(event: JobSubmitted) -> str:
    spec = event.spec
    asks = " ".join(
        [f"{role.workers_min}-{role.workers_max}x{role.request.gpu_milli}" for role in spec.roles],
    )
    return (
        f"submitted {event.at_ms} {event.job} {spec.team} {spec.tier} {spec.priority} {asks} {spec.max_duration_ms} "
        f"{spec.expected_duration_ms}"
    )


def _started(event: JobStarted) -> str:
    return f"started {event.at_ms} {event.job} {event.attempt} {_seats(event.workers)}"


def _evicted(event: EvictionOrdered) -> str:
    return f"evicted {event.at_ms} {event.job} {event.attempt} {event.why.value} {event.for_job} {event.lost_gpu_ms}"


def _held(event: HoldsSet) -> str:
    promises = [f"{promise.job} {promise.start_ms} {_seats(promise.workers)}" for promise in event.holds]
    return f"held {event.at_ms} {';'.join(promises)}"


def _up(event: WorkersStarted) -> str:
    return f"up {event.at_ms} {event.job} {event.attempt} {event.ranks}"


def _exited(event: WorkersExited) -> str:
    return f"exited {event.at_ms} {event.job} {event.attempt} {event.ranks} {event.exit_code} {event.told}"


def _saved(event: CheckpointSaved) -> str:
    return f"saved {event.at_ms} {event.job} {event.attempt} {event.saved_ms}"


def _timer(event: TimerFired) -> str:
    return f"timer {event.at_ms} {event.job}"


def _seats(workers: Placement) -> str:
    return " ".join([f"{worker.rank}@{worker.node}{worker.gpus}{worker.share_milli or ''}" for worker in workers])


_LINES: dict[type, Callable[..., str]] = {
    JobSubmitted: _submitted,
    JobStarted: _started,
    EvictionOrdered: _evicted,
    HoldsSet: _held,
    WorkersStarted: _up,
    WorkersExited: _exited,
    CheckpointSaved: _saved,
    TimerFired: _timer,
}
"""How the frequent events are written. The others are rare enough to use `repr`."""
