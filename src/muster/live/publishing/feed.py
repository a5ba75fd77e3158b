"""The latest events, for watchers. The writer publishes and any thread reads; no watcher makes the writer wait."""

from collections import deque
from collections.abc import Callable, Sequence
from itertools import islice
from threading import Lock
from typing import NamedTuple

from muster.model.events import Event
from muster.model.ids import TeamPath
from muster.model.limits import FEED_EVENTS

Wake = Callable[[], None]
"""Called on the writer's thread after something was written; returns at once."""


class Published(NamedTuple):
    """A durable event, with the team and the user of its job, if it has one."""

    event: Event
    team: TeamPath | None = None
    user: str = ""


class Feed:
    """The newest events with their versions."""

    def __init__(self, version: int) -> None:
        self._recent: deque[Published] = deque(maxlen=FEED_EVENTS)
        self._version = version
        self._lock = Lock()
        self._wakes: dict[int, Wake] = {}
        self._subscribed = 0

    @property
    def version(self) -> int:
        """The version of the newest event."""
        return self._version

    def publish(self, events: Sequence[Published]) -> None:
        """Add events that were written, and wake the watchers."""
        with self._lock:
            self._recent.extend(events)
            self._version += len(events)
            wakes = tuple(self._wakes.values())
        for wake in wakes:
            wake()

    def catch_up(self, version: int) -> None:
        """Move to this version of the log. Events in between, from any writer, have to be read from the store."""
        with self._lock:
            if version != self._version:
                self._recent.clear()
                self._version = version

    def after(self, version: int, limit: int) -> tuple[tuple[int, Published], ...] | None:
        """Up to `limit` events after a version, oldest first; None when some of them are no longer kept here."""
        with self._lock:
            oldest = self._version - len(self._recent)
            if version < oldest:
                return None
            start = version - oldest
            found = islice(self._recent, start, start + limit)
            return tuple((version + place, event) for place, event in enumerate(found, start=1))

    def subscribe(self, wake: Wake) -> Callable[[], None]:
        """Call `wake` after each write; returns a function that ends this."""
        with self._lock:
            self._subscribed += 1
            number = self._subscribed
            self._wakes[number] = wake

        def unsubscribe() -> None:
            with self._lock:
                self._wakes.pop(number, None)

        return unsubscribe
