"""Which jobs could leave, and what that would cost.

The cost of stopping a job is the GPU time since its last checkpoint plus a restart. A job that never reported a
checkpoint costs at most the median of those that did, so that hiding checkpoints protects no job.

A guarantee comes before a tier, where tiers are bound to teams (`Ledger.shelters`). Teams are compared where their
branches of the team tree part. A team that borrows stops no job whose team is inside its guarantee. What a team borrows
it gives back to a team inside its guarantee, in the last resort also from a higher tier and from jobs that are not
preemptible.
"""

from typing import NamedTuple

from muster.core.cluster.footprint import gpu_milli_of
from muster.core.cluster.gang import Demand
from muster.core.cluster.node_use import Footprint, NodeUse
from muster.core.order.preemptibles import Borrowing, Protection, price_gpu_ms, saved_at_ms
from muster.core.planning.draft import PlanDraft
from muster.model.ids import JobId, TeamPath
from muster.model.job import Placement, RunningJob
from muster.model.limits import LAST_RESORT_COST
from muster.model.plan import Why


class Victim(NamedTuple):
    """A running job that may be told to leave, or to give up some of its workers."""

    job: RunningJob
    why: Why
    cost: int
    """GPU-milliseconds that would be lost or spent again."""
    footprint: Footprint
    """What it would free."""
    demand: Demand
    workers: Placement = ()
    """The workers that an elastic job gives up. Empty when the whole job leaves."""

    @property
    def reports(self) -> bool:
        """True when the job has reported a checkpoint."""
        return self.job.checkpointed_ms is not None

    def use_on(self, node: int) -> NodeUse:
        """What it would free on one of its nodes."""
        return next(use for use in self.footprint if use.node == node)


class PlannedDeparture(NamedTuple):
    """A job that this plan tells to leave."""

    team: TeamPath
    demand: Demand
    reclaimed_for: TeamPath | None
    """Set when this team may stop the job only because the job's own team borrows."""


Lent = tuple[Borrowing, ...]
"""Groups of jobs that borrow."""


class Claim(NamedTuple):
    """Which groups of running jobs a team may stop or has to spare, by the guarantees of both."""

    borrowers: Lent = ()
    """Groups that use what the team may take back, and are preemptible."""
    firm: Lent = ()
    """Groups that use it as well, and are not preemptible: stopped when nothing else is enough."""
    sheltered: Lent = ()
    """Groups inside their guarantee, while the team is not inside its own: its tier does not stop them."""


def may_be_stopped(draft: PlanDraft, job: RunningJob) -> bool:
    """True when a job is not protected by its file, tier or minimum run time, and not leaving or shrinking already."""
    told = job.leaving_by_ms is not None or job.id in draft.evictions or job.id in draft.resizes
    has_had_its_time = draft.now_ms - job.started_ms >= draft.policy.min_runtime_ms
    return draft.setting.is_preemptible(job.spec) and has_had_its_time and not told


def victim_of(draft: PlanDraft, job: RunningJob, why: Why) -> Victim:
    """A running job as a victim, with what leaving costs."""
    demand = draft.snapshot.demands[job.id]
    cost = price_gpu_ms(saved_at_ms(job), gpu_milli_of(demand), draft.policy.restart_cost_ms, draft.now_ms)
    return Victim(job, why, cost, draft.snapshot.footprints[job.id], demand)


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
    """All running jobs that may be stopped in this cycle, each looked at when it is first needed."""

    def __init__(self, draft: PlanDraft) -> None:
        self._draft = draft
        self._struck: dict[JobId, None] = {}
        self._started_by_ms = draft.now_ms - draft.policy.min_runtime_ms
        self._costs: dict[JobId, int] = {}
        self._ceiling = draft.snapshot.preemptibles.median_price(draft.policy.restart_cost_ms, draft.now_ms)
        self._groups: list[Borrowing] | None = None
        self._firm_groups: list[Borrowing] | None = None

    def may_ask(self, job: RunningJob) -> bool:
        """True when a job has had its minimum run time and was not told to leave or to shrink."""
        job_id, draft = job.id, self._draft
        return (
            job.started_ms <= self._started_by_ms
            and job.leaving_by_ms is None
            and job_id not in self._struck
            and job_id not in draft.evictions
            and job_id not in draft.resizes
        )

    def cost(self, job: RunningJob) -> int:
        """What stopping a job costs: at most the median price if it never reported a checkpoint."""
        known = self._costs.get(job.id)
        if known is None:
            restart_ms, now_ms = self._draft.policy.restart_cost_ms, self._draft.now_ms
            known = self._draft.snapshot.preemptibles.price(job.id, restart_ms, now_ms, self._ceiling)
            self._costs[job.id] = known
        return known

    def leave(self, job_id: JobId) -> None:
        """A job was told to leave: it cannot be told again."""
        self._struck[job_id] = None

    def claim(self, team: TeamPath, entitled: tuple[TeamPath, ...]) -> Claim:
        """The claim of a team on all running jobs.

        `entitled` are the team and the teams above it that would stay inside their guarantee.
        """
        ledger = self._draft.projected
        if self._groups is None:
            self._groups = self._with_jobs_to_ask(self._draft.snapshot.preemptibles.groups)
        borrowers: list[Borrowing] = []
        sheltered: list[Borrowing] = []
        for group in self._groups:
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
        if self._firm_groups is None:
            self._firm_groups = self._with_jobs_to_ask(self._draft.snapshot.preemptibles.firm_groups)
        pairs = [(group, ledger.branches(team, group[0])) for group in self._firm_groups]
        return tuple(group for group, at in pairs if at and at[0] in entitled and ledger.is_borrowing(at[1], group[1]))

    def _with_jobs_to_ask(self, groups: dict[Borrowing, dict[JobId, None]]) -> list[Borrowing]:
        running = self._draft.snapshot.running
        return sorted(group for group, jobs in groups.items() if any(self.may_ask(running[job]) for job in jobs))


class _Reason(NamedTuple):
    """Why a job may be stopped."""

    why: Why
    steps: int
    """By how many steps it comes after jobs that have to leave by other rights."""


class Asked:
    """Which running jobs gangs with equal rights may ask to leave, and at what price."""

    def __init__(
        self, draft: PlanDraft, roster: Roster, tier: int, claim: Claim, *, by_tier: bool, insists: bool
    ) -> None:
        """With `by_tier` also jobs of lower tiers, with `insists` also jobs that no other right could stop."""
        self._draft = draft
        self._roster = roster
        self._tier = tier
        self._claim = claim
        self.by_tier = by_tier
        self._insists = insists
        self._reasons: dict[Protection, _Reason | None] = {}

    @property
    def rights(self) -> tuple[int, Claim, bool, bool]:
        """Equal for gangs that may ask the same jobs."""
        return self._tier, self._claim, self.by_tier, self._insists

    def takes(self, job: RunningJob) -> bool:
        """True when a job may be asked."""
        return self._roster.may_ask(job) and self._reason(job) is not None

    def cost(self, job: RunningJob) -> int | None:
        """What it costs if a job leaves; None when it may not be asked."""
        reason = self._reason(job) if self._roster.may_ask(job) else None
        if reason is None:
            return None
        return self._roster.cost(job) + (LAST_RESORT_COST**reason.steps if reason.steps else 0)

    def victim(self, job: RunningJob, cost: int) -> Victim:
        """A job that may be asked as a victim."""
        reason = self._reason(job)
        assert reason is not None
        return victim_of(self._draft, job, reason.why)._replace(cost=cost)

    def _reason(self, job: RunningJob) -> _Reason | None:
        protection = self._draft.snapshot.preemptibles.protection(job.id)
        if protection not in self._reasons:
            self._reasons[protection] = self._find_reason(protection)
        return self._reasons[protection]

    def _find_reason(self, protection: Protection) -> _Reason | None:
        """Why jobs with this protection may be stopped.

        In the last resort, borrowers in a higher tier come first and after them borrowers that are not preemptible,
        each from the lowest tier up. Prices make the order, however many of a step have to leave, but only between
        places of one level: a place on one node is taken before a place on several.
        """
        setting, (tier, is_preemptible, group) = self._draft.setting, protection
        rank, tiers = setting.tier_rank[tier], len(setting.tiers)
        if not is_preemptible:
            return _Reason(Why.RECLAIM, 2 * tiers - rank) if self._insists and group in self._claim.firm else None
        if self.by_tier and rank > self._tier and group not in self._claim.sheltered:
            return _Reason(Why.TIER, 0)
        if group not in self._claim.borrowers or (rank < self._tier and not self._insists):
            return None
        return _Reason(Why.RECLAIM, 0 if rank >= self._tier else tiers - rank)
