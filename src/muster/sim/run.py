"""One replay under way: the production engine under a virtual clock, in the simulated world.

Nothing here decides which job runs. The loop goes from moment to moment. It tells the engine what is due in the world,
among the node faults and in the trace. Then the engine ticks, and the world carries out its commands.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from random import Random

from muster.core.admission import Rejected
from muster.engine.apply import Dropped
from muster.engine.decisions import Decisions
from muster.engine.engine import Engine
from muster.estimates.training import PARTS, Habits, Training
from muster.model.errors import InvariantViolated
from muster.model.events import WorkersExited
from muster.model.ids import JobId
from muster.model.node import ClusterSpec
from muster.model.policy import DAY_MS, Pool, Tier
from muster.model.scenario import Scenario
from muster.model.team import Team
from muster.model.trace import TraceJob
from muster.policies import NamedPolicy
from muster.sim.faults import FaultRates, JobFate, job_fate
from muster.sim.hashed_log import HashedLog
from muster.sim.node_faults import NodeFaults
from muster.sim.speeds import speeds_by_type
from muster.sim.submissions import TraceSubmissions
from muster.sim.world import World

STUCK_MS = 30 * DAY_MS
"""After this long on an idle cluster, with no more submissions to come, waiting jobs count as waiting for ever."""
IDLE_TICKS = 10_000
"""How many moments may pass in the meantime."""
ROUNDS_PER_MOMENT = 10_000
"""How often the engine may ask for the same moment again. More means that it goes in circles."""
REASONS_KEPT = 3
"""How many reasons of a dropped plan are kept: enough to find the mistake in its planner."""
PROGRESS_STEPS = 200
RETRIES = 3
"""How often a job is retried after a crash, if the faults can make jobs crash."""

Progress = Callable[[int, int], None]
"""Called with the number of jobs that have ended and the number of all jobs."""


class Run:
    """A trace, an engine and a world. `to_the_end` is called once."""

    def __init__(
        self,
        jobs: Sequence[TraceJob],
        cluster: ClusterSpec,
        policy: NamedPolicy,
        *,
        habits: Habits,
        faults: FaultRates,
        teams: tuple[Team, ...],
        pools: tuple[Pool, ...],
        tiers: tuple[Tier, ...],
        seed: int,
        can_resume: bool,
        knows_speeds: bool,
        progress: Progress | None,
    ) -> None:
        self.jobs = jobs
        self.cycles = 0
        self.dropped_plans = 0
        self.first_drop = ""
        """Why the first dropped plan was dropped."""
        self.rejected: dict[JobId, str] = {}
        """For each rejected job, why it can never run."""
        self.log = HashedLog()
        may_lose = faults.disturb_jobs or _stops_jobs(policy)
        self.world = World(cluster.nodes, replace(habits, reports_saves=habits.reports_saves and may_lose))
        self.engine = Engine(
            scenario=Scenario(now_ms=0, cluster=cluster, pools=pools, teams=teams, tiers=tiers, policy=policy.rules),
            log=self.log,
            backend=self.world,
            decisions=None if policy.planner is None else Decisions(plan=policy.planner),
        )
        self._submissions = TraceSubmissions(
            cluster.nodes,
            knows_durations=policy.knows_durations,
            knows_speeds=knows_speeds,
            can_resume=can_resume,
            retries=RETRIES if faults.crash or faults.gpu else 0,
            habits=habits,
            stop_grace_ms=policy.rules.stop_grace_ms,
            slowest=int(faults.straggler_speed * PARTS) if faults.straggler else PARTS,
        )
        self._can_resume = can_resume
        spot = frozenset(pool.name for pool in pools if pool.spot)
        self._node_faults = NodeFaults(faults, cluster.nodes, spot, seed)
        self._fates = _fates(jobs, faults, seed)
        self._cancels = _cancels(jobs, self._fates)
        self._next_cancel = 0
        self._next_job = 0
        self._next_own_ms = self._own_moment()
        self._ended: set[JobId] = set()
        self._progress = progress
        self._progress_step = max(1, len(jobs) // PROGRESS_STEPS)
        self._now_ms = 0
        self._rounds = 0
        self._idle_ms: int | None = None
        self._idle_rounds = 0

    def to_the_end(self) -> None:
        """Go from moment to moment until every job has ended, or nothing can happen to the remaining jobs."""
        while len(self._ended) < len(self.jobs):
            now_ms = self._next_moment()
            if now_ms is None or self._is_stuck(now_ms):
                break
            self._go_to(now_ms)
        if self._progress is not None:
            self._progress(len(self.jobs), len(self.jobs))

    def _next_moment(self) -> int | None:
        """When the next event happens anywhere; None if there is none."""
        soonest = self._next_own_ms
        for other in (self.world.next_ms, self.engine.next_ms):
            if other is not None and (soonest is None or other < soonest):
                soonest = other
        if soonest is None:
            return None
        return max(self._now_ms, soonest)

    def _go_to(self, now_ms: int) -> None:
        """Process everything that happens at one moment."""
        self._count_rounds(now_ms)
        self._now_ms = now_ms
        self.world.advance(now_ms)
        if self._next_own_ms is not None and self._next_own_ms <= now_ms:
            with self.engine.batch():
                self._node_faults.befall(self.world, now_ms)
                self._observe()
                self._submit(now_ms)
                self._cancel(now_ms)
            self._next_own_ms = self._own_moment()
        self._observe()
        report = self.engine.tick(now_ms)
        if report is not None:
            self.cycles += 1
            if isinstance(report.outcome, Dropped):
                self.dropped_plans += 1
                self.first_drop = self.first_drop or "; ".join(report.outcome.reasons[:REASONS_KEPT])
        self._observe()

    def _own_moment(self) -> int | None:
        """When the next job is submitted or cancelled, or the next node fault happens."""
        moments = []
        if self._next_job < len(self.jobs):
            moments.append(self.jobs[self._next_job].submit_ms)
        if self._next_cancel < len(self._cancels):
            moments.append(self._cancels[self._next_cancel][0])
        if (fault_ms := self._node_faults.next_ms) is not None:
            moments.append(fault_ms)
        return min(moments, default=None)

    def _observe(self) -> None:
        """Tell the engine what the world has reported, and note which jobs have ended."""
        reports = self.world.poll()
        if not reports:
            return
        self.engine.observe(*reports)
        records = self.engine.state.jobs
        for report in reports:
            if type(report) is WorkersExited and records[report.job].ended_ms is not None:
                self._end(report.job)
        for job in self.world.struck:
            if records[job].ended_ms is not None:
                self._end(job)
        self.world.struck.clear()

    def _submit(self, now_ms: int) -> None:
        jobs, place = self.jobs, self._next_job
        while place < len(jobs) and jobs[place].submit_ms <= now_ms:
            job = jobs[place]
            spec = self._submissions.spec(job)
            answer = self.engine.submit(spec, now_ms, job=job.id)
            if isinstance(answer, Rejected):
                self.rejected[job.id] = answer.message
                self._end(job.id)
            else:
                training = Training(
                    job.id,
                    job.run_ms,
                    size=spec.roles[0].workers_max,
                    speeds=speeds_by_type(job) if job.run_ms_by_type else (),
                    can_resume=self._can_resume,
                    crash_at=self._fates[place].crash_at if self._fates else None,
                )
                self.world.expect(training)
            place += 1
        self._next_job = place

    def _cancel(self, now_ms: int) -> None:
        """Cancel the jobs that are due. A running job is told to leave, and has ended when it is gone."""
        while self._next_cancel < len(self._cancels) and self._cancels[self._next_cancel][0] <= now_ms:
            job = self._cancels[self._next_cancel][1]
            self._next_cancel += 1
            record = self.engine.state.jobs.get(job)
            if record is not None and record.ended_ms is None:
                self.engine.cancel(job, now_ms, by="user")
                if self.engine.state.jobs[job].ended_ms is not None:
                    self._end(job)

    def _end(self, job: JobId) -> None:
        """Note that a job has ended. It may be called more than once for one job."""
        self._ended.add(job)
        if self._progress is not None and len(self._ended) % self._progress_step == 0:
            self._progress(len(self._ended), len(self.jobs))

    def _count_rounds(self, now_ms: int) -> None:
        self._rounds = self._rounds + 1 if now_ms == self._now_ms else 0
        if self._rounds > ROUNDS_PER_MOMENT:
            raise InvariantViolated(f"the engine goes in circles at {now_ms} ms of the replay")

    def _is_stuck(self, now_ms: int) -> bool:
        """True when nothing runs, all jobs were submitted, and jobs still wait after a long time."""
        if self._next_job < len(self.jobs) or self.engine.state.occupying:
            self._idle_ms = None
            return False
        if self._idle_ms is None:
            self._idle_ms, self._idle_rounds = now_ms, 0
        self._idle_rounds += 1
        return self._idle_rounds > IDLE_TICKS or now_ms > self._idle_ms + STUCK_MS


def _stops_jobs(policy: NamedPolicy) -> bool:
    """True when the policy may tell a running job to leave, so that its saves matter."""
    rules = policy.rules
    return rules.preemption or rules.consolidation or policy.planner is not None


def _fates(jobs: Sequence[TraceJob], faults: FaultRates, seed: int) -> tuple[JobFate, ...]:
    if not faults.crash and not faults.cancel:
        return ()
    chance = Random(f"fates {seed}")
    return tuple(job_fate(faults, job.run_ms, chance) for job in jobs)


def _cancels(jobs: Sequence[TraceJob], fates: Sequence[JobFate]) -> list[tuple[int, JobId]]:
    """When which job is cancelled, in the order of time."""
    return sorted(
        (job.submit_ms + fate.cancel_after_ms, job.id)
        for job, fate in zip(jobs, fates, strict=False)
        if fate.cancel_after_ms is not None
    )
