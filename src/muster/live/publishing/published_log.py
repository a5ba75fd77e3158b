"""An event log that tells watchers what was written once it is durable, and how long the store has not answered."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from muster.model.array import JobRecord
from muster.model.audit import AuditEntry
from muster.model.events import Event
from muster.store.base import DurableLog

Written = Callable[[Sequence[Event], Sequence[JobRecord]], None]
"""Called with events and records as soon as they are durable."""


class Waiting:
    """How long the writer's thread has been waiting for the store. Any thread may ask; the waiting one cannot."""

    def __init__(self) -> None:
        self._since_s: float | None = None

    @contextmanager
    def answer(self) -> Iterator[None]:
        """Measure the time until the context ends."""
        self._since_s = time.monotonic()
        try:
            yield
        finally:
            self._since_s = None

    @property
    def waited_ms(self) -> int:
        """How long the present call has been waiting for an answer; 0 when there is none."""
        since_s = self._since_s
        return 0 if since_s is None else round((time.monotonic() - since_s) * 1000)


class PublishedLog:
    """Passes everything on to the real log, and what was written to a callback."""

    def __init__(self, log: DurableLog, waiting: Waiting, written: Written) -> None:
        self._log = log
        self._waiting = waiting
        self._written = written

    @property
    def version(self) -> int:
        """How many events the log holds."""
        return self._log.version

    def append(
        self,
        events: Sequence[Event],
        expected_version: int,
        *,
        jobs: Sequence[JobRecord] = (),
        audit: Sequence[AuditEntry] = (),
    ) -> int:
        """Write, then call back."""
        with self._waiting.answer():
            version = self._log.append(events, expected_version, jobs=jobs, audit=audit)
        self._written(events, jobs)
        return version

    def read(self, from_version: int = 0) -> Iterator[Event]:
        """The events after the first `from_version`."""
        return self._log.read(from_version)
