"""How the progress of a running job compares with what its team's weight makes it due."""

from muster.core.order.run_times import began_ms
from muster.core.planning.draft import PlanDraft
from muster.model.job import RunningJob
from muster.model.resources import GPU_MILLI

AHEAD_PART = 4
"""A job can wait when it is ahead by one part in this many of its fair time, and by a turn: shares change meanwhile."""

SETTLED_PART = 4
"""A job is settled when it has been in its place for one part in this many of all the time that it has run."""


def is_ahead(draft: PlanDraft, job: RunningJob) -> bool:
    """True when a job can wait for a turn and still end in fair time. Every job can where no fair time is known."""
    fair_ms = _fair_ms(draft, job)
    if fair_ms is None:
        return True
    lived_ms = draft.now_ms - job.submitted_ms
    return lived_ms + fair_ms // AHEAD_PART + (draft.snapshot.turn_ms or 0) < fair_ms


def is_settled(draft: PlanDraft, job: RunningJob) -> bool:
    """True when a job may leave fast GPUs again. So a job that moves to and fro is preempted ever more rarely.

    Where its fair time is known, that is enough: after slow GPUs it takes the job ever longer to get ahead again.
    """
    lived_here_ms, ran_ms = draft.now_ms - job.started_ms, draft.now_ms - began_ms(job)
    return lived_here_ms * SETTLED_PART >= ran_ms or _fair_ms(draft, job) is not None


def lateness_milli(draft: PlanDraft, job: RunningJob) -> int:
    """How long a job has lived, in thousandths of its fair time; 0 where no fair time is known."""
    fair_ms = _fair_ms(draft, job)
    return 0 if fair_ms is None else (draft.now_ms - job.submitted_ms) * GPU_MILLI // max(fair_ms, 1)


def _fair_ms(draft: PlanDraft, job: RunningJob) -> int | None:
    """How long the job would have taken on its fair share for what it has done; None when no share is known.

    A share has GPUs of every type, and on these the job runs at its usual speed. Which GPUs it had before it started
    here is not remembered, so the usual speed is assumed for that time as well.
    """
    now_ms, snapshot = draft.now_ms, draft.snapshot
    if not snapshot.entitlements.are_declared:  # First, because this runs for every job whose turn is over.
        return None
    ran_ms = job.started_ms - began_ms(job) + snapshot.paces.at_usual_speed_ms(job.id, now_ms - job.started_ms)
    return snapshot.entitlements.fair_ms(job.id, job.spec.gang_gpu_milli, ran_ms, now_ms)
