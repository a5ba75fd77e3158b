"""Which job goes next: by tier, guarantee, fair share, aged priority and the policy's order, then by id.

Waiting jobs that are equal in everything that decides whether they can start form a *class*. A class that cannot start
is dropped as a whole for the cycle, so ten thousand waiting jobs cost only as much as their few hundred classes.
"""

from bisect import bisect_left, insort
from collections.abc import Iterator, ValuesView

from muster.core.cluster.gang import Gang, gang_key, gang_of
from muster.core.cluster.setting import Setting
from muster.core.order.quota import account_of
from muster.core.order.service import NEWCOMERS, aged_ms, band_of
from muster.model.ids import JobId, TeamPath, natural
from muster.model.job import WaitingJob
from muster.model.plan import Blocked
from muster.model.policy import Order, Policy

OrderKey = tuple[int, int, int, str, JobId]
"""Three numbers that depend on the order of the policy, then the id in natural order (job-9 before job-10)."""

FeasibilityKey = tuple[int, int, int, bool]
"""Band, gang, limit and right to preempt. Classes with equal keys start or fail together, whatever their team."""


class JobClass:
    """Waiting jobs of one tier, team, gang, limit and rights. They differ only in their place in the queue."""

    __slots__ = (
        "_ids",
        "_names",
        "account",
        "band",
        "feasibility_key",
        "gang",
        "gang_number",
        "gpu_milli",
        "jobs",
        "limit_ms",
        "may_preempt",
        "order",
        "relaxes",
        "stuck_at",
        "team",
        "tier",
    )

    def __init__(
        self,
        *,
        order: int,
        tier: int,
        team: TeamPath,
        account: TeamPath,
        gang: Gang,
        gang_number: int,
        limit_ms: int,
        band: int,
        job: WaitingJob,
    ) -> None:
        self.order = order
        """The number of the class in the order of creation. Breaks ties between equal heads."""
        self.tier = tier
        self.team = team
        self.account = account
        """The path that its jobs are charged to."""
        self.gang = gang
        self.gang_number = gang_number
        """Equal for equal gangs, whatever their team."""
        self.gpu_milli = job.spec.gang_gpu_milli
        self.limit_ms = limit_ms
        self.may_preempt = not job.requeued
        self.band = band
        self.feasibility_key: FeasibilityKey = (band, gang_number, limit_ms, self.may_preempt)
        self.relaxes = job.spec.topology.prefer is not None and job.spec.topology.relax_after_ms > 0
        self.jobs: list[OrderKey] = []
        self.stuck_at = -1
        """`Snapshot.releases` at the last plan that was carried out and found that no job of the class can start."""
        self._names: list[JobId] = []
        """The ids of `jobs` in the same order, so that skipping a class costs only a copy of this list."""
        self._ids: tuple[JobId, ...] | None = None

    @property
    def head(self) -> OrderKey:
        """The key of its first job."""
        return self.jobs[0]

    @property
    def ids(self) -> tuple[JobId, ...]:
        """Its jobs in order. Built once and kept until a job comes or goes."""
        if self._ids is None:
            self._ids = tuple(self._names)
        return self._ids

    def add(self, key: OrderKey) -> None:
        """Add a job."""
        at = bisect_left(self.jobs, key)
        self.jobs.insert(at, key)
        self._names.insert(at, key[-1])
        self._ids = None

    def remove(self, key: OrderKey) -> None:
        """Remove a job."""
        at = bisect_left(self.jobs, key)
        del self.jobs[at], self._names[at]
        self._ids = None


class WaitingQueue:
    """All waiting jobs by class, kept sorted as jobs come and go."""

    def __init__(self, setting: Setting) -> None:
        self._setting = setting
        self.jobs: dict[JobId, WaitingJob] = {}
        self.class_of: dict[JobId, JobClass] = {}
        self._classes: dict[tuple[object, ...], JobClass] = {}
        self._class_keys: dict[int, tuple[object, ...]] = {}
        self._gangs: dict[tuple[object, ...], tuple[int, Gang]] = {}
        self._numbered: list[Gang] = []
        self.by_age: list[tuple[int, str, JobId]] = []
        """When each job was submitted, longest ago first, then its id in natural order."""
        self._keys: dict[JobId, OrderKey] = {}
        """The order key of each waiting job."""
        self._by_feasibility: dict[tuple[int, int], dict[FeasibilityKey, dict[int, JobClass]]] = {}
        self._by_tier: list[dict[int, JobClass]] = [{} for _ in setting.tiers]
        self.relaxing: dict[int, JobClass] = {}
        """Classes whose jobs may spread further once they have waited a while."""
        self._wanted: dict[int, int] = {}
        """How many jobs wait for each gang."""
        self._made = 0

    def add(self, job: WaitingJob) -> None:
        """Queue a job. A job that may not start yet is known but not considered."""
        self.jobs[job.id] = job
        if job.held or job.unmet or job.early or job.awaits_turn:
            return
        group = self._class_for(job)
        self.class_of[job.id] = group
        key = self._keys[job.id] = order_key(job, self._setting)
        insort(self.by_age, _age(job, key))
        group.add(key)
        self._wanted[group.gang_number] = self._wanted.get(group.gang_number, 0) + 1

    def remove(self, job_id: JobId) -> WaitingJob:
        """Take a job out of the queue."""
        job = self.jobs.pop(job_id)
        group = self.class_of.pop(job_id, None)
        if group is not None:
            key = self._keys.pop(job_id)
            del self.by_age[bisect_left(self.by_age, _age(job, key))]
            group.remove(key)
            self._wanted[group.gang_number] -= 1
            if not group.jobs:
                self._drop(group)
        return job

    def _drop(self, group: JobClass) -> None:
        """Forget a class that has no more jobs."""
        del self._classes[self._class_keys.pop(group.order)]
        del self._by_feasibility[(group.tier, group.band)][group.feasibility_key][group.order]
        del self._by_tier[group.tier][group.order]
        self.relaxing.pop(group.order, None)
        if not self._wanted[group.gang_number]:
            del self._wanted[group.gang_number]

    def _class_for(self, job: WaitingJob) -> JobClass:
        spec = job.spec
        limit_ms = self._setting.limit_ms(spec)
        band = _band(job, self._setting.policy)
        gang_number, gang = self.gang(job)
        account = account_of(job)
        key = (spec.tier, account, gang_number, limit_ms, job.requeued, band)
        group = self._classes.get(key)
        if group is None:
            self._made += 1
            group = self._classes[key] = JobClass(
                order=self._made,
                tier=self._setting.tier_rank[spec.tier],
                team=spec.team,
                account=account,
                gang=gang,
                gang_number=gang_number,
                limit_ms=limit_ms,
                band=band,
                job=job,
            )
            self._class_keys[group.order] = key
            feasibility_keys = self._by_feasibility.setdefault((group.tier, band), {})
            feasibility_keys.setdefault(group.feasibility_key, {})[group.order] = group
            self._by_tier[group.tier][group.order] = group
            if group.relaxes:
                self.relaxing[group.order] = group
        return group

    def gang(self, job: WaitingJob) -> tuple[int, Gang]:
        """The gang of a job and its number, shared with all jobs whose gangs are equal."""
        spec = job.spec
        pools = self._setting.pools_for(tier=spec.tier, team=spec.team, can_resume=spec.can_resume)
        key = (gang_key(spec), pools, self._setting.tenancy(spec, job.user))
        known = self._gangs.get(key)
        if known is None:
            known = self._gangs[key] = (len(self._gangs), gang_of(spec, self._setting, user=job.user))
            self._numbered.append(known[1])
        return known

    def gang_counts(self) -> list[tuple[Gang, int]]:
        """Every gang that waits and how many jobs want it."""
        return [(self._numbered[number], count) for number, count in self._wanted.items()]

    def of_tier(self, tier: int) -> list[JobClass]:
        """The classes of a tier, oldest class first."""
        return list(self._by_tier[tier].values())

    def by_feasibility(self, tier: int, band: int) -> Iterator[tuple[FeasibilityKey, list[JobClass]]]:
        """The classes of a band, grouped by feasibility key."""
        for feasibility_key, groups in self._by_feasibility.get((tier, band), {}).items():
            if groups:
                yield feasibility_key, list(groups.values())

    def remember_stuck(self, blocked: tuple[Blocked, ...], releases: int) -> None:
        """Note classes that could not start in a plan that is carried out. Jobs that join them cannot start either.

        No event records it. An engine that restarts from the log does not know it, and makes one more plan.
        """
        for entry in blocked:
            if entry.is_stuck:
                for part in entry.parts:
                    self.class_of[part[0]].stuck_at = releases

    def remember_all_stuck(self, releases: int) -> None:
        """Note that no class can start, as if a plan had said so."""
        for group in self._classes.values():
            group.stuck_at = releases

    def is_stuck(self, job_id: JobId, releases: int) -> bool:
        """True when nothing can be done for a job: jobs like it could not start, and nothing came free since."""
        group = self.class_of.get(job_id)
        if group is None:
            return True
        if group.relaxes:
            return False
        if self._setting.is_strict:
            front = self.front()
            return (
                front is not None
                and front.stuck_at == releases
                and (front.tier, front.head) < (group.tier, self._keys[job_id])
            )
        return group.stuck_at == releases or self._is_behind(group, job_id, releases)

    def considered(self) -> Iterator[WaitingJob]:
        """The jobs that may start as far as their users and other jobs are concerned."""
        return (self.jobs[job_id] for job_id in self.class_of)

    def classes(self) -> ValuesView[JobClass]:
        """All classes that have jobs to consider, oldest class first."""
        return self._classes.values()

    def front(self) -> JobClass | None:
        """The class of the first job in line where teams do not count. Jobs that can never start are skipped."""
        for tier in self._by_tier:
            able = [(group.head, group) for group in tier.values() if group.gang.choices]
            if able:
                return min(able)[1]
        return None

    def _is_behind(self, group: JobClass, job_id: JobId, releases: int) -> bool:
        """True when the policy lets no job pass a stuck job, and a stuck job is in front of this one."""
        policy = self._setting.policy
        if policy.backfill or policy.weighs_teams:
            return False
        place = (group.tier, group.band, self._keys[job_id])
        return any(
            other.stuck_at == releases and other.gang.choices and (other.tier, other.band, other.head) < place
            for tier in self._by_tier[: group.tier + 1]
            for other in tier.values()
        )


def _age(job: WaitingJob, key: OrderKey) -> tuple[int, str, JobId]:
    """The sort key of a job by age alone. Its id in natural order is taken from its order key."""
    return (job.submitted_ms, key[3], job.id)


def _band(job: WaitingJob, policy: Policy) -> int:
    """The band a job waits in. Where jobs take no turns, all of them wait in one."""
    return band_of(job.attained_gpu_ms, starved=job.starved) if policy.takes_turns else NEWCOMERS


def order_key(job: WaitingJob, setting: Setting) -> OrderKey:
    """The sort key of a job among the jobs of its team. All jobs age alike, so the key does not change with time."""
    policy, spec = setting.policy, job.spec
    age, name = aged_ms(job, policy), natural(job.id)
    match policy.order:
        case Order.FAIR | Order.FIFO:
            return (age, 0, 0, name, job.id)
        case Order.SHORTEST:
            duration_ms = job.predicted_ms or spec.expected_duration_ms or setting.limit_ms(spec)
            return (-spec.priority, duration_ms * spec.gang_gpu_milli, age, name, job.id)
        case Order.LEAST_ATTAINED:
            return (-spec.priority, job.attained_gpu_ms, age, name, job.id)
