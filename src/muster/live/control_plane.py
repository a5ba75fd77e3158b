"""The writer's thread: the only one that calls the engine.

Each round takes all requests and all reports since the last one, writes the changes in one transaction, answers, and
lets the engine plan. A round begins when a request arrives, when the backend has news, and when the engine asked to be
woken. When writing fails, the writer starts again from the log. When an invariant is broken, it stops, and reads go on.
When another process has become the writer, it steps down.
"""

import logging
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from threading import Thread
from typing import Any, TypeVar

from muster.backends.base import LiveBackend
from muster.core.lifecycle.desired import run_id
from muster.engine.engine import Engine
from muster.engine.folding.state import State
from muster.failpoints import failpoint
from muster.formats.rules.rule_merge import RuleMerge
from muster.live import saved_states
from muster.live.clock import Clock
from muster.live.configuration import Configuration, configure
from muster.live.housekeeping import Housekeeping
from muster.live.inbox import Action, Inbox, WriterRequest
from muster.live.leadership.fenced_sends import FencedSends
from muster.live.leadership.lease_keeper import Lease, Unshared
from muster.live.leadership.reading import ClusterRole
from muster.live.publishing.feed import Feed
from muster.live.publishing.history_keeper import HistoryKeeper
from muster.live.publishing.published_log import PublishedLog, Waiting
from muster.live.publishing.publisher import Publisher
from muster.model.array import JobRecord
from muster.model.audit import AuditEntry
from muster.model.errors import Conflict, InvalidInput, MusterError, Refused, Superseded, Unavailable
from muster.model.events import ENGINE, Event, GangsFound, ObservedEvent
from muster.model.job import Job
from muster.model.limits import CATCH_UP_MS, QUIET_MS, STEP_DOWN_MS, STORE_LOOK_MS, STORE_SILENCE_MS, WRITE_RETRY_MS
from muster.model.node import ClusterSpec
from muster.model.records import evolve
from muster.model.saved_state import HistoryRecord
from muster.model.scenario import Scenario
from muster.store.base import DurableLog, JobArchive, StateStore
from muster.views.view import View

T = TypeVar("T")

_log = logging.getLogger("muster.live")


@dataclass(frozen=True, slots=True, kw_only=True)
class WriterRound:
    """What one round of the writer did, for metrics."""

    requests: int
    reports: int
    write_s: float
    """Time until everything was durable."""
    plan_s: float
    has_planned: bool


def _warn_of_strangers(reports: Sequence[ObservedEvent], state: State) -> None:
    """Log a warning about what nodes run and the database does not know."""
    for node in [event.node for event in reports if isinstance(event, GangsFound)]:
        if gangs := state.quarantine.on(node):
            jobs = [f"{gang.job}, attempt {gang.attempt}" for gang in gangs]
            _log.warning("a node runs what the database does not know", extra={"node": node, "jobs": jobs})


def _recovered(now_ms: int, error: MusterError) -> AuditEntry:
    """The entry that is written after trouble: if it can be written, the trouble is over."""
    return AuditEntry(at_ms=now_ms, by=ENGINE, action="store.recover", subject="log", reason=str(error))


class ControlPlane:
    """The engine on a real clock, with a durable log and real workers."""

    def __init__(
        self,
        *,
        log: DurableLog,
        states: StateStore,
        archive: JobArchive,
        backend: LiveBackend,
        clock: Clock,
        configuration: Configuration,
        on_round: Callable[[WriterRound], None] = lambda _: None,
        on_step_down: Callable[[], None] = lambda: None,
        numbers_from: int = 0,
        lease: Lease | None = None,
    ) -> None:
        """Without a lease it leads as long as it has the store to itself."""
        self._event_log = log
        self._lease = Unshared() if lease is None else lease
        self._states = states
        self._archive = archive
        self._waiting = Waiting()
        self._housekeeping = Housekeeping(states, self._waiting, self._history_record)
        self._backend = backend
        self._clock = clock
        self._configuration = configuration
        self._on_round = on_round
        self._on_step_down = on_step_down
        self._numbers_from = numbers_from
        self._inbox = Inbox()
        self._looks_s = 0.0
        """When the store is checked next, by the monotonic clock."""
        self._decides_s = 0.0
        """From when on it decides even if some nodes have not reported yet, by the same clock."""
        self._thread: Thread | None = None
        self._is_stopping = False
        self._unrecorded: list[ObservedEvent] = []
        """Reports of the backend that no transaction holds yet. If one fails, they go into the next."""
        self.feed = Feed(log.version)
        self._publisher = Publisher(self.feed)
        self._trouble: MusterError | None = None
        self.has_stopped = False
        """True once the writer has stopped for good: only a restart helps."""
        self.led_by_another: Refused | None = None
        """Set once another process is the writer for good, and says which: this process has to end."""
        self.merge: RuleMerge | None = None
        """How the configured rules and what was changed at run time became one at the start."""
        self.history: HistoryKeeper
        """What was used and wanted over time. Any thread may read it."""
        self._engine: Engine
        self._fold()
        self._configure_at_start()

    @property
    def trouble(self) -> str:
        """Why nothing can be changed at present; empty when changes are possible."""
        error = self._trouble or self.silence
        return "" if error is None else str(error)

    @property
    def brief_trouble(self) -> str:
        """The same in a few words that are safe to show to anyone."""
        error = self._trouble or self.silence
        return (isinstance(error, Unavailable) and error.brief) or "nothing can be written at present"

    @property
    def silence(self) -> Unavailable | None:
        """The error to return while the store does not answer; None when it does.

        Other threads ask for it: the writer's thread itself waits for the store.
        """
        waited_ms = self._waiting.waited_ms
        if waited_ms < STORE_SILENCE_MS:
            return None
        message = f"the store has not answered for {waited_ms // 1000} s; what was asked for may still be done"
        return Unavailable(f"{message}, look before you ask again", brief="the store does not answer")

    @property
    def role(self) -> ClusterRole:
        """`standby` from the moment at which another may lead, even if this one has not noticed yet."""
        return ClusterRole.LEADER if self._lease.is_valid else ClusterRole.STANDBY

    @property
    def is_working(self) -> bool:
        """True unless the writer has stopped, or its store does not answer."""
        return not self.has_stopped and self.silence is None

    @property
    def leader_url(self) -> str:
        """Empty: it leads itself, or does not know who does."""
        return ""

    @property
    def view(self) -> View:
        """What is durable at present. Any thread may keep and read it, because it never changes."""
        return self._publisher.view

    @property
    def state(self) -> State:
        """The state of the engine. Only for the writer's thread and for tests."""
        return self._engine.state

    def start(self) -> None:
        """Start the writer's thread. Its first round takes what the backend reported since it was told what to do."""
        self.nudge()
        self._decides_s = time.monotonic() + CATCH_UP_MS / 1000
        self._thread = Thread(target=self._run, name="writer", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Finish the present round, save the state, and stop. Jobs go on running."""
        self._inbox.refuse("Muster is being stopped; try again when it is back")
        self._is_stopping = True
        self.nudge()
        if self._thread is not None:
            self._thread.join()
        if self._trouble is None:
            self._housekeeping.keep(self._engine.state)

    def ask(self, action: Action[T]) -> Future[T]:
        """Have a function called with the engine and the present time; answered once its changes are durable."""
        if (silence := self.silence) is not None:
            raise silence
        return self._inbox.put(action)

    def nudge(self) -> None:
        """Wake the writer because the backend has news."""
        self._inbox.nudge()

    def _take_up(self) -> None:
        """Continue where the log ends, with the configured nodes and rules."""
        self._fold()
        self._configure()

    def _fold(self) -> None:
        """Make an engine from the log. Nothing is written."""
        loaded = saved_states.load(self._states)
        saved = None if loaded is None else loaded.state
        history = HistoryKeeper(saved, None if loaded is None else loaded.history)
        self._housekeeping.took_up(0 if saved is None else saved.version)
        engine = Engine(
            scenario=Scenario(now_ms=0, cluster=ClusterSpec()),
            log=PublishedLog(self._event_log, self._waiting, self._written),
            backend=FencedSends(self._backend, self._lease),
            saved=saved,
            numbers_from=self._numbers_from,
            archive=self._archive,
            follow=history.follow,
        )
        self._engine = engine
        history.publish()
        self.history = history
        self._publisher.begin(engine.state)
        self._clock.not_before(engine.state.now_ms)

    def _written(self, events: Sequence[Event], records: Sequence[JobRecord]) -> None:
        self.history.publish()
        self._publisher.publish(self._engine.state, events, records)
        over = [run_id(job) for job in records if isinstance(job, Job) and job.state.is_final and job.spec.can_resume]
        if over:
            self._backend.end_runs(over)

    def _history_record(self) -> HistoryRecord | None:
        return self.history.record()

    def _configure_at_start(self) -> None:
        """Apply the configuration. If it cannot be written now, only reads are possible until it can."""
        try:
            self._configure()
        except Unavailable as error:
            _log.error("nothing can be written at the start", extra={"cause": str(error)})
            self._trouble = error
            self._fold()

    def _configure(self) -> None:
        """Give the engine the configured nodes and rules, and tell the backend again what to do."""
        now_ms, fence = self._clock.now_ms(), self._configuration.fence
        merge = configure(self._engine, self._configuration, now_ms)
        self.merge = self.merge or merge
        if fence is not None:
            failpoint("fence.recorded")
            fence.on_recorded()
        # What is changed from now on survives when the writer starts again from the log.
        self._configuration = replace(self._configuration, fence=None, drop_changes=False)
        self._engine.reconnect(now_ms)

    def _run(self) -> None:
        """Run rounds until told to stop. An unexpected error stops the writer but not the readers."""
        requests: Sequence[WriterRequest[Any]] = ()
        try:
            if self._trouble is not None:
                self._start_again((), self._trouble)
            while not self._is_stopping:
                requests = self._inbox.take(self._wait_s())
                try:
                    self._run_round(requests)
                    self._look_at_store()
                except (Unavailable, Conflict, InvalidInput, Refused) as error:
                    self._start_again(requests, error)
        except _SteppedDown:
            self._on_step_down()
        except Exception as error:  # noqa: BLE001 - a bug, or a store that is not what it was
            _log.exception("the writer has stopped")
            self._give_up(requests, error)

    def _wait_s(self) -> float | None:
        if self._hearing_s:
            return min(self._hearing_s, STORE_LOOK_MS / 1000)  # a report wakes the writer earlier
        now_ms, next_ms = self._clock.now_ms(), self._engine.next_ms
        quiet_ms = QUIET_MS if self._housekeeping.is_wanted(self._engine.state) else STORE_LOOK_MS
        wait_ms = quiet_ms if next_ms is None else min(next_ms - now_ms, quiet_ms)
        return max(wait_ms, 0) / 1000

    @property
    def _hearing_s(self) -> float:
        """How much longer to wait for reports before deciding: a job past its limit may have ended before."""
        return 0.0 if self._backend.has_caught_up else max(self._decides_s - time.monotonic(), 0.0)

    def _look_at_store(self) -> None:
        """Check from time to time that the log is still there and still ours, even while nothing is written."""
        if time.monotonic() >= self._looks_s:
            self._looks_s = time.monotonic() + STORE_LOOK_MS / 1000
            with self._waiting.answer():
                self._event_log.check()

    def _run_round(self, requests: Sequence[WriterRequest[Any]]) -> None:
        self._lease.check()
        engine, now_ms = self._engine, self._clock.now_ms()
        began_s = time.perf_counter()
        may_decide = not self._hearing_s  # read before the last poll of the backend
        with engine.batch():
            for request in requests:
                request.open(engine, now_ms)
            self._unrecorded += map(self._placed, self._backend.poll())
            engine.observe(*self._unrecorded)
        reports, self._unrecorded = self._unrecorded, []
        _warn_of_strangers(reports, engine.state)
        written_s = time.perf_counter()
        failpoint("reply.before")
        for request in requests:
            request.reply()
        failpoint("reply.after")
        self._backend.acknowledge()
        failpoint("acknowledge.after")
        has_planned = may_decide and engine.tick(now_ms) is not None
        if may_decide:
            self._backend.decided()
        finished = WriterRound(
            requests=len(requests),
            reports=len(reports),
            write_s=written_s - began_s,
            plan_s=time.perf_counter() - written_s,
            has_planned=has_planned,
        )
        self._on_round(finished)
        self._housekeeping.after_round(engine.state, is_idle=not requests and not reports and not has_planned)

    def _placed(self, event: ObservedEvent) -> ObservedEvent:
        """The report with its time on our clock. It has wall clock time, and the wall clock may have been set since."""
        at_ms = self._clock.from_wall(event.at_ms)
        return event if at_ms == event.at_ms else evolve(event, at_ms=at_ms)

    def _start_again(self, requests: Sequence[WriterRequest[Any]], error: MusterError) -> None:
        """Drop the state, which may be ahead of the log, and continue from the log as soon as that is possible."""
        _log.error("writing failed; starting again from the log", extra={"cause": str(error)})
        for request in requests:
            request.reply(_not_now(error))
        refused_s: float | None = None
        while not self._is_stopping:
            self._refuse_for_a_while(_not_now(error))
            try:
                self._event_log.check()
                self._lease.check()
                self._take_up()
                self._engine.audit(_recovered(self._clock.now_ms(), error))
            except Refused as again:
                error, refused_s = again, refused_s or time.monotonic()
                if isinstance(again, Superseded) or time.monotonic() - refused_s > STEP_DOWN_MS / 1000:
                    self._step_down(again)
            except (Unavailable, Conflict) as again:
                error, refused_s = again, None
            else:
                self._trouble = None
                self.nudge()
                return

    def _step_down(self, error: Refused) -> None:
        """Another process is the writer: change nothing more, and end. Jobs go on running under the other process."""
        _log.error("another process writes to the store; this one ends", extra={"cause": str(error)})
        self.led_by_another = error
        self._give_up((), error)
        raise _SteppedDown

    def _refuse_for_a_while(self, error: MusterError) -> None:
        """Answer requests with the error for a while, so that a full disk is not tried again without a pause."""
        self._trouble = error
        until_s = time.monotonic() + WRITE_RETRY_MS / 1000
        while not self._is_stopping and (left_s := until_s - time.monotonic()) > 0:
            for request in self._inbox.take(left_s):
                request.reply(error)

    def _give_up(self, requests: Sequence[WriterRequest[Any]], error: Exception) -> None:
        """Change nothing more, and let users read: after a bug, so that nothing gets worse, or when stepping down."""
        stopped = Unavailable(
            f"the writer has stopped: {error}", brief="the writer has stopped; nothing can be changed"
        )
        self._trouble = stopped
        self.has_stopped = True
        self._inbox.refuse(str(stopped))
        for request in requests:
            request.reply(stopped)


class _SteppedDown(Exception):
    """Ends the writer's thread after it has stepped down."""


def _not_now(error: MusterError) -> MusterError:
    """The error for requests. That another process writes is not the caller's fault, and may be over soon."""
    if not isinstance(error, Refused):
        return error
    return Unavailable(f"{error}; nothing was written", brief="another process has become the writer")
