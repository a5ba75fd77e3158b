"""Which jobs could leave, and what that would cost.

The cost of stopping a job is the GPU time since its last checkpoint plus a restart. A job that never reported a
checkpoint costs at most the median of those that did, so that hiding checkpoints protects no job.

A guarantee comes before a tier, where tiers are bound to teams (`Ledger.shelters`). Teams are compared where their
branches of the team tree part. A team that borrows stops no job whose team is inside its guarantee. What a team borrows
it gives back to a team inside its guarantee, in the last resort also from a higher tier and from jobs that are not
preemptible.
"""

from statistics import median_high, median_low
from typing import NamedTuple

from muster.core.cluster.capacity import Footprint
from muster.core.cluster.footprint import demand_of_running, footprint_of, gpu_milli_of
from muster.core.cluster.gang import Demand, running_gang
from muster.core.planning.draft import PlanDraft
from muster.model.ids import JobId, TeamPath
from muster.model.job import Placement, RunningJob
from muster.model.limits import LAST_RESORT_COST
from muster.model.plan import Why
from muster.model.resources import GPU_MILLI


class Victim(NamedTuple):
    """A running job that may be told to leave, or to give up some of its workers."""

    job: RunningJob
    why: Why
    cost: int
    """GPU-milliseconds that would be lost or spent again."""
    lost_gpu_ms: int
    footprint: Footprint
    """What it would free."""
    demand: Demand
    workers: Placement = ()
    """The workers that an elastic job gives up. Empty when the whole job leaves."""


def _lost_gpu_ms(job: RunningJob, gpu_milli: int, now_ms: int) -> int:
    """GPU time since the job last saved itself, or since it started."""
    saved_ms = max(job.started_ms, job.checkpointed_ms or job.started_ms)
    return max(0, now_ms - saved_ms) * gpu_milli // GPU_MILLI


class PlannedDeparture(NamedTuple):
    """A job that this plan tells to leave."""

    team: TeamPath
    demand: Demand
    reclaimed_for: TeamPath | None
    """Set when this team may stop the job only because the job's own team borrows."""


Lent = tuple[tuple[TeamPath, Demand], ...]
"""Groups of jobs that borrow: their team and, as a demand of one thousandth each, the GPU types they use."""


class Claim(NamedTuple):
    """Which groups of running jobs a team may stop or has to spare, by the guarantees of both."""

    borrowers: Lent = ()
    """Groups that use what the team may take back, and are preemptible."""
    firm: Lent = ()
    """Groups that use it as well, and are not preemptible: stopped when nothing else is enough."""
    sheltered: Lent = ()
    """Groups inside their guarantee, while the team is not inside its own: its tier does not stop them."""


def _by_id(job: RunningJob) -> JobId:
    return job.id


def may_be_stopped(draft: PlanDraft, job: RunningJob) -> bool:
    """True when a job is not protected by its file, tier or minimum run time, and not leaving or shrinking already."""
    return is_preemptible(draft, job) and _has_had_its_time(draft, job)


def is_preemptible(draft: PlanDraft, job: RunningJob) -> bool:
    """True when neither its file nor its tier protects a job."""
    return job.spec.preemptible and draft.setting.tier(job.spec.tier).preemptible


def _has_had_its_time(draft: PlanDraft, job: RunningJob) -> bool:
    """True when a job has had its minimum run time and was not told to leave or to shrink yet."""
    return draft.now_ms - job.started_ms >= draft.policy.min_runtime_ms and not was_told(draft, job)


def was_told(draft: PlanDraft, job: RunningJob) -> bool:
    """True when a job was told to leave or to shrink, before or in this cycle."""
    return job.leaving_by_ms is not None or job.id in draft.evictions or job.id in draft.resizes


def victim_of(draft: PlanDraft, job: RunningJob, why: Why) -> Victim:
    """A running job as a victim, with what leaving costs."""
    demand = draft.snapshot.demands[job.id]
    gpu_milli = gpu_milli_of(demand)
    lost = _lost_gpu_ms(job, gpu_milli, draft.now_ms)
    cost = lost + draft.policy.restart_cost_ms * gpu_milli // GPU_MILLI
    return Victim(job, why, cost, lost, draft.snapshot.footprints[job.id], demand)


def may_take_from(draft: PlanDraft, team: TeamPath) -> int:
    """How many more jobs of a team may be told to leave within the hour."""
    recent = draft.snapshot.recent_preemptions.count(team, draft.now_ms)
    return draft.policy.preemptions_per_team_hour - recent - draft.told.get(team, 0)


def told_to_leave(draft: PlanDraft) -> list[PlannedDeparture]:
    """All jobs that this plan tells to leave, in the order in which they were told."""
    found: list[PlannedDeparture] = []
    for job_id, eviction in draft.evictions.items():
        lender = draft.snapshot.queue.jobs[eviction.for_job].spec.team if job_id in draft.borrowers else None
        found.append(PlannedDeparture(draft.snapshot.running[job_id].spec.team, draft.snapshot.demands[job_id], lender))
    return found


class Roster:
    """All running jobs that may be stopped in this cycle, with their cost. Made once per cycle."""

    def __init__(self, draft: PlanDraft) -> None:
        self._draft = draft
        snapshot = draft.snapshot
        self._rank = draft.setting.tier_rank
        self.jobs: dict[JobId, Victim] = {}
        self._by_team: dict[tuple[TeamPath, Demand], list[JobId]] | None = None
        self._firm: dict[JobId, Victim] | None = None
        self._firm_by_team: dict[tuple[TeamPath, Demand], list[JobId]] = {}
        self._ceiling: int | None = None
        movable = sorted((job for job in snapshot.running.values() if may_be_stopped(draft, job)), key=_by_id)
        reported: list[int] = []
        for job in movable:
            victim = self.jobs[job.id] = victim_of(draft, job, Why.TIER)
            if job.checkpointed_ms is not None:
                reported.append(victim.cost)
        if reported:
            self._ceiling = (median_low(reported) + median_high(reported)) // 2
            for job_id, victim in self.jobs.items():
                self.jobs[job_id] = self._capped(victim)

    def _capped(self, victim: Victim) -> Victim:
        """The victim at no more than the median price, if it never reported a checkpoint."""
        if self._ceiling is None or victim.job.checkpointed_ms is not None or victim.cost <= self._ceiling:
            return victim
        return victim._replace(cost=self._ceiling)

    def leave(self, job_id: JobId) -> None:
        """A job was told to leave: it cannot be told again."""
        self.jobs.pop(job_id, None)
        if self._firm is not None:
            self._firm.pop(job_id, None)

    def below(self, tier: int, sheltered: Lent = ()) -> list[Victim]:
        """Jobs of lower tiers, without those of sheltered groups."""
        lower = [victim for victim in self.jobs.values() if self._rank[victim.job.spec.tier] > tier]
        return [victim for victim in lower if group_of(victim) not in sheltered] if sheltered else lower

    def claim(self, team: TeamPath, entitled: tuple[TeamPath, ...]) -> Claim:
        """The claim of a team on all running jobs.

        `entitled` are the team and the teams above it that would stay inside their guarantee.
        """
        ledger = self._draft.projected
        borrowers: list[tuple[TeamPath, Demand]] = []
        sheltered: list[tuple[TeamPath, Demand]] = []
        for group in self._groups():
            branches = ledger.branches(team, group[0])
            if branches is not None:
                is_entitled, borrows = branches[0] in entitled, ledger.is_borrowing(branches[1], group[1])
                if is_entitled and borrows:
                    borrowers.append(group)
                elif not is_entitled and not borrows and ledger.shelters:
                    sheltered.append(group)
        firm = self._firm_borrowers(team, entitled) if entitled else ()
        return Claim(tuple(borrowers), firm, tuple(sheltered))

    def _firm_borrowers(self, team: TeamPath, entitled: tuple[TeamPath, ...]) -> Lent:
        ledger = self._draft.projected
        if self._firm is None:
            self._firm = self._find_firm()
            self._firm_by_team = _grouped(self._firm)
        pairs = [(group, ledger.branches(team, group[0])) for group in self._firm_by_team]
        return tuple(group for group, at in pairs if at and at[0] in entitled and ledger.is_borrowing(at[1], group[1]))

    def _find_firm(self) -> dict[JobId, Victim]:
        """Jobs that have had their minimum run time and are not preemptible."""
        draft = self._draft
        running = sorted(draft.snapshot.running.values(), key=_by_id)
        firm = [job for job in running if not is_preemptible(draft, job) and _has_had_its_time(draft, job)]
        return {job.id: self._capped(victim_of(draft, job, Why.RECLAIM)) for job in firm}

    def _groups(self) -> dict[tuple[TeamPath, Demand], list[JobId]]:
        """The jobs on the roster by team and the GPU types they use. These alone decide what is borrowed."""
        if self._by_team is None:
            self._by_team = _grouped(self.jobs)
        return self._by_team

    def others(self, tier: int, claim: Claim, lower: list[Victim], *, insists: bool) -> list[Victim]:
        """What a claim adds to the victims of lower tiers. With `insists` also jobs that no other right could stop."""
        known = {victim.job.id: None for victim in lower}
        borrowers = [victim for victim in self._borrowers(tier, claim.borrowers) if victim.job.id not in known]
        return borrowers + self._last_resort(tier, claim) if insists else borrowers

    def _borrowers(self, tier: int, lent: Lent) -> list[Victim]:
        """The jobs of the same or a lower tier in these groups."""
        groups = self._groups()
        return [
            self.jobs[job_id]._replace(why=Why.RECLAIM)
            for group in lent
            for job_id in groups[group]
            if job_id in self.jobs and self._rank[self.jobs[job_id].job.spec.tier] >= tier
        ]

    def _last_resort(self, tier: int, claim: Claim) -> list[Victim]:
        """Borrowers in a higher tier, and after them borrowers that are not preemptible, each from the lowest tier up.

        Prices make the order: a step up adds `LAST_RESORT_COST`, more than all jobs of a cluster could lose together.
        """
        groups, firm, tiers = self._groups(), self._firm or {}, len(self._rank)
        willing = [self.jobs[job_id] for group in claim.borrowers for job_id in groups[group] if job_id in self.jobs]
        higher = [victim for victim in willing if self._rank[victim.job.spec.tier] < tier]
        protected = [firm[job_id] for group in claim.firm for job_id in self._firm_by_team[group] if job_id in firm]
        return [
            victim._replace(why=Why.RECLAIM, cost=victim.cost + (steps + self._steps_up(victim)) * LAST_RESORT_COST)
            for steps, victims in ((0, higher), (tiers, protected))
            for victim in victims
        ]

    def _steps_up(self, victim: Victim) -> int:
        return len(self._rank) - self._rank[victim.job.spec.tier]


def group_of(victim: Victim) -> tuple[TeamPath, Demand]:
    """What decides, together with the guarantees, whether a job counts as borrowing: its team and its GPU types."""
    return victim.job.spec.team, tuple((gpu_type, 1) for gpu_type, milli in victim.demand if milli)


def _grouped(victims: dict[JobId, Victim]) -> dict[tuple[TeamPath, Demand], list[JobId]]:
    found: dict[tuple[TeamPath, Demand], list[JobId]] = {}
    for job_id, victim in victims.items():
        found.setdefault(group_of(victim), []).append(job_id)
    return found


def leavers(draft: PlanDraft) -> list[Victim]:
    """Jobs that were told to leave, before or in this plan. What they free is taken only as far as it was promised."""
    return [as_leaver(draft, job_id) for job_id in (*draft.snapshot.departing, *draft.leaving)]


def as_leaver(draft: PlanDraft, job_id: JobId) -> Victim:
    """A running job that leaves anyway, so it costs nothing as a victim."""
    snapshot = draft.snapshot
    return Victim(snapshot.running[job_id], Why.TIER, 0, 0, snapshot.footprints[job_id], snapshot.demands[job_id])


def shrinkable(draft: PlanDraft) -> list[Victim]:
    """What running elastic jobs have beyond their minimum: it goes to gangs that need it to run at all.

    Each worker (or tensor-parallel group of workers) is offered by itself, so that no more is taken than is needed.
    `spare_workers` says how many of them may go.
    """
    found: list[Victim] = []
    for _, job in sorted(draft.snapshot.elastic.items()):
        role = job.spec.elastic_role
        if role is None or job.leaving_by_ms is not None or job.id in draft.resizes or job.id in draft.evictions:
            continue
        if spare_workers(job) <= 0:
            continue
        part = next(part for part in running_gang(job, draft.setting).parts if part.role == role.name)
        of_role = [worker for worker in job.workers if worker.role == role.name]
        groups = [tuple(of_role[at : at + part.group]) for at in range(0, len(of_role), part.group)]
        found += [workers_of(draft, job, workers) for workers in reversed(groups)]
    return found


def spare_workers(job: RunningJob) -> int:
    """How many workers an elastic job has beyond its minimum."""
    role = job.spec.elastic_role
    if role is None:
        return 0
    return sum(1 for worker in job.workers if worker.role == role.name) - role.workers_min


def workers_of(draft: PlanDraft, job: RunningJob, workers: Placement) -> Victim:
    """Some workers of an elastic job as a victim."""
    tree = draft.setting.tree
    demand = demand_of_running(job.spec, workers, tree)
    cost = draft.policy.restart_cost_ms * gpu_milli_of(demand) // GPU_MILLI
    return Victim(job, Why.TIER, cost, 0, footprint_of(job.spec, workers, tree), demand, workers)
