"""`check_failover(seed)`: control planes that share a database are stopped, killed, cut off and asked to hand over.

Checked at every moment: no write of an epoch that is over, no command obeyed from one, never two valid leases at once,
and a leader within `SERVES_MS` whenever one control plane is well. At the end, what was acknowledged has run once.
"""

from dataclasses import dataclass
from random import Random

from muster.backends.fake import GangScript
from muster.model.ids import JobId, NodeName, TeamPath
from muster.model.job import JobState
from muster.model.machines.lease import LEASE_MS
from muster.model.node import ClusterSpec, Node
from muster.model.policy import DEFAULT_TIERS
from muster.model.resources import Request
from muster.model.scenario import Scenario
from muster.model.spec import JobSpec, RoleSpec
from muster.sim.campaign.simulated_database import SimulatedDatabase, SimulatedNodes
from muster.sim.campaign.simulated_plane import SimulatedPlane
from muster.sim.campaign.violations import Violations

SECOND_MS = 1_000
SERVES_MS = 15 * SECOND_MS
FAULTS_MS = 90 * SECOND_MS
"""How long faults strike."""
CALM_MS = 150 * SECOND_MS
"""How long nothing strikes afterwards, so that everything ends."""
MOMENT_MS = 40
"""The average time between two steps of a control plane."""
JOBS = 25
KINDS = ("stop", "stop in the act", "stop in the act", "kill", "cut", "cut", "database", "hand over", "end")
CLOCK_ERROR = 0.002
"""How much faster or slower than the true time a clock may run. The margin of the lease allows a tenth."""


@dataclass(slots=True)
class _Body:
    """A process that runs a control plane, and what keeps it from running."""

    plane: SimulatedPlane
    stopped_until_ms: int = 0
    stops_for_ms: int = 0
    """For how long it is stopped when it next writes or sends something."""
    dead_until_ms: int = 0
    next_ms: int = 0


class Failover:
    """One schedule under way."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.chance = Random(f"failover {seed}")
        self.database, self.nodes = SimulatedDatabase(), SimulatedNodes()
        cluster = ClusterSpec(nodes=tuple(Node(name=NodeName(f"n{place}"), gpus=4) for place in range(3)))
        self.scenario = Scenario(now_ms=0, cluster=cluster)
        self.bodies = [self._new_body(f"plane-{number}") for number in range(self.chance.choice((2, 2, 3)))]
        self.now_ms = 0
        self.during = "the beginning"
        self.submitted: list[JobId] = []
        self.acknowledged: set[JobId] = set()
        self._mended: list[tuple[int, str]] = []
        self._well_since_ms = 0

    def run(self) -> list[str]:
        """Let the faults strike, then let everything end; returns what is wrong."""
        faults = sorted((self.chance.randrange(FAULTS_MS), self.chance.choice(KINDS)) for _ in range(8))
        jobs = sorted(self.chance.randrange(SECOND_MS, FAULTS_MS) for _ in range(JOBS))
        while self.now_ms < FAULTS_MS + CALM_MS:
            self.now_ms += self.chance.randrange(1, 20)
            self.nodes.fake.advance(self.now_ms)
            while faults and faults[0][0] <= self.now_ms:
                self._strike(faults.pop(0)[1])
            while jobs and jobs[0] <= self.now_ms:
                jobs.pop(0)
                self._submit()
            self._mend()
            self._step()
            if problems := self._problems():
                return problems
        return self._problems_at_the_end()

    def _new_body(self, name: str) -> _Body:
        rate = 1 + self.chance.uniform(-CLOCK_ERROR, CLOCK_ERROR)
        return _Body(SimulatedPlane(name, self.scenario, self.database, self.nodes, rate=rate))

    def _strike(self, kind: str) -> None:
        leading = [body for body in self.bodies if body.plane.leads]
        body = leading[0] if leading and self.chance.random() < 0.8 else self.chance.choice(self.bodies)
        lasts_ms = self.chance.randrange(200, 4 * LEASE_MS)
        self.during = f"{kind} of {body.plane.name} for {lasts_ms} ms"
        match kind:
            case "stop":
                body.stopped_until_ms = self.now_ms + lasts_ms
            case "stop in the act":
                body.stops_for_ms = lasts_ms
            case "kill":
                self._take_note(body)
                body.plane = self._new_body(body.plane.name).plane
                body.dead_until_ms = self.now_ms + lasts_ms
            case "cut":
                self.database.cut_off.add(body.plane.name)
                self._mended.append((self.now_ms + lasts_ms, body.plane.name))
            case "database":
                self.database.is_down = True
                self._mended.append((self.now_ms + lasts_ms // 3, ""))
            case "hand over":
                body.plane.wants_lead = True
            case _:
                body.plane.is_told_to_end = True

    def _mend(self) -> None:
        for at_ms, name in [each for each in self._mended if each[0] <= self.now_ms]:
            self._mended.remove((at_ms, name))
            if name:
                self.database.cut_off.discard(name)
            else:
                self.database.is_down = False

    def _submit(self) -> None:
        """Send a job to the one that says that it leads. A client that finds none would try again later."""
        leading = [body.plane for body in self.bodies if body.plane.leads and self._runs(body)]
        job = JobId(f"job-{len(self.submitted) + 1}")
        self.submitted.append(job)
        self.nodes.fake.script(job, GangScript(run_ms=self.chance.randrange(500, 30 * SECOND_MS)))
        request = Request(gpu_milli=1000 * self.chance.randrange(1, 4))
        worker = RoleSpec(name="worker", workers_min=1, workers_max=1, request=request, run="true")
        spec = JobSpec(name="job", team=TeamPath("default"), tier=DEFAULT_TIERS[0].name, roles=(worker,))
        if leading:
            leading[0].waiting.append((job, spec))

    def _step(self) -> None:
        for body in self.bodies:
            body.plane.now_ms = self.now_ms
            if self._runs(body) and body.next_ms <= self.now_ms:
                body.next_ms = self.now_ms + self.chance.randrange(1, 2 * MOMENT_MS)
                next(body.plane.steps)
                self._take_note(body)
                if body.stops_for_ms and body.plane.is_about_to_act:
                    body.stopped_until_ms, body.stops_for_ms = self.now_ms + body.stops_for_ms, 0

    def _runs(self, body: _Body) -> bool:
        return max(body.stopped_until_ms, body.dead_until_ms) <= self.now_ms

    def _take_note(self, body: _Body) -> None:
        self.acknowledged.update(body.plane.acknowledged)

    def _problems(self) -> list[str]:
        leading = [body.plane.name for body in self.bodies if body.plane.leads]
        found = [*self.database.problems, *self.nodes.problems]
        if len(leading) > 1:
            found.append(f"{' and '.join(leading)} have a valid lease at once")
        is_served = any(body.plane.leads for body in self.bodies if self._runs(body))
        if is_served or not any(map(self._is_well, self.bodies)):
            self._well_since_ms = self.now_ms
        elif self.now_ms - self._well_since_ms > SERVES_MS:
            found.append(f"nobody has led for {SERVES_MS} ms, although a control plane was well")
        return found

    def _is_well(self, body: _Body) -> bool:
        is_reached = not self.database.is_down and body.plane.name not in self.database.cut_off
        return self._runs(body) and is_reached

    def _problems_at_the_end(self) -> list[str]:
        found = []
        for job in sorted(self.acknowledged):
            record = self.database.log.find([job]).get(job)
            if record is None:
                found.append(f"{job} was acknowledged and is lost")
            elif record.state is not JobState.SUCCEEDED or getattr(record, "attempt", 1) != 1:
                attempts = getattr(record, "attempt", 0)
                found.append(f"{job} was acknowledged and is {record.state}, after {attempts} attempts")
        return found


def check_failover(seed: int) -> Violations:
    """Run one schedule. Stops at the first violation."""
    trial = Failover(seed)
    problems = trial.run()
    return Violations(
        seed=seed,
        is_failover=True,
        problems=tuple(problems),
        at_ms=trial.now_ms,
        during=trial.during,
        events=trial.database.log.version,
    )
