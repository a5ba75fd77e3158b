"""Why a job is not even considered: it is held, waits for its time, for other jobs or for its turn, or pauses."""

from muster.model.ids import JobId
from muster.model.job import Job, WaitingJob
from muster.model.plan import Reason, ReasonCode
from muster.model.printable import moment_text, span_text
from muster.model.spec import Begin

NOT_STARTED = "not started"
"""The rule of a reason: not a node is out of order as far as is known, but nothing has started there."""


def not_considered(job: WaitingJob, now_ms: int) -> tuple[Reason, ...]:
    """Why a job of the snapshot is passed over: it is held, or waits for its time or for other jobs."""
    early = (_too_early(job.spec.begin, job.submitted_ms, now_ms),) if job.early else ()
    turn = (_not_its_turn(job.id.rpartition(".")[0]),) if job.awaits_turn else ()
    return (*early, *turn, *_wished(job.id, job.unmet, is_held=job.held))


def not_queued(job: Job, now_ms: int) -> tuple[Reason, ...]:
    """Why a job is not in the snapshot at all: its time or its turn in its array has not come, or it pauses."""
    if job.state.is_final or job.state.holds_resources:
        return ()
    if job.awaits_turn:
        return (_not_its_turn(str(job.array_parent)),)
    if job.not_before_ms is not None and job.spec.begin.begins_ms(job.submitted_ms) > now_ms:
        early = _too_early(job.spec.begin, job.submitted_ms, now_ms)
        return (early, *_wished(job.id, job.unmet, is_held=job.held))
    if job.not_before_ms is not None:
        message = f"it could not be started {job.faults_in_a_row} times in a row and pauses"
        seconds = -(-max(job.not_before_ms - now_ms, 0) // 1000)
        helps = f"nothing needed: it is tried again in {seconds} s"
        return (Reason(code=ReasonCode.NODE_HEALTH, message=message, would_help=helps, rule=NOT_STARTED),)
    return ()


def _wished(job: JobId, unmet: tuple[JobId, ...], *, is_held: bool) -> tuple[Reason, ...]:
    reasons: list[Reason] = []
    if is_held:
        reasons.append(
            Reason(code=ReasonCode.HELD, message="its user put it on hold", would_help=f"muster release {job}")
        )
    if unmet:
        names = ", ".join(unmet)
        reasons.append(
            Reason(
                code=ReasonCode.DEPENDENCY,
                message=f"waits for {names}",
                would_help=f"it is queued when {names} ended as asked",
            )
        )
    return tuple(reasons)


def _not_its_turn(array: str) -> Reason:
    message = f"its array {array} runs only so many tasks at once, and its turn has not come"
    return Reason(code=ReasonCode.DEPENDENCY, message=message, would_help="other tasks of the array ending")


def _too_early(begin: Begin, submitted_ms: int, now_ms: int) -> Reason:
    begins_ms = begin.begins_ms(submitted_ms)
    return Reason(
        code=ReasonCode.BEGIN,
        message=f"its user asked that it not start before {moment_text(begins_ms)}",
        would_help=f"nothing needed: it is queued in {span_text(begins_ms - now_ms)}; "
        "for an earlier start submit it with another `begin`",
    )
