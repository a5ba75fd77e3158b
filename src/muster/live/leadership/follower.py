"""A standby: folds the log as it grows, and publishes views, so that reads are answered without the leader.

It writes nothing and commands nobody. What is asked of it and only the leader can do raises `NotLeading`.
"""

import logging
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from threading import Event as Flag
from threading import Thread
from typing import Protocol, TypeVar

from muster.engine.folding.folding import fold
from muster.engine.folding.forgetting import ended_jobs, forget
from muster.engine.folding.state import State
from muster.live import saved_states
from muster.live.inbox import Action
from muster.live.leadership.candidacy import Candidacy
from muster.live.leadership.reading import ClusterRole
from muster.live.publishing.feed import Feed
from muster.live.publishing.history_keeper import HistoryKeeper
from muster.live.publishing.publisher import Publisher
from muster.model.array import JobRecord
from muster.model.errors import MusterError, NotLeading, Unavailable
from muster.model.events import Event
from muster.model.ids import JobId
from muster.model.job import Job
from muster.model.limits import STORE_PAGE_ROWS
from muster.model.machines.lease import STANDBY_LOOK_MS
from muster.model.node import ClusterSpec
from muster.model.scenario import Scenario
from muster.store.base import EventPages, StateStore
from muster.views.view import View

T = TypeVar("T")

_log = logging.getLogger("muster.live")


class FollowedLog(EventPages, Protocol):
    """A log that another process writes."""

    @property
    def version(self) -> int:
        """How many events the log holds."""
        ...


class Follower:
    """What a standby knows. One thread folds, and any thread reads."""

    has_stopped = False
    role = ClusterRole.STANDBY

    def __init__(
        self, *, log: FollowedLog, states: StateStore, candidacy: Candidacy, on_turn: Callable[[], None]
    ) -> None:
        """Fold the log up to its end. `on_turn` is called once, when this standby may take the lease."""
        self._log = log
        self._candidacy = candidacy
        self._on_turn = on_turn
        loaded = saved_states.load(states)
        saved = None if loaded is None else loaded.state
        self.state = State(Scenario(now_ms=0, cluster=ClusterSpec())) if saved is None else saved
        self.history = HistoryKeeper(saved, None if loaded is None else loaded.history)
        self._kept: tuple[JobId, ...] = ()
        """Jobs that have ended and cannot leave the state yet."""
        self.feed = Feed(self.state.version)
        self._publisher = Publisher(self.feed)
        self._has_begun = False
        self.follow()
        self.history.publish()
        self._kept = forget(self.state, ended_jobs(self.state))
        self._publisher.begin(self.state)
        self._has_begun = True
        self._trouble: MusterError | None = None
        self._stopping = Flag()
        self._thread: Thread | None = None

    @property
    def view(self) -> View:
        """What is durable, as far as it was read."""
        return self._publisher.view

    @property
    def leader_url(self) -> str:
        """The address of the leader; empty when none is known."""
        leader = self._candidacy.leader
        return "" if leader is None else leader.url

    @property
    def trouble(self) -> str:
        """Why the log cannot be followed; empty when it is."""
        return "" if self._trouble is None else str(self._trouble)

    @property
    def brief_trouble(self) -> str:
        """The same in a few words that are safe to show to anyone."""
        return (isinstance(self._trouble, Unavailable) and self._trouble.brief) or "the log cannot be followed"

    @property
    def silence(self) -> Unavailable | None:
        """The error to return while the log cannot be read; None when it can."""
        return self._trouble if isinstance(self._trouble, Unavailable) else None

    def ask(self, action: Action[T]) -> Future[T]:
        """Raises: a standby has no engine."""
        del action
        raise NotLeading("this control plane stands by; only the leader can do this")

    def start(self) -> None:
        """Follow the log and watch the lease from now on."""
        self._thread = Thread(target=self._run, name="follower", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Follow no more."""
        self._stopping.set()
        if self._thread is not None:
            self._thread.join()

    def follow(self) -> None:
        """Fold and publish what is new, up to the end of the log."""
        while events := self._fold_page():
            _log.debug("followed the log", extra={"version": self.state.version, "events": len(events)})

    def look(self) -> bool:
        """Follow the log, and look at the lease. True when this standby may lead now."""
        try:
            is_free = self._candidacy.look()
            self.follow()
            self._candidacy.ask()
        except MusterError as error:
            if self._trouble is None:
                _log.error("the log cannot be followed", extra={"cause": str(error)})
            self._trouble = error
            return False
        self._trouble = None
        # Only a standby that could follow the log to its end may lead: it understands all that is in it.
        return is_free

    def _run(self) -> None:
        try:
            while not self._stopping.wait(STANDBY_LOOK_MS / 1000):
                if self.look():
                    self._on_turn()
                    return
        except Exception as error:  # noqa: BLE001 - a bug, or a log of a newer Muster
            _log.exception("the log cannot be followed")
            self._trouble = Unavailable(f"the log cannot be followed: {error}", brief="the log cannot be followed")

    def _fold_page(self) -> Sequence[Event]:
        """Fold and publish one page of events; returns them."""
        page = self._log.events_after(self.state.version, STORE_PAGE_ROWS)
        events = [event for _, event in page]
        touched: dict[JobId, Job] = {}
        for event in events:
            outcome = fold(self.state, event)
            self.history.follow(self.state, event, outcome)
            for move in outcome.moves:
                touched[move.after.id] = move.after
        if events and self._has_begun:
            self.history.publish()
            self._publisher.publish(self.state, events, self._records(touched))
        ended = [job.id for job in touched.values() if job.state.is_final]
        self._kept = forget(self.state, (*self._kept, *ended))
        return events

    def _records(self, touched: dict[JobId, Job]) -> tuple[JobRecord, ...]:
        """The jobs and tasks that changed, followed by the arrays of those tasks."""
        parents = dict.fromkeys(job.array_parent for job in touched.values() if job.array_parent is not None)
        return (*touched.values(), *map(self.state.array_record, parents))
