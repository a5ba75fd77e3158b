"""One schedule under way: the production engine under a virtual clock, checked after every event."""

import hashlib
import re
from collections import deque
from collections.abc import Iterable
from random import Random

from muster.checker import violations
from muster.core.planning import plan
from muster.core.snapshot import Snapshot
from muster.engine.apply import Dropped
from muster.engine.cycle import CycleReport
from muster.engine.decisions import Decisions
from muster.engine.engine import Engine
from muster.engine.folding.restoring import recorded, restored
from muster.engine.paced_clock import PacedClock
from muster.model.errors import Unavailable
from muster.model.events import CheckpointDamaged, NodeLost, ObservedEvent
from muster.model.ids import JobId
from muster.model.instructions import StartWorkers
from muster.model.job import JobState
from muster.model.node import NodeState
from muster.model.plan import Plan
from muster.model.policy import DAY_MS, MINUTE_MS
from muster.model.records import evolve
from muster.model.scenario import Scenario
from muster.sim.campaign.backends import TestedBackend
from muster.sim.campaign.checkpoint_invariants import CheckpointInvariants
from muster.sim.campaign.faulty_link import FaultyLink
from muster.sim.campaign.faulty_log import FaultyLog
from muster.sim.campaign.gang_backend import Gangs
from muster.sim.campaign.partial_gangs import PartialGangs
from muster.sim.campaign.process_backend import Processes
from muster.sim.campaign.refolding import refold_problems
from muster.sim.campaign.schedule import Schedule
from muster.sim.campaign.seat_invariants import outsiders
from muster.sim.campaign.spare_invariants import spare_problems
from muster.sim.campaign.state_invariants import overstays, present_problems
from muster.sim.campaign.transition_invariants import History
from muster.sim.campaign.violations import Violations
from muster.sim.campaign.wait_invariants import WaitInvariants
from muster.store.codec import decode_state, encode_state

SECOND_MS = 1_000
NS_PER_MS = 1_000_000
DRAWN_MS = 15 * MINUTE_MS
"""How late limits may be enforced while the engine's time is drawn towards a wall clock that was set: one part in
twenty of the longest limit, and a little more."""
ROUNDS_PER_MOMENT = 200
"""How many rounds one moment may take. More means that the engine goes in circles."""
MOMENTS_PER_SECOND = 200
"""How many moments one second may have. More means that the engine wakes itself for nothing."""
MOMENTS = 4_000
"""How many moments may pass after the faults have stopped."""
STORY_LINES = 200
"""The most lines of a story that are kept: a stuck job repeats itself thousands of times."""
LOOKS_PER_KEPT_STATE = 40
"""How many looks pass between two kept states on average, so that most restarts fold a part of the log."""
END_MS = 60 * DAY_MS
"""By this time every job that can run has ended."""


class Broken(Exception):
    """Something is wrong. The schedule stops here."""

    def __init__(self, problems: Iterable[str]) -> None:
        self.problems = tuple(problems)
        super().__init__(*self.problems)


class Trial:
    """An engine, a log and a tested backend, with everything that checks them."""

    def __init__(self, schedule: Schedule) -> None:
        self.schedule = schedule
        nodes = schedule.scenario.cluster.nodes
        self.tested: TestedBackend = Gangs(nodes, schedule.habits) if schedule.whole_gangs else Processes()
        self.link = FaultyLink(self.tested, schedule.unreliability, Random(f"courier {schedule.seed}"))
        self.log = FaultyLog()
        self.history = History(schedule.scenario.pools, self.tested, is_exact=not schedule.in_batches)
        self.checkpoints = CheckpointInvariants(self.tested)
        self.partial_gangs = PartialGangs()
        self.waits = WaitInvariants() if schedule.is_crowd else None
        self.is_stuck = False
        """True while the engine cannot write. It does nothing until the log is mended."""
        self.is_restoring = False
        """True until an engine with an older log has been told what runs."""
        self._mended_ms: int | None = None
        """When the log can be written again."""
        self._unrecorded: list[ObservedEvent] = []
        """Reports that are not in the log yet. If a write fails, they go into the next one."""
        self._set_by_ms = 0
        """How far the wall clock was set away from the time of the tested backend."""
        self.during = "the beginning"
        self._seen = 0
        """How many events of the log were checked."""
        self._looked = (-1, 0)
        """The version and the time of the last check."""
        self._planned_at = 0
        """The version of the log after the last cycle."""
        self._situation: Scenario | None = None
        self._moments: deque[int] = deque(maxlen=MOMENTS_PER_SECOND)
        self._keeping = Random(f"keeping {schedule.seed}")
        self._kept: bytes | None = None
        """The state that was kept last, from which a restart may go on."""
        self.clock = self._new_clock()
        self.engine = self.new_engine()
        self.link.on_start = self._look_at_start

    @property
    def now_ms(self) -> int:
        """The time on the engine's clock."""
        return self.clock.now_ms()

    @property
    def backend_ms(self) -> int:
        """The time of the tested backend, which cannot be set."""
        return self.tested.now_ms

    def _new_clock(self) -> PacedClock:
        return PacedClock(
            wall_ns=lambda: (self.backend_ms + self._set_by_ms) * NS_PER_MS,
            steady_ns=lambda: self.backend_ms * NS_PER_MS,
        )

    def set_wall_clock(self, by_ms: int) -> None:
        """Set the wall clock. The engine's time is drawn towards it."""
        self._set_by_ms += by_ms
        self.tested.allow(DRAWN_MS)

    def new_engine(self) -> Engine:
        """An engine that starts from the log, or from a kept state and the events after it."""
        is_kept = self._kept is not None and self._keeping.random() < 0.5
        engine = Engine(
            scenario=self.schedule.scenario,
            log=self.log,
            backend=self.link,
            decisions=Decisions(plan=self._plan),
            saved=restored(decode_state(self._kept)) if is_kept and self._kept is not None else None,
        )
        self.clock.not_before(engine.state.now_ms)
        return engine

    def restart(self) -> None:
        """The engine is gone and another one starts from the log. It must know all that the first knew."""
        self.clock = self._new_clock()
        self.start_again("the restart")
        self.tested.greet(self.engine.state.nodes)
        self.settle()

    def take_over(self) -> None:
        """An engine in another home starts from the same log. Its own nodes replace the old ones."""
        self.link.drop()
        self.tested.change_home()
        self._unrecorded.clear()
        self.clock = self._new_clock()
        self.engine = self.new_engine()
        self._looked = (-1, 0)
        nodes, now_ms = tuple(self.engine.state.nodes.values()), self.now_ms
        because = "the nodes of another home took its place"
        self.engine.observe(*(NodeLost(at_ms=now_ms, node=node.name, because=because) for node in nodes))
        for node in nodes:
            self.tested.change(evolve(node, state=NodeState.READY), "configured")
        self.start_again("the takeover")
        self.settle()

    def restore(self, version: int) -> None:
        """The log is replaced by an earlier copy, and an engine starts from it. What runs goes on."""
        self.log = self.log.before(version)
        self._kept = None  # it belongs to the log that was replaced
        self._seen = self._planned_at = self.log.version
        state = self.new_engine().state
        self.link.begin_anew({job.id: job.attempt for job in state.jobs.values()})
        self.history.begin_anew(state, state.now_ms)
        self.checkpoints.begin_anew(state, self.log.read())
        self.tested.forgive()
        for node in tuple(state.nodes.values()):
            if node.state is NodeState.DOWN:  # it is configured and up
                self.tested.change(evolve(node, state=NodeState.READY), "configured")
        self.is_restoring = True
        self.restart()

    def start_again(self, because: str) -> None:
        """Start an engine from the log. It goes on as soon as the log can be written."""
        self.engine = self.new_engine()
        self._looked = (-1, 0)
        self.is_stuck = not self.log.can_be_written
        if not self.is_restoring:
            self.look(because)
        if self.is_stuck:
            self.tested.excuse(END_MS)
        else:
            self.engine.reconnect(self.now_ms)

    def break_log(self, for_ms: int) -> None:
        """The log has a fault that is mended after a while."""
        self._mended_ms = self.backend_ms + for_ms

    def mend_log(self) -> None:
        """The log can be written again. An engine that waits for this goes on."""
        self.log.mend()
        self._mended_ms = None
        if self.is_stuck:
            self.tested.excuse(self.backend_ms)
            self.start_again("the log is mended")

    def freeze(self, until_ms: int, known_after_ms: int) -> None:
        """The engine stands still for a while, and supervisors notice its silence. Then all reports come at once."""
        self.tested.fall_silent(known_after_ms)
        self.tested.advance(max(until_ms, self.backend_ms))
        if not self.link.is_cut:
            self.tested.hear_again()

    def pass_time(self, until_ms: int) -> None:
        """Let time pass, and settle at every moment at which something happens."""
        while (moment := self.next_ms()) is not None and moment <= until_ms:
            self.tested.advance(max(moment, self.backend_ms))
            self.settle()
        self.tested.advance(max(until_ms, self.backend_ms))
        self.settle()

    def next_ms(self) -> int | None:
        """When the next event happens by itself."""
        moments = [self.tested.next_ms, self._mended_ms]
        if not self.is_stuck:
            moments += [self.link.next_ms, self._wake_ms]
        return min((moment for moment in moments if moment is not None), default=None)

    @property
    def _wake_ms(self) -> int | None:
        """When the engine wants to be woken. If its time passes more slowly, it is asked again then."""
        wake_ms = self.engine.next_ms
        return None if wake_ms is None else self.backend_ms + wake_ms - self.now_ms

    def settle(self) -> None:
        """Let the engine record reports and decide until nothing more happens at this moment."""
        self._moments.append(self.backend_ms)
        if len(self._moments) == MOMENTS_PER_SECOND and 0 < self.backend_ms - self._moments[0] < SECOND_MS:
            raise Broken([f"the engine wakes {MOMENTS_PER_SECOND} times in a second"])
        if self._mended_ms is not None and self._mended_ms <= self.backend_ms:
            self.mend_log()
        try:
            self._turn()
        except Unavailable as error:
            self.start_again(f"{error}")
            if not self.is_stuck:
                self._turn()
        self.fail_on(self.partial_gangs.problems(self.engine.state, self.tested, is_cut=self.is_out_of_reach))
        if self.waits is not None:
            self.fail_on(self.waits.problems(self.engine.state, self.now_ms))

    @property
    def is_out_of_reach(self) -> bool:
        """True while no command of the engine can be carried out."""
        return self.is_stuck or self.link.is_cut

    def _turn(self) -> None:
        for _ in range(ROUNDS_PER_MOMENT):
            if self.is_stuck:
                return
            heard = self._hear()
            report = self.engine.tick(self.now_ms)
            if report is not None:
                self._look_at_cycle(report)
            self.look("a tick")
            self.fail_on(overstays(self.engine.state, self.now_ms))
            self.fail_on(spare_problems(self.engine.state))
            self.fail_on(outsiders(self.engine.state, self.now_ms))
            if not heard and report is None:
                return
        raise Broken([f"the engine goes in circles at {self.now_ms} ms"])

    def _hear(self) -> bool:
        """Record the reports. Reports that could not be recorded are kept for the next time."""
        self._unrecorded += (self._placed(report) for report in self.link.poll())
        count = len(self._unrecorded)
        if self.schedule.in_batches or self.is_restoring:
            self.engine.observe(*self._unrecorded)
            self._unrecorded.clear()
            self.is_restoring = False
            self.look(f"{count} reports")
            return count > 0
        while self._unrecorded:
            report = self._unrecorded[0]
            before = self.engine.state.jobs.get(report.job) if isinstance(report, CheckpointDamaged) else None
            self.engine.observe(report)
            if before is not None and isinstance(report, CheckpointDamaged):
                self.fail_on(self.checkpoints.damage_problems(report, before, self.engine.state.jobs[before.id]))
            self.look(f"{self._unrecorded.pop(0)}")
        return count > 0

    def _placed(self, report: ObservedEvent) -> ObservedEvent:
        """A report with its time on the engine's clock. Reports arrive with the time of the wall clock."""
        at_ms = self.clock.from_wall(report.at_ms + self._set_by_ms)
        return report if at_ms == report.at_ms else evolve(report, at_ms=at_ms)

    def _plan(self, snapshot: Snapshot, now_ms: int) -> Plan:
        """Plan as in production, and remember the scenario that was planned."""
        self._situation = snapshot.scenario(now_ms)
        return plan(snapshot, now_ms)

    def _look_at_cycle(self, report: CycleReport) -> None:
        if isinstance(report.outcome, Dropped):
            self.fail_on(f"a plan was dropped: {reason}" for reason in report.outcome.reasons)
        if self._situation is not None:
            self.fail_on(f"the plan: {problem}" for problem in violations(self._situation, report.plan))
        state = self.engine.state
        events = tuple(self.log.read(self._planned_at))
        self.fail_on(self.history.promise_problems(state, events, self.now_ms))
        self._planned_at = self.log.version

    def _look_at_start(self, command: StartWorkers) -> None:
        self.link.problems += self.checkpoints.start_problems(command, self.engine.state.jobs[command.job])

    def look(self, what: str) -> None:
        """Check everything after something has happened."""
        state = self.engine.state
        if (state.version, self.now_ms) == self._looked and not self.link.problems:
            return
        self.during, self._looked = what, (state.version, self.now_ms)
        if self.log.version != state.version:
            raise Broken([f"the log has {self.log.version} events, and the state {state.version}"])
        self.fail_on(self.link.problems)
        events = tuple(self.log.read(self._seen))
        self.fail_on(self.history.log_problems(events))
        self._seen = self.log.version
        self.fail_on(self.history.problems(state))
        self.fail_on(self.checkpoints.problems(state, events, is_exact=not self._set_by_ms))
        self.fail_on(present_problems(state, self.tested, self.now_ms))
        self.fail_on(self.tested.overdue())
        if self._keeping.randrange(LOOKS_PER_KEPT_STATE) == 0:
            self._kept = encode_state(recorded(state))

    def fail_on(self, problems: Iterable[str]) -> None:
        """Stop if there are any problems."""
        if found := tuple(problems):
            raise Broken(found)

    def refold(self) -> None:
        """Check that folding the log gives the present state."""
        self.fail_on(refold_problems(self.engine.state, self.schedule.scenario, self.log.read()))

    def finish(self) -> None:
        """Go on without faults, and check that every job ends as it should."""
        for _ in range(MOMENTS):
            moment = self.next_ms()
            if moment is None or moment > END_MS or self._all_ended():
                break
            self.tested.advance(max(moment, self.backend_ms))
            self.settle()
        state = self.engine.state
        self.fail_on(f"{job.id}: is stuck, {job.state}" for job in state.jobs.values() if not job.state.is_final)
        self.fail_on(f"{seat.job}: has ended and is alive on {seat.worker.node}" for seat in self.tested.seats())
        for job in state.jobs.values():
            attempt, ranks = self.history.last_gangs.get(job.id, (0, ()))
            if job.state is JobState.SUCCEEDED and not (ranks and self.tested.has_done(job.id, attempt, ranks)):
                raise Broken([f"{job.id}: has succeeded without having done its work"])
            if job.id in self.history.cancelled and job.state not in (JobState.CANCELLED, JobState.SUCCEEDED):
                raise Broken([f"{job.id}: was given up by its user and is {job.state}"])
        self.refold()

    def _all_ended(self) -> bool:
        return all(job.state.is_final for job in self.engine.state.jobs.values()) and self.link.next_ms is None

    def log_hash(self) -> str:
        """The SHA-256 of the whole log."""
        return hashlib.sha256("\n".join(map(repr, self.log.read())).encode()).hexdigest()

    def verdict(self, problems: tuple[str, ...] = ()) -> Violations:
        """The result of the schedule."""
        return Violations(
            seed=self.schedule.seed,
            is_crowd=self.schedule.is_crowd,
            problems=problems,
            at_ms=self.backend_ms,
            during=self.during,
            story=self._story(problems),
            events=self.log.version,
            partial_gangs=self.partial_gangs.count,
            partial_ms=self.partial_gangs.longest_ms,
            longest_wait_ms=0 if self.waits is None else self.waits.longest_ms,
            log_hash=self.log_hash(),
        )

    def _story(self, problems: tuple[str, ...]) -> str:
        names = [JobId(name) for text in problems for name in re.findall(r"\bj\d+(?:\.\d+)?\b", text)]
        known = [name for name in names if name in self.engine.state.jobs]
        lines = self.engine.story(known[0]).splitlines() if known else []
        cut = [f"... {len(lines) - STORY_LINES} more"] if len(lines) > STORY_LINES else []
        return "\n".join(lines[:STORY_LINES] + cut)
