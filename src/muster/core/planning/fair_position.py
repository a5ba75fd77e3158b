"""How a running job stands to what its team's weight makes it due."""

from muster.core.order.run_times import began_ms
from muster.core.planning.draft import PlanDraft
from muster.model.job import RunningJob
from muster.model.resources import GPU_MILLI

AHEAD, BEHIND, EVEN = 0, 1, 2
"""How a job stands, in the order in which jobs are asked to give way."""

AHEAD_PART = 4
"""Who is ahead by this part of the time that was fair, and by a turn, can wait: shares change while it does."""

BEHIND_PART = 1000
"""A delay by less than this part of the time that was fair is none."""

SETTLED_PART = 4
"""Who has been where it is for this part of all the time that it has run is settled."""


def fair_position(draft: PlanDraft, job: RunningJob) -> int:
    """How a job stands; ahead, like everybody, where nobody said what is due."""
    fair_ms = _fair_ms(draft, job)
    if fair_ms is None:
        return AHEAD
    lived_ms = draft.now_ms - job.submitted_ms
    if lived_ms + fair_ms // AHEAD_PART + (draft.snapshot.turn_ms or 0) < fair_ms:
        return AHEAD
    return BEHIND if lived_ms > fair_ms + fair_ms // BEHIND_PART else EVEN


def is_settled(draft: PlanDraft, job: RunningJob) -> bool:
    """True when a job may leave fast GPUs again: so one that moves to and fro is asked ever more rarely.

    What it is due sees to that where it is known: after slow GPUs it takes ever longer to get ahead again.
    """
    lived_here_ms, ran_ms = draft.now_ms - job.started_ms, draft.now_ms - began_ms(job)
    return lived_here_ms * SETTLED_PART >= ran_ms or _fair_ms(draft, job) is not None


def lateness_milli(draft: PlanDraft, job: RunningJob) -> int:
    """How long a job has lived, in thousandths of the time that was fair; 0 where nobody said what is due."""
    fair_ms = _fair_ms(draft, job)
    return 0 if fair_ms is None else (draft.now_ms - job.submitted_ms) * GPU_MILLI // max(fair_ms, 1)


def _fair_ms(draft: PlanDraft, job: RunningJob) -> int | None:
    """How long the job would have taken on its share for what it has done; None when nobody said what is due.

    A share has GPUs of every type, and on these the job is as fast as usual. On which GPUs it was before it started
    here is not remembered: then it was as fast as usual as well.
    """
    now_ms, snapshot = draft.now_ms, draft.snapshot
    if not snapshot.entitlements.are_declared:  # First, because this is asked about everybody whose turn is over.
        return None
    ran_ms = job.started_ms - began_ms(job) + snapshot.paces.at_usual_speed_ms(job.id, now_ms - job.started_ms)
    return snapshot.entitlements.fair_ms(job.id, job.spec.gang_gpu_milli, ran_ms, now_ms)
