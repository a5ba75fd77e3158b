"""A job that would begin on slow GPUs gets those of one that is ahead of what it is due on fast ones.

The other can go on where it would have begun, and has run longer than most jobs ever do: what is a restart to it may
be hours to the one that comes. Slow is what is slower than a share of the cluster would be.
"""

from muster.core.gang import Choice
from muster.core.pace import usual_speed_milli
from muster.core.planning.desk import Desk
from muster.core.planning.preemption import Preemption
from muster.core.planning.search import Sacrifice
from muster.core.queueing import JobClass
from muster.model.job import WaitingJob
from muster.model.resources import GPU_MILLI


def change_places(
    desk: Desk, preemption: Preemption, group: JobClass, job: WaitingJob, number: int, widest: int
) -> bool:
    """Find faster GPUs for a gang that could begin in the way `number`; true when it was promised some."""
    choices = group.gang.choices
    slow = choices[number]
    if choices[0].speed_milli <= slow.speed_milli:
        return False
    usual_milli = usual_speed_milli(group.gang, desk.setting)
    if slow.speed_milli >= usual_milli or not preemption.may_change_places(group):
        return False
    run_ms = _expected_run_ms(desk, job)
    for faster, fast in enumerate(choices[:number]):
        if fast.speed_milli <= slow.speed_milli:
            continue
        sacrifice = preemption.of_those_ahead(group, faster, fast, widest)
        if sacrifice is not None and _pays(sacrifice, group, run_ms * usual_milli, slow, fast):
            preemption.carry_out(group, job, fast, sacrifice)
            return True
    return False


def _expected_run_ms(desk: Desk, job: WaitingJob) -> int:
    """How long the job will run at its usual speed: as it says, as half of those like it do, or for a turn."""
    if job.spec.expected_duration_ms is not None:
        return job.spec.expected_duration_ms
    snapshot = desk.snapshot
    learnt_ms = snapshot.run_times.quantile_ms(job.spec, 500)
    return learnt_ms if learnt_ms is not None else snapshot.turn_ms or 0


def _pays(sacrifice: Sacrifice, group: JobClass, work: int, slow: Choice, fast: Choice) -> bool:
    """True when the gang saves more GPU time than the others lose; `work` is what it does in a time at a speed."""
    saved_ms = work // slow.speed_milli - work // fast.speed_milli
    return saved_ms * group.gpu_milli // GPU_MILLI > sacrifice.cost
