"""What every rule looks up: jobs, nodes and teams by name, which job uses what, and until when."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from muster.model.ids import GpuType, JobId, NodeName, TeamPath
from muster.model.job import Placement, RunningJob, WaitingJob, Worker
from muster.model.limits import BAND_FACTOR, BANDS, FIRST_BAND_GPU_MS, STARVED_BAND
from muster.model.plan import Plan
from muster.model.resources import GPU_MILLI
from muster.model.scenario import Scenario
from muster.model.spec import JobSpec
from muster.model.team import ANY_TYPE, ancestors


@dataclass(frozen=True, slots=True, kw_only=True)
class Stay:
    """Some workers of a job on their GPUs for a while."""

    job: JobId
    spec: JobSpec
    workers: Placement
    from_ms: int
    until_ms: int
    is_new: bool
    """True when this plan places them."""
    is_promised: bool = False
    is_given_up: bool = False
    """True for workers that an elastic job gives up in this plan."""

    def covers(self, at_ms: int) -> bool:
        """True when the workers are there at this time."""
        return self.from_ms <= at_ms < self.until_ms


class Facts:
    """One scenario and one plan for it."""

    def __init__(self, scenario: Scenario, plan: Plan) -> None:
        self.scenario = scenario
        self.plan = plan
        self.now_ms = scenario.now_ms
        self.nodes = {node.name: node for node in scenario.cluster.nodes}
        self.pools = {pool.name: pool for pool in scenario.pools}
        self.teams = {team.path: team for team in scenario.teams}
        self.tier_rank = {tier.name: rank for rank, tier in enumerate(scenario.tiers)}
        self.running = {job.id: job for job in scenario.running}
        self.waiting = {job.id: job for job in scenario.waiting}
        self.evictions = {entry.job: entry for entry in plan.evictions}
        self.resizes = {entry.job: entry for entry in plan.resizes}
        self.promises = {entry.job: entry for entry in plan.promises}

    def unknown_names(self) -> Iterator[str]:
        """Jobs, nodes and roles in the plan that the scenario does not know. No other rule can check these."""
        for kind, jobs, known in (
            ("start", [entry.job for entry in self.plan.starts], self.waiting),
            ("eviction", [entry.job for entry in self.plan.evictions], self.running),
            ("resize", [entry.job for entry in self.plan.resizes], self.running),
            ("hold", [entry.job for entry in self.plan.promises], self.waiting | self.running),
            ("blocked", [job for entry in self.plan.blocked for job in entry.jobs], self.waiting),
        ):
            yield from (f"{kind} of {job}: no such job there" for job in jobs if job not in known)
        for job, workers in self._placements():
            if job in self.waiting or job in self.running:
                roles = [role.name for role in self.spec(job).roles]
                yield from (f"{job}: no node {w.node}" for w in workers if w.node not in self.nodes)
                yield from (f"{job}: no role {w.role}" for w in workers if w.role not in roles)

    def _placements(self) -> Iterator[tuple[JobId, Placement]]:
        yield from ((entry.job, entry.workers) for entry in self.plan.starts)
        yield from ((entry.job, entry.workers) for entry in self.plan.resizes)
        yield from ((entry.job, entry.workers) for entry in self.plan.promises)

    def spec(self, job: JobId) -> JobSpec:
        """What a job asked for."""
        return self.waiting[job].spec if job in self.waiting else self.running[job].spec

    def rank(self, spec: JobSpec) -> int:
        """The rank of a job's tier; 0 is the most urgent."""
        return self.tier_rank[spec.tier]

    def limit_ms(self, spec: JobSpec) -> int:
        """How long the job may run."""
        tier = self.scenario.tiers[self.rank(spec)]
        return spec.max_duration_ms if spec.max_duration_ms is not None else tier.max_duration_ms

    def grace_ms(self, spec: JobSpec) -> int:
        """How long the job may take to leave."""
        return spec.grace_ms(self.scenario.policy.stop_grace_ms)

    def is_overdue(self, job: RunningJob) -> bool:
        """True when a job has run past its limit."""
        return job.started_ms + self.limit_ms(job.spec) <= self.now_ms

    def end_ms(self, job: RunningJob) -> int:
        """When a running job is gone at the latest. A job past its time is assumed to go within a millisecond."""
        if job.leaving_by_ms is not None:
            return max(job.leaving_by_ms, self.now_ms + 1)
        if job.id in self.evictions:
            return self.now_ms + self.grace_ms(job.spec)
        return max(job.started_ms + self.limit_ms(job.spec), self.now_ms + 1)

    def stays(self) -> tuple[Stay, ...]:
        """All stays on the cluster from now on: of running, growing, starting and promised jobs."""
        found: list[Stay] = []
        for job in self.scenario.running:
            found += self._running_stays(job)
        for start in self.plan.starts:
            spec = self.spec(start.job)
            end_ms = self.now_ms + self.limit_ms(spec)
            found.append(self._stay(start.job, start.workers, self.now_ms, end_ms, is_new=True))
        for promise in self.plan.promises:
            end_ms = promise.start_ms + self.limit_ms(self.spec(promise.job))
            found.append(
                self._stay(promise.job, promise.workers, promise.start_ms, end_ms, is_new=True, is_promised=True)
            )
        return tuple(found)

    def _running_stays(self, job: RunningJob) -> list[Stay]:
        """Workers given up in a resize stay for their grace period. Added workers come at once."""
        end_ms = self.end_ms(job)
        resize = self.resizes.get(job.id)
        if resize is None:
            return [self._stay(job.id, job.workers, self.now_ms, end_ms)]
        kept, gone, added = resized(job.workers, resize.workers)
        gone_ms = min(end_ms, self.now_ms + self.grace_ms(job.spec))
        return [
            self._stay(job.id, kept, self.now_ms, end_ms),
            replace(self._stay(job.id, gone, self.now_ms, gone_ms), is_given_up=True),
            self._stay(job.id, added, self.now_ms, end_ms, is_new=True),
        ]

    def _stay(
        self,
        job: JobId,
        workers: Placement,
        from_ms: int,
        until_ms: int,
        *,
        is_new: bool = False,
        is_promised: bool = False,
    ) -> Stay:
        return Stay(
            job=job,
            spec=self.spec(job),
            workers=workers,
            from_ms=from_ms,
            until_ms=until_ms,
            is_new=is_new,
            is_promised=is_promised,
        )

    def demand(self, spec: JobSpec, workers: Placement) -> Counter[GpuType]:
        """GPU thousandths per type, and their sum under `*`."""
        total: Counter[GpuType] = Counter()
        for worker in workers:
            milli = spec.role(worker.role).request.gpu_milli
            total[self.nodes[worker.node].gpu_type] += milli
            total[ANY_TYPE] += milli
        return total

    def usage(self, team: TeamPath, stays: Iterable[Stay]) -> Counter[GpuType]:
        """What a team and everything below it uses in these stays."""
        total: Counter[GpuType] = Counter()
        for stay in stays:
            if team in ancestors(stay.spec.team):
                total += self.demand(stay.spec, stay.workers)
        return total

    def domain(self, node: NodeName, level: str) -> tuple[str, ...]:
        """The full path of the domain of a level that a node is in."""
        path = (*self.nodes[node].domains, node)
        levels = (*self.scenario.cluster.levels, "node")
        return path[: levels.index(level) + 1]


def milli_on_device(worker: Worker) -> int:
    """The thousandths that a worker uses of each of its GPUs."""
    return GPU_MILLI if worker.share_milli is None else worker.share_milli


def resized(before: Placement, after: Placement) -> tuple[Placement, Placement, Placement]:
    """Which workers stay, go and come, whatever their ranks."""
    left = Counter(_seat(worker) for worker in before)
    kept: list[Worker] = []
    added: list[Worker] = []
    for worker in after:
        if left[_seat(worker)] > 0:
            left[_seat(worker)] -= 1
            kept.append(worker)
        else:
            added.append(worker)
    gone: list[Worker] = []
    for worker in reversed(before):
        if left[_seat(worker)] > 0:
            left[_seat(worker)] -= 1
            gone.append(worker)
    return tuple(kept), tuple(gone), tuple(added)


def _seat(worker: Worker) -> tuple[str, str, tuple[int, ...], int | None]:
    return (worker.role, worker.node, worker.gpus, worker.share_milli)


def service_band(gpu_ms: int, job: RunningJob | WaitingJob) -> int:
    """The band of a job that has had this much GPU time, counted by the powers that its hours pass."""
    hours, band = gpu_ms // FIRST_BAND_GPU_MS, 0
    while hours:
        hours, band = hours // BAND_FACTOR, band + 1
    return min(band, STARVED_BAND if job.starved else BANDS - 1)
