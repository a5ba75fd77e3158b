"""Moving jobs that can resume to a faster GPU type that has come free.

When no job waits, every job may move. A job that is late by what its team is due may also move before the
later bands of its tier start.

A job that came when only slow GPUs were free would otherwise stay on them to its end. When it ends is not known: it is
assumed to run for as long again as it has run, but not beyond its limit. It moves if that saves more than the move
costs, by the factor that holds for all moves. It only ever moves to faster GPUs. A job that has to leave these to a new
job (gpu_swaps.py) is preempted ever more rarely, so no job moves to and fro for ever.
"""

from muster.core.cluster.footprint import gpu_milli_of
from muster.core.cluster.gang import Choice
from muster.core.order.pace import Pace
from muster.core.order.quota import account_of
from muster.core.order.run_times import began_ms
from muster.core.planning.displacing.fair_position import lateness_milli
from muster.core.planning.displacing.proposals import Proposal, carry_out, gone_ms, pays
from muster.core.planning.displacing.victims import Victim, may_be_stopped, may_take_from, victim_of
from muster.core.planning.draft import PlanDraft
from muster.core.planning.placing.placement import Seating, place
from muster.core.planning.promising.promises import quota_allows
from muster.model.job import RunningJob
from muster.model.limits import NEXT_CYCLE_MS, UPGRADES_PER_CYCLE
from muster.model.plan import Why
from muster.model.resources import GPU_MILLI


def upgrade(draft: PlanDraft) -> None:
    """Move jobs, the most delayed first, each to the fastest type that has room and pays.

    No job moves while another waits, or while the jobs that moved last are on their way.
    """
    if draft.snapshot.paces.slow and not draft.blocked and not draft.promises:
        _move_some(draft, _slow(draft))


def upgrade_late(draft: PlanDraft, tier: int) -> None:
    """Move late jobs of a tier and above, before jobs of the tier beyond the first band get the GPUs.

    These were to wait a while anyway, and slow GPUs are good enough for them. No job moves once any job is
    blocked.
    """
    if draft.snapshot.paces.slow and not draft.blocked:
        ranks = draft.setting.tier_rank
        able = [(job, pace) for job, pace in _slow(draft) if ranks[job.spec.tier] <= tier]
        _move_some(draft, [(job, pace) for job, pace in able if lateness_milli(draft, job) > GPU_MILLI])


def _move_some(draft: PlanDraft, jobs: list[tuple[RunningJob, Pace]]) -> None:
    """Move jobs until as many are on their way as may be at one time."""
    left = UPGRADES_PER_CYCLE - sum(job_id in draft.snapshot.running for job_id in draft.promises)
    for job, pace in jobs:
        if left <= 0:
            return
        left -= _move(draft, job, pace)


def _slow(draft: PlanDraft) -> list[tuple[RunningJob, Pace]]:
    """Jobs that may find faster GPUs and can be told to leave without losing all they did.

    The job that is most delayed by what it is due comes first, then the one that has run longest.
    """
    running, slow, free = draft.snapshot.running, draft.snapshot.paces.slow, draft.horizons.closed
    found = [
        (running[job_id], slow[job_id])
        for _, job_id in draft.snapshot.service.by_run_time
        if job_id in slow and running[job_id].checkpointed_ms is not None and slow[job_id].may_find_room(free)
    ]
    able = [(job, pace) for job, pace in found if may_be_stopped(draft, job)]
    able.sort(key=lambda entry: -lateness_milli(draft, entry[0]))
    return able


def _move(draft: PlanDraft, job: RunningJob, pace: Pace) -> bool:
    """Evict the job for itself and promise it its new place; false when there is none, or none that pays."""
    spec = job.spec
    if may_take_from(draft, spec.team) <= 0 or draft.ledger.is_over_limit(account_of(job)):
        return False
    victim = victim_of(draft, job, Why.CONSOLIDATION)
    start_ms = gone_ms(draft, (victim,))
    for choice in pace.faster:
        seating = _seats(draft, victim, pace, choice)
        end_ms = start_ms + draft.setting.limit_ms(spec)
        if seating is not None and quota_allows(draft, account_of(job), choice, start_ms, end_ms):
            carry_out(draft, Proposal(job, choice, seating, (victim,), start_ms))
            return True
    return False


def _seats(draft: PlanDraft, victim: Victim, pace: Pace, choice: Choice) -> Seating | None:
    """Free GPUs of a faster type for the whole gang, if moving there pays."""
    job = victim.job
    ahead_ms = min(draft.now_ms - began_ms(job), draft.end_ms(job) - draft.now_ms)
    saved_ms = ahead_ms * (choice.speed_milli - pace.speed_milli) // choice.speed_milli
    if not pays(saved_ms, gpu_milli_of(victim.demand), victim.cost, draft.policy.consolidation_gain_milli):
        return None
    return place(draft.horizons.closed, pace.gang, choice, draft.widest(pace.gang, job))


def next_upgrades(draft: PlanDraft) -> list[int]:
    """When each job on slow GPUs will have run long enough to move, if it saves itself just then."""
    return [
        _may_pay_ms(draft, draft.snapshot.running[job_id], pace) for job_id, pace in draft.snapshot.paces.slow.items()
    ]


def _may_pay_ms(draft: PlanDraft, job: RunningJob, pace: Pace) -> int:
    fastest_milli, policy = pace.faster[0].speed_milli, draft.policy
    # A moment later than it begins to pay, so that rounding does not decide.
    worth_ms = policy.restart_cost_ms * policy.consolidation_gain_milli // GPU_MILLI + NEXT_CYCLE_MS
    enough_ms = worth_ms * fastest_milli // (fastest_milli - pace.speed_milli)
    return max(job.started_ms + policy.min_runtime_ms, began_ms(job) + enough_ms)
