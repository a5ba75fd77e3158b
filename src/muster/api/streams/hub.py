"""The watchers, and how new events get to them.

Each event is encoded once, and joined into chunks once for all watchers with the same view. The hub runs on the event
loop, and the writer only wakes it.
"""

import asyncio
import time
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from muster.api.deps import Deps
from muster.api.lookups.records import Records
from muster.api.rendering.events import Sent, sent
from muster.api.streams.stream_limit import StreamLimit
from muster.live.publishing.feed import Published
from muster.model.access import EVERY_TEAM, covers
from muster.model.array import JobRecord
from muster.model.events import Event
from muster.model.ids import JobId, TeamPath
from muster.model.limits import WATCHER_CHUNKS, WATCHER_PAGE_EVENTS, WATCHERS_PER_CALLER


@dataclass(frozen=True, slots=True, kw_only=True)
class Watched:
    """The events that a watcher wants to see and may see."""

    teams: tuple[TeamPath, ...]
    """The teams whose events the watcher may see, each with all teams below it."""
    team: TeamPath | None = None
    job: JobId | None = None

    def shows(self, event: Sent) -> bool:
        """True when the event belongs to this view."""
        if self.job is not None and (event.job is None or not _is_part(event.job, self.job)):
            return False
        if event.team is None:
            return self.team is None
        if self.team is not None and not covers(self.team, event.team):
            return False
        return EVERY_TEAM in self.teams or any(covers(team, event.team) for team in self.teams)

    def frames(self, events: Iterable[Sent]) -> bytes:
        """The frames of those events that belong to this view, joined."""
        return b"".join(event.frame for event in events if self.shows(event))


@dataclass(eq=False, slots=True)
class Watcher:
    """One open event stream."""

    view: Watched
    chunks: deque[bytes] = field(default_factory=deque)
    news: asyncio.Event = field(default_factory=asyncio.Event)
    is_over: bool = False
    """True when nothing more is sent: the watcher or the hub fell too far behind, or the server stops."""


class Hub:
    """Subscribes to the feed once for all watchers."""

    def __init__(self, deps: Deps, records: Records) -> None:
        self._deps = deps
        self._records = records
        self._views: dict[Watched, dict[Watcher, None]] = {}
        self.places = StreamLimit(deps.settings.watchers, "streams", each=WATCHERS_PER_CALLER)
        self._version = 0
        """The version of the newest event that was given to the watchers."""
        self._loop: asyncio.AbstractEventLoop | None = None
        self._unsubscribe: Callable[[], None] = lambda: None
        self._is_woken = False
        self._is_closed = False

    def close(self) -> None:
        """End all streams."""
        self._is_closed = True
        self._unsubscribe()
        for watcher in [each for group in self._views.values() for each in group]:
            _end(watcher)

    async def watch(self, view: Watched, after: int | None) -> AsyncGenerator[bytes, None]:
        """The events of the view after a version, as they are written. An empty chunk is a heartbeat.

        The stream ends after a time, when the server stops, or when the watcher is so slow that too much waits for it.
        """
        self._begin()
        version = self._version if after is None else after
        while version < self._version and not self._is_closed:
            version, events = await self._read(version)
            if chunk := view.frames(events):
                yield chunk
        watcher = Watcher(view=view, is_over=self._is_closed)
        self._views.setdefault(view, {})[watcher] = None
        try:
            async for chunk in self._live(watcher):
                yield chunk
        finally:
            self._forget(watcher)

    async def _live(self, watcher: Watcher) -> AsyncIterator[bytes]:
        ends_s = time.monotonic() + self._deps.settings.stream_s
        while True:
            while watcher.chunks:
                yield watcher.chunks.popleft()
            if watcher.is_over or time.monotonic() >= ends_s:
                return
            watcher.news.clear()
            try:
                wait_s = min(self._deps.settings.heartbeat_s, max(ends_s - time.monotonic(), 0))
                await asyncio.wait_for(watcher.news.wait(), wait_s)
            except TimeoutError:
                yield b""

    async def _read(self, version: int) -> tuple[int, list[Sent]]:
        """The next events after a version, from memory or else from the store."""
        events: Sequence[tuple[int, Published]] | None = self._deps.control.feed.after(version, WATCHER_PAGE_EVENTS)
        if events is None:
            kept = await asyncio.to_thread(self._deps.events.events_after, version, WATCHER_PAGE_EVENTS)
            events = await with_owners(kept, self._records)
        # Newer events come to the watcher live.
        events = [each for each in events if each[0] <= self._version]
        last = events[-1][0] if events else self._version
        return last, self._sent(events)

    def _sent(self, events: Iterable[tuple[int, Published]]) -> list[Sent]:
        return [sent(number, published, self._deps.settings.conceal) for number, published in events]

    def _begin(self) -> None:
        """Subscribe to the feed for the first watcher."""
        loop = asyncio.get_running_loop()
        if self._loop is loop:
            return
        self._unsubscribe()
        self._loop, self._is_woken = loop, False
        self._version = self._deps.control.feed.version
        self._unsubscribe = self._deps.control.feed.subscribe(self._wake)
        self._wake()

    def _wake(self) -> None:
        """Called by the writer. Many writes before the event loop runs cause only one call of `_spread`."""
        if self._loop is not None and not self._is_woken:
            self._is_woken = True
            with suppress(RuntimeError):  # the loop is closed: there are no watchers any more
                self._loop.call_soon_threadsafe(self._spread)

    def _spread(self) -> None:
        """Give new events to all watchers that may see them."""
        self._is_woken = False
        while (events := self._deps.control.feed.after(self._version, WATCHER_PAGE_EVENTS)) != ():
            if events is None:  # more was written than the feed keeps: watchers read it from the store when they resume
                self._version = self._deps.control.feed.version
                for watcher in [each for group in self._views.values() for each in group]:
                    _end(watcher)
                return
            self._version = events[-1][0]
            if self._views:
                self._hand_out(self._sent(events))

    def _hand_out(self, events: Sequence[Sent]) -> None:
        for view, group in self._views.items():
            if chunk := view.frames(events):
                for watcher in group:
                    _give(watcher, chunk)

    def _forget(self, watcher: Watcher) -> None:
        group = self._views.get(watcher.view, {})
        group.pop(watcher, None)
        if not group:
            self._views.pop(watcher.view, None)


async def with_owners(events: Sequence[tuple[int, Event]], records: Records) -> list[tuple[int, Published]]:
    """Events from the store, each with the team and user of its job."""
    named = [job for _, event in events if (job := getattr(event, "job", None)) is not None]
    known = await records.find_all(list(dict.fromkeys(named)))
    return [(version, _published(event, known)) for version, event in events]


def _published(event: Event, known: dict[JobId, JobRecord]) -> Published:
    record = known.get(getattr(event, "job", JobId("")))
    return Published(event) if record is None else Published(event, record.spec.team, record.user)


def _give(watcher: Watcher, chunk: bytes) -> None:
    if len(watcher.chunks) >= WATCHER_CHUNKS:
        watcher.is_over = True
    if not watcher.is_over:
        watcher.chunks.append(chunk)
    watcher.news.set()


def _end(watcher: Watcher) -> None:
    watcher.is_over = True
    watcher.news.set()


def _is_part(job: JobId, whole: JobId) -> bool:
    return job == whole or job.startswith(f"{whole}.")
