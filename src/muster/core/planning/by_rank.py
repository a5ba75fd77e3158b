"""Planning for policies that preempt inside a tier: the job with the better rank runs, others leave for it.

Waiting jobs are taken tier by tier in the order of their ranks. A job that fits starts. For a job that does not fit,
running jobs of its tier with a worse rank are told to leave, the worst first and no more than needed. The waiting job
is promised their GPUs for when they are gone. All other jobs wait for the next cycle, which comes when the victims have
left. A job that was preempted may itself preempt. Ranks decide, and no job stops another of equal rank, so two jobs
cannot preempt each other at one moment. Only jobs that can resume are stopped.

Promises rest on departures alone, and none binds the next cycle: there ranks decide again. The result is the same as
long as no job with a better rank has come. Teams count only by their limits, which are checked before any victim has
left.
"""

from bisect import bisect_left
from collections.abc import Callable

from muster.core.order.queueing import JobClass
from muster.core.order.ranks import Rank
from muster.core.planning.displacing.departures import Departures
from muster.core.planning.displacing.proposals import Proposal, carry_out
from muster.core.planning.displacing.room_search import RoomSearch
from muster.core.planning.displacing.timely_gangs import TimelyGangs
from muster.core.planning.displacing.victims import may_be_stopped
from muster.core.planning.draft import PlanDraft
from muster.core.planning.next_cycle import (
    first_to_come,
    next_to_be_movable,
    promised_starts,
    windows_end,
    wishes_relax,
)
from muster.core.planning.placing.placement import place
from muster.core.planning.placing.reference_shapes import reference_shapes
from muster.core.snapshot import Snapshot
from muster.model.ids import JobId, natural
from muster.model.job import WaitingJob
from muster.model.plan import Blocked, Plan, ReasonCode

_Rank = tuple[int, ...]
"""How jobs of a tier compare. The smallest comes first."""


def plan_by_rank(rank: Rank) -> Callable[[Snapshot, int], Plan]:
    """A planner by these ranks. It reads the snapshot, never changes it, and remembers nothing between cycles."""

    def plan(snapshot: Snapshot, now_ms: int) -> Plan:
        snapshot.capacity.states.measure_by(reference_shapes(snapshot))
        draft = PlanDraft(snapshot, now_ms)
        wakes_ms: list[int] = []
        for tier in range(len(draft.setting.tiers)):
            groups = snapshot.queue.of_tier(tier)
            if groups:
                wakes_ms += _TierByRank(draft, rank, tier).run(groups)
        return draft.plan(first_to_come(draft, (*wakes_ms, *_wakes_ms(draft))))

    return plan


class _TierByRank:
    """Walks the jobs of one tier in the order of their ranks."""

    def __init__(self, draft: PlanDraft, rank: Rank, tier: int) -> None:
        self._draft = draft
        self._rank = rank
        self._tier = tier
        self._hopeless: dict[tuple[int, int, int], bool] = {}
        """Gangs that could neither start nor make room although quota refused none of their choices. The next equal
        gang has a worse rank: it may stop fewer jobs, and the GPUs of all victims were open to the first gang too."""
        self._departures = Departures(draft, lambda _: None)
        self._gangs = TimelyGangs(draft)
        self._ranked: list[tuple[_Rank, int, JobId]] | None = None

    def run(self, groups: list[JobClass]) -> list[int]:
        """Decide every job of the tier. Returns when running jobs will fall behind the first job that still waits."""
        queue = self._draft.snapshot.queue
        jobs = [queue.jobs[job_id] for group in groups for job_id in group.ids]
        ranks = {job.id: (-job.spec.priority, *self._rank.waiting(job)) for job in jobs}
        line = sorted((ranks[job.id], job.submitted_ms, natural(job.id), job.id) for job in jobs)
        stopped: dict[tuple[ReasonCode, str], list[JobId]] = {}
        first: _Rank | None = None
        for where, _, _, job_id in line:
            reason = self._decide(queue.class_of[job_id], queue.jobs[job_id], where)
            if reason is not None:
                stopped.setdefault(reason, []).append(job_id)
                first = where if first is None else first
        # Their classes are not marked as stuck: the next job of a class may have a better rank and needs a new plan.
        for (code, detail), waiting in stopped.items():
            self._draft.blocked.append(Blocked(parts=(tuple(waiting),), code=code, detail=detail))
        return [] if first is None else self._fall_behind_ms(first)

    def _decide(self, group: JobClass, job: WaitingJob, where: _Rank) -> tuple[ReasonCode, str] | None:
        """Start a job or make room for it. Otherwise return what stopped it."""
        widest = self._draft.widest(group.gang, job)
        known = (group.gang_number, group.limit_ms, widest)
        if known in self._hopeless:
            return ReasonCode.CAPACITY, ""
        reason = self._start(group, job, widest)
        if reason is None or reason[0] is not ReasonCode.CAPACITY:
            return reason
        proposal = self._room_for(group, job, where)
        if proposal is None:
            end_ms = self._draft.now_ms + group.limit_ms
            if all(self._draft.quota_refusal(group.account, choice, end_ms) is None for choice in group.gang.choices):
                self._hopeless[known] = True
            return reason
        carry_out(self._draft, proposal)
        leaving = self._draft.leaving
        self._ranked = [each for each in self._those_that_may_leave() if each[2] not in leaving]
        return None

    def _start(self, group: JobClass, job: WaitingJob, widest: int) -> tuple[ReasonCode, str] | None:
        """Start the gang if it fits. Otherwise return what stopped it: lack of GPUs comes before lack of quota."""
        draft = self._draft
        end_ms = draft.now_ms + group.limit_ms
        first = draft.surviving_nodes(job)
        reasons: dict[ReasonCode, str] = {}
        for choice in group.gang.choices:
            refusal = draft.quota_refusal(group.account, choice, end_ms)
            if refusal is not None:
                reasons[refusal[0]] = refusal[1]
                continue
            seating = place(draft.horizons.until(end_ms), group.gang, choice, widest, first)
            if seating is not None:
                draft.begin(job, group.gang, choice, seating)
                return None
            reasons[ReasonCode.CAPACITY] = ""
        if not reasons:
            return ReasonCode.NEVER_FITS, ""
        code = min(reasons, key=lambda code: (code is not ReasonCode.CAPACITY, code is ReasonCode.HELD_BY_OTHERS))
        return code, reasons[code]

    def _room_for(self, group: JobClass, job: WaitingJob, where: _Rank) -> Proposal | None:
        """Room for the first choice of the gang for which enough jobs leave anyway or have a worse rank."""
        draft = self._draft
        end_ms = draft.now_ms + group.limit_ms
        if not group.gpu_milli:
            return None
        ranked = self._those_that_may_leave()
        worse = [job_id for _, _, job_id in ranked[: bisect_left(ranked, True, key=lambda each: each[0] <= where)]]
        if not worse and not draft.snapshot.departing and not draft.leaving:
            return None
        gang = self._gangs.of(group).gang
        for choice in gang.choices:
            if draft.quota_refusal(group.account, choice, end_ms) is None:
                search = RoomSearch(draft, self._departures.capacity(), job, gang, choice)
                proposal = search.worst_first(worse)
                if proposal is not None:
                    return proposal
        return None

    def _those_that_may_leave(self) -> list[tuple[_Rank, int, JobId]]:
        """The running jobs of the tier that may be stopped, worst rank first, and among equals the one started last."""
        if self._ranked is None:
            draft, rank, tier = self._draft, self._rank.running, self._draft.setting.tiers[self._tier].name
            self._ranked = [
                ((-job.spec.priority, *rank(job, draft.now_ms)), job.started_ms, job.id)
                for job in draft.snapshot.running.values()
                if job.spec.can_resume and job.spec.tier == tier and may_be_stopped(draft, job)
            ]
            self._ranked.sort(reverse=True)
        return self._ranked

    def _fall_behind_ms(self, first: _Rank) -> list[int]:
        """When running jobs that may be stopped will get a worse rank than the first waiting job."""
        running = self._draft.snapshot.running
        found: list[int] = []
        for (priority, *key), _, job_id in self._those_that_may_leave():
            change = self._rank.worsens(running[job_id], (key[0], key[1]))
            if change is not None and first < (priority, *change[1]):
                found.append(change[0])
        return found


def _wakes_ms(draft: PlanDraft) -> list[int]:
    """When time alone may change the decision, whatever the ranks.

    That is at a promised start, when a soft topology preference relaxes, when a reservation ends, and when a running
    job has had its minimum run time while others wait.
    """
    times = [*promised_starts(draft), *wishes_relax(draft), *windows_end(draft.snapshot)]
    return times + next_to_be_movable(draft.snapshot, draft.now_ms) if draft.blocked else times
