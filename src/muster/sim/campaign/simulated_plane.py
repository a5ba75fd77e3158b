"""One simulated control plane: the production engine and the production rules of the lease, one small step at a time.

A step is what a process does between two moments at which the kernel may stop it. So a schedule can stop it anywhere:
after it looked at its lease and before it sends, after it asked for a renewal and before it has the answer.
"""

from collections.abc import Generator, Iterator, Sequence
from contextlib import suppress

from muster.core.lease import HeldLease, LeaseWatch
from muster.engine.engine import Engine, Submitted
from muster.model.array import JobRecord
from muster.model.audit import AuditEntry
from muster.model.errors import Conflict, Superseded, Unavailable
from muster.model.events import Event, ObservedEvent
from muster.model.ids import JobId
from muster.model.instructions import Command
from muster.model.machines.lease import LEASE_RENEW_MS, STANDBY_LOOK_MS, LeaseRecord
from muster.model.scenario import Scenario
from muster.model.spec import JobSpec
from muster.sim.campaign.simulated_database import SimulatedDatabase, SimulatedNodes

Steps = Generator[None, None, None]


class SimulatedPlane:
    """A control plane that stands by and leads."""

    def __init__(
        self, name: str, scenario: Scenario, database: SimulatedDatabase, nodes: SimulatedNodes, *, rate: float = 1.0
    ) -> None:
        """`rate` says how fast its clock runs."""
        self.name = name
        self.epoch = 0
        self.held: HeldLease | None = None
        self.now_ms = 0
        """The true time."""
        self.wants_lead = False
        self.is_told_to_end = False
        self.waiting: list[tuple[JobId, JobSpec]] = []
        """Submissions that it was sent."""
        self.acknowledged: list[JobId] = []
        self.is_about_to_act = False
        """True between a look at the lease, and the write or the command that it allowed."""
        self._scenario = scenario
        self._database = database
        self._nodes = nodes
        self._rate = rate
        self._outbox: list[Command] = []
        self._renewed_ms = 0
        self._engine: Engine | None = None
        self.steps: Steps = self._live()

    @property
    def clock_ms(self) -> int:
        """The time on its own clock."""
        return int(self.now_ms * self._rate)

    @property
    def leads(self) -> bool:
        """True while it believes that it leads."""
        return self.held is not None and self.held.is_valid(self.clock_ms)

    def _live(self) -> Steps:
        while True:
            seen = yield from self._stand_by()
            try:
                yield from self._lead(seen)
            except (Superseded, Unavailable):
                pass
            finally:
                if self.held is not None:
                    self.held.lose()
                self.held, self._engine, self._outbox = None, None, []

    def _stand_by(self) -> Generator[None, None, LeaseRecord]:
        watch, looked_ms = LeaseWatch(self.name), -STANDBY_LOOK_MS
        while True:
            yield
            if self.clock_ms - looked_ms < STANDBY_LOOK_MS:
                continue
            looked_ms = self.clock_ms
            try:
                record = self._database.read(self.name)
            except Unavailable:
                watch.forget()
                continue
            yield
            if watch.look(record, self.clock_ms):
                return record
            if self.wants_lead and record.holder is not None:
                self.wants_lead = False
                yield
                with suppress(Unavailable):
                    self._database.want(self.name)

    def _lead(self, seen: LeaseRecord) -> Steps:
        asked_ms = self.clock_ms
        yield
        self.epoch = self._database.take(self.name, seen)
        yield
        self.held = HeldLease(asked_ms)
        self._renewed_ms = asked_ms
        yield
        if not self._nodes.greet(self.epoch):
            raise Superseded("nodes obey a newer epoch")
        while True:
            if self.clock_ms - self._renewed_ms >= LEASE_RENEW_MS and (yield from self._renew()):
                return
            yield
            if self.leads:
                yield from self._pause_before_acting()
                yield from self._round()
            yield

    def _renew(self) -> Generator[None, None, bool]:
        """Renew the lease. True when it was given up."""
        assert self.held is not None
        asked_ms = self.clock_ms
        yield
        try:
            record = self._database.renew(self.name, self.epoch)
        except Unavailable:
            return False
        yield
        self.held.renewed(asked_ms)
        self._renewed_ms = asked_ms
        if self.is_told_to_end or record.wanted_by not in ("", self.name):
            self.is_told_to_end = False
            self.held.lose()
            self._database.give_up(self.name, self.epoch)
            return True
        return False

    def _round(self) -> Steps:
        """Hear, decide and write; then send, one command at a time."""
        try:
            self._decide()
        except (Unavailable, Conflict):
            self._engine, self._outbox = None, []  # it starts again from the log
            return
        yield
        while self._outbox and self.leads:
            command = self._outbox.pop(0)
            yield from self._pause_before_acting()
            self._nodes.obey(self.epoch, command)

    def _pause_before_acting(self) -> Steps:
        """It has looked at its lease. Now it may be stopped, for any time."""
        self.is_about_to_act = True
        yield
        self.is_about_to_act = False

    def _decide(self) -> None:
        if self._engine is None:
            log = _FencedLog(self.name, self.epoch, self._database)
            self._engine = Engine(scenario=self._scenario, log=log, backend=self)
            self._engine.reconnect(self.now_ms)
        engine, reports, asked = self._engine, self._nodes.reports(self.epoch), tuple(self.waiting)
        accepted = []
        with engine.batch():
            for job, spec in asked:
                answer = engine.submit(spec, self.now_ms, job=job, by="user", key=job, fingerprint=job)
                if isinstance(answer, Submitted):
                    accepted.append(answer.job)
            engine.observe(*reports)
        self.acknowledged += accepted
        self.waiting = self.waiting[len(asked) :]
        self._nodes.acknowledge(self.epoch, len(reports))
        engine.tick(self.now_ms)

    def send(self, command: Command) -> None:
        """Take a command of the engine. Raises without a valid lease."""
        if not self.leads:
            raise Unavailable("the lease has run out")
        self._outbox.append(command)

    def poll(self) -> tuple[ObservedEvent, ...]:
        """Nothing: reports are handed to the engine."""
        return ()


class _FencedLog:
    """The log under one epoch."""

    def __init__(self, plane: str, epoch: int, database: SimulatedDatabase) -> None:
        self._plane = plane
        self._epoch = epoch
        self._database = database

    @property
    def version(self) -> int:
        return self._database.log.version

    def append(
        self,
        events: Sequence[Event],
        expected_version: int,
        *,
        jobs: Sequence[JobRecord] = (),
        audit: Sequence[AuditEntry] = (),
    ) -> int:
        return self._database.append(self._plane, self._epoch, events, expected_version, jobs, audit)

    def read(self, from_version: int = 0) -> Iterator[Event]:
        return self._database.log.read(from_version)
