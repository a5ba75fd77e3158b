"""How a team inside its guarantee gets it back when nothing else is enough.

It may stop every job that borrows, whatever the job's tier and even if it is not preemptible. A promise to a job that
would itself borrow may also be in the way. Such a promise moves.
"""

from muster.core.order.queueing import JobClass
from muster.core.planning.displacing.preemption import Preemption
from muster.core.planning.displacing.reclaim_rights import ReclaimRights
from muster.core.planning.displacing.victim_rights import PROMISES_ASIDE
from muster.core.planning.draft import PlanDraft, PlannedPromise
from muster.core.planning.promising.promises import still_holds
from muster.model.ids import JobId
from muster.model.job import WaitingJob
from muster.model.plan import Basis

MOVED = "a team takes back what it is guaranteed"
"""What a job is told when its promise moves."""


def take_back(
    draft: PlanDraft,
    preemption: Preemption,
    group: JobClass,
    job: WaitingJob,
    before_ms: int | None = None,
    holder: JobId | None = None,
) -> bool:
    """Make room for a gang inside its team's guarantee by putting promises to borrowers aside; true when that helps.

    `holder` is the job if its own promise is put aside as well. Promises that do not hold any more are made again.
    """
    aside = _promised_to_borrowers(draft, preemption.claims, group) if preemption.may_insist(group) else []
    if not aside:
        return False
    for promise in aside:
        draft.put_aside(promise)
    made_room = preemption.ask(PROMISES_ASIDE, group, job, before_ms, holder)
    for promise in aside:
        if not made_room or _still_holds(draft, promise):
            draft.restore(promise)
        else:
            _moves(draft, preemption, promise.terms.job)
    return made_room


def _promised_to_borrowers(draft: PlanDraft, claims: ReclaimRights, group: JobClass) -> list[PlannedPromise]:
    """Promises that rest on limits, for which no job leaves, to jobs whose team would borrow from the class's team."""
    entitled = claims.entitled(group, group.gang.choices[0])
    return [
        promise
        for promise in draft.promises.values()
        if promise.terms.basis is Basis.LIMITS
        and promise.terms.job in draft.snapshot.queue.class_of
        and claims.would_borrow(promise.account, promise.choice.demand, group.team, entitled)
    ]


def _still_holds(draft: PlanDraft, promise: PlannedPromise) -> bool:
    return still_holds(draft, promise.terms, promise.footprint, promise.choice, promise.account, promise.end_ms)


def _moves(draft: PlanDraft, preemption: Preemption, job_id: JobId) -> None:
    del draft.promises[job_id]
    preemption.broken[job_id] = MOVED
    preemption.unpromised.append(job_id)
