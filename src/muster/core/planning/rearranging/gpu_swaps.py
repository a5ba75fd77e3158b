"""A job that would begin on slow GPUs gets the fast GPUs of a job that is ahead of its fair share.

The other job can continue on slower GPUs, and is no newcomer. What is a restart to it may be
hours to the new job. GPUs are slow when the gang is slower on them than on a share of the whole cluster.
"""

from muster.core.order.pace import usual_speed_milli
from muster.core.order.queueing import JobClass
from muster.core.planning.displacing.preemption import Preemption
from muster.core.planning.displacing.proposals import pays
from muster.core.planning.draft import PlanDraft
from muster.model.job import WaitingJob


def change_places(draft: PlanDraft, preemption: Preemption, group: JobClass, job: WaitingJob, number: int) -> bool:
    """Find faster GPUs for a gang that could begin with choice `number`; true when it was promised some.

    The gang must gain more time than it waits for them, and save more GPU time than stopping the victims costs.
    """
    choices = group.gang.choices
    slow = choices[number]
    if choices[0].speed_milli <= slow.speed_milli:
        return False
    usual_milli = usual_speed_milli(group.gang, draft.setting)
    if slow.speed_milli >= usual_milli or not preemption.may_change_places(group):
        return False
    work = _expected_run_ms(draft, job) * usual_milli
    for faster, fast in enumerate(choices[:number]):
        if fast.speed_milli <= slow.speed_milli:
            continue
        saved_ms = work // slow.speed_milli - work // fast.speed_milli
        proposal = preemption.of_those_ahead(group, job, faster, before_ms=draft.now_ms + saved_ms)
        if proposal is not None and pays(saved_ms, group.gpu_milli, proposal.cost):
            preemption.carry_out(group, proposal)
            preemption.changing[job.id] = None
            return True
    return False


def _expected_run_ms(draft: PlanDraft, job: WaitingJob) -> int:
    """How long the job will run at its usual speed: what it says, the median of jobs like it, or a turn."""
    if job.spec.expected_duration_ms is not None:
        return job.spec.expected_duration_ms
    snapshot = draft.snapshot
    learnt_ms = snapshot.run_times.quantile_ms(job.spec, 500)
    return learnt_ms if learnt_ms is not None else snapshot.turn_ms or 0
