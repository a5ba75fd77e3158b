"""Why a job is not even considered: it is held, waits for other jobs or for its turn, or pauses."""

from muster.model.job import Job, WaitingJob
from muster.model.plan import Reason, ReasonCode


def not_considered(job: WaitingJob) -> tuple[Reason, ...]:
    """Why a job of the snapshot is passed over: it is held, or waits for other jobs."""
    reasons: list[Reason] = []
    if job.held:
        reasons.append(
            Reason(
                code=ReasonCode.HELD,
                message="its user put it on hold",
                would_help=f"muster release {job.id}",
            )
        )
    if job.unmet:
        names = ", ".join(job.unmet)
        reasons.append(
            Reason(
                code=ReasonCode.DEPENDENCY,
                message=f"waits for {names}",
                would_help=f"it is queued when {names} ended as asked",
            )
        )
    return tuple(reasons)


def not_queued(job: Job, now_ms: int) -> tuple[Reason, ...]:
    """Why a job is not in the snapshot at all: its turn in its array has not come, or it pauses."""
    if job.state.is_final or job.state.holds_resources:
        return ()
    if job.awaits_turn:
        message = f"its array {job.array_parent} runs only so many tasks at once, and its turn has not come"
        return (Reason(code=ReasonCode.DEPENDENCY, message=message, would_help="other tasks of the array ending"),)
    if job.not_before_ms is not None:
        message = f"it could not be started {job.faults_in_a_row} times in a row and pauses"
        seconds = -(-max(job.not_before_ms - now_ms, 0) // 1000)
        helps = f"nothing needed: it is tried again in {seconds} s"
        return (Reason(code=ReasonCode.NODE_HEALTH, message=message, would_help=helps),)
    return ()
