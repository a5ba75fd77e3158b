"""A whole small world: an engine on a log in memory, a fake backend, and a clock that the test moves."""

from collections.abc import Sequence

from muster.backends.fake import FakeBackend, GangScript
from muster.core.admission import Admitted, Rejected
from muster.core.snapshot import Snapshot
from muster.engine.apply import Dropped
from muster.engine.cycle import CycleReport
from muster.engine.decisions import Decisions
from muster.engine.engine import Engine, Submitted
from muster.model.events import Event
from muster.model.ids import JobId, NodeName
from muster.model.job import JobState, Placement, Worker
from muster.model.plan import Plan
from muster.model.scenario import Scenario
from muster.model.spec import JobSpec
from muster.store.base import EventLog, JobArchive
from muster.store.memory import MemoryLog
from tests.builders import a_scenario, flat

FOREVER = GangScript(run_ms=None)


def a_small_cluster(nodes: int = 2, gpus: int = 2) -> Scenario:
    return a_scenario(flat(nodes, gpus=gpus), now_ms=0)


def seats(*nodes_and_gpus: tuple[str, int]) -> Placement:
    """One worker with one GPU on each (node, device)."""
    return tuple(
        Worker(rank=rank, role="worker", node=NodeName(node), gpus=(gpu,))
        for rank, (node, gpu) in enumerate(nodes_and_gpus)
    )


def admit_all(spec: JobSpec, snapshot: Snapshot) -> Admitted | Rejected:
    return Admitted(spec=spec)


class PlannedByHand:
    """Decisions that a test writes down: each plan is used once, and then there is nothing to do."""

    def __init__(self) -> None:
        self.plans: list[Plan] = []
        self.problems: tuple[str, ...] = ()
        self.calls = 0

    def plan(self, snapshot: Snapshot, now_ms: int) -> Plan:
        self.calls += 1
        if not self.plans:
            return Plan(version=snapshot.version, now_ms=now_ms)
        return self.plans.pop(0)

    def lint(self, *_: object) -> tuple[str, ...]:
        return self.problems

    @property
    def decisions(self) -> Decisions:
        return Decisions(admit=admit_all, plan=self.plan, lint=self.lint)


class World:
    """An engine with everything round it."""

    def __init__(
        self,
        scenario: Scenario | None = None,
        *,
        decisions: Decisions | None = None,
        log: EventLog | None = None,
        backend: FakeBackend | None = None,
        archive: JobArchive | None = None,
    ) -> None:
        self.log: EventLog = log or MemoryLog()
        self.backend = backend or FakeBackend()
        self.scenario = scenario or a_small_cluster()
        self.decisions = decisions
        self.dropped: list[Dropped] = []
        """Plans that were not carried out."""
        self.engine = Engine(
            scenario=self.scenario, log=self.log, backend=self.backend, decisions=decisions, archive=archive
        )

    @property
    def now_ms(self) -> int:
        return self.backend.now_ms

    def submit(self, spec: JobSpec, *scripts: GangScript, held: bool = False, job: str | None = None) -> JobId:
        """Submit a job whose attempts go by these scripts."""
        answer = self.engine.submit(spec, self.now_ms, held=held, job=None if job is None else JobId(job))
        assert isinstance(answer, Submitted)
        for task in self.engine.state.addressed(answer.job):
            self.backend.script(task, *scripts)
        return answer.job

    def settle(self) -> CycleReport | None:
        """Let the engine hear and decide until nothing more happens at this moment; the last cycle that ran."""
        last = None
        for _ in range(100):
            self.engine.observe(*self.backend.poll())
            report = self.engine.tick(self.now_ms)
            if report is not None and isinstance(report.outcome, Dropped):
                self.dropped.append(report.outcome)
            last = report or last
            if report is None and not self.engine.observe(*self.backend.poll()):
                return last
        raise AssertionError("the world does not come to rest")

    def run(self, until_ms: int) -> None:
        """Let time pass, stopping at every moment at which something happens."""
        self.settle()
        while (moment := self._next_ms()) is not None and moment <= until_ms:
            self.backend.advance(moment)
            self.settle()
        self.backend.advance(until_ms)
        self.settle()

    def state_of(self, job: JobId) -> JobState | None:
        return self.engine.state.state_of(job)

    def restarted(self) -> "World":
        """The same world after the engine's process was killed and started again."""
        again = World(self.scenario, decisions=self.decisions, log=self.log, backend=self.backend)
        again.engine.reconnect(self.now_ms)
        return again

    def events(self, *kinds: type[Event]) -> Sequence[Event]:
        """What is in the log, of these kinds."""
        return [event for event in self.log.read() if not kinds or isinstance(event, kinds)]

    def _next_ms(self) -> int | None:
        moments = (self.backend.next_ms, self.engine.next_ms)
        return min((moment for moment in moments if moment is not None), default=None)
