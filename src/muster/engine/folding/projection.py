"""Keeps the scheduling snapshot in step with the record of one job."""

from typing import Final

from muster.core.lifecycle.waiting import awaits_gpus
from muster.core.snapshot import Snapshot
from muster.model.ids import JobId
from muster.model.job import Cause, Job, JobState, Placement, RunningJob, WaitingJob, beyond

LEAVER = "/leaving"
"""Suffix of the id under which workers that an elastic job gave up stay in the snapshot while they leave."""

_SUCCEEDED: Final = JobState.SUCCEEDED
_CHECKPOINTING: Final = JobState.CHECKPOINTING
"""Looked up once, because every event needs them."""


def mirror(snapshot: Snapshot, before: Job | None, after: Job, at_ms: int) -> None:
    """Edit the snapshot so that it shows the job as it is after a change, and nothing else."""
    was_waiting, is_waiting = before is not None and awaits_gpus(before), awaits_gpus(after)
    if was_waiting and is_waiting:
        _mirror_waiting(snapshot, after)
        return
    if was_waiting and not after.state.holds_resources:
        snapshot.dequeue(after.id)
    if before is not None:
        _mirror_gpus(snapshot, before, after, at_ms)
    if is_waiting:
        predicted_ms = snapshot.predicted_ms(after.spec, after.attained_gpu_ms)
        snapshot.enqueue(_waiting_entry(after, predicted_ms))


def _mirror_waiting(snapshot: Snapshot, job: Job) -> None:
    """Update a waiting job. Its prediction stays while it waits, so that what is learnt meanwhile does not move it."""
    known = snapshot.queue.jobs[job.id]
    entry = _waiting_entry(job, known.predicted_ms)
    if known != entry:
        snapshot.dequeue(job.id)
        snapshot.enqueue(entry)


def _waiting_entry(job: Job, predicted_ms: int | None) -> WaitingJob:
    """The job as planning sees it while it waits."""
    return WaitingJob(
        id=job.id,
        spec=job.spec,
        submitted_ms=_eligible_ms(job),
        requeued=job.requeued,
        attained_gpu_ms=job.attained_gpu_ms,
        predicted_ms=predicted_ms,
        starved=job.starved,
        held=job.held,
        unmet=job.unmet,
        preferred_nodes=job.preferred_nodes,
        user=job.user,
    )


def _mirror_gpus(snapshot: Snapshot, before: Job, after: Job, at_ms: int) -> None:
    """Show which GPUs the job occupies, and charge its team for the newly counted GPU time."""
    if after.attained_gpu_ms > before.attained_gpu_ms:
        snapshot.charge(after.spec.team, after.attained_gpu_ms - before.attained_gpu_ms, at_ms)
    match before.state.holds_resources, after.state.holds_resources:
        case False, True:
            snapshot.start(_running_entry(after, at_ms))
        case True, False:
            snapshot.finish(after.id)
            if after.state is _SUCCEEDED:
                snapshot.learn(after.spec, after.attained_gpu_ms)
            if _given_up(before):
                snapshot.finish(_leaver_id(before))
        case True, True:
            _mirror_running(snapshot, before, after)
        case _:
            pass
    if _gives_way(after) and not _gives_way(before):
        snapshot.preempted(after.spec.team, at_ms)


def _mirror_running(snapshot: Snapshot, before: Job, after: Job) -> None:
    was, now = _given_up(before), _given_up(after)
    if was and was != now:
        snapshot.finish(_leaver_id(before))
    if _staying(before) != _staying(after):
        snapshot.resize(after.id, _staying(after))
    _mirror_given_up(snapshot, after, was, now, _gone_ms(before))
    if after.spec is not before.spec:
        snapshot.respecify(after.id, after.spec)
    if after.spec.elastic_role is not None and _sizing(before) != _sizing(after):
        snapshot.resizable(after.id, *_sizing(after))
    if after.checkpointed_ms != before.checkpointed_ms:
        snapshot.checkpointed(after.id, after.checkpointed_ms)
    leaves_ms = _leaves_ms(after)
    if leaves_ms is not None and leaves_ms != _leaves_ms(before):
        snapshot.leaving(after.id, leaves_ms)


def _mirror_given_up(snapshot: Snapshot, after: Job, was: Placement, now: Placement, known_ms: int | None) -> None:
    """Show workers that an elastic job gave up as a separate job that is leaving.

    They hold their GPUs until they are gone. Planning must neither ask for these GPUs again nor count the workers as
    part of the gang.
    """
    gone_ms = _gone_ms(after)
    if was == now:
        if now and gone_ms is not None and gone_ms != known_ms:
            snapshot.leaving(_leaver_id(after), gone_ms)
    elif now:
        snapshot.start(
            RunningJob(
                id=_leaver_id(after),
                spec=after.spec,
                started_ms=after.started_ms or 0,
                workers=now,
                leaving_by_ms=gone_ms,
                submitted_ms=after.submitted_ms,
                user=after.user,
            )
        )


def _staying(job: Job) -> Placement:
    """The workers that planning counts as the gang: of a job that starts again at another size, those it will have."""
    return job.next_gang or job.workers


def _given_up(job: Job) -> Placement:
    if not job.state.holds_resources:
        return ()
    return (*job.leaving, *beyond(job.workers, job.next_gang)) if job.next_gang else job.leaving


def _leaves_ms(job: Job) -> int | None:
    """When the job as a whole has left. One that starts again at another size keeps its seats."""
    return None if job.next_gang else job.deadline_ms


def _gives_way(job: Job) -> bool:
    """True for a job that was told to leave for another, and not only to go on at another size."""
    return job.state is _CHECKPOINTING and job.cause is not Cause.RESIZED


def _gone_ms(job: Job) -> int | None:
    """When workers that were given up are killed: at their own deadline, or at the job's once it was told to leave."""
    return job.deadline_ms if job.leaving_by_ms is None else job.leaving_by_ms


def _sizing(job: Job) -> tuple[bool, int | None, int]:
    """Whether the job would follow an order to change its size, when it last did, and how many workers it has lost."""
    can_resize = not job.leaving and not job.exited_ranks and not job.next_gang
    return can_resize, job.resized_ms, job.lost_workers


def _leaver_id(job: Job) -> JobId:
    return JobId(f"{job.id}{LEAVER}")


def is_leaver(job: JobId) -> bool:
    """True for workers that an elastic job gave up, which the snapshot shows as a separate job."""
    return job.endswith(LEAVER)


def _eligible_ms(job: Job) -> int:
    """From when on the job ages. It gets no older while it is not to begin: a place in line cannot be kept that way."""
    return job.spec.begin.begins_ms(job.submitted_ms)


def _running_entry(job: Job, at_ms: int) -> RunningJob:
    return RunningJob(
        id=job.id,
        spec=job.spec,
        started_ms=at_ms if job.limited_since_ms is None else job.limited_since_ms,
        workers=job.workers,
        can_grow=job.spec.resizes_in_place or job.spec.can_resume,
        resized_ms=job.resized_ms,
        checkpointed_ms=job.checkpointed_ms,
        submitted_ms=_eligible_ms(job),
        attained_gpu_ms=job.attained_gpu_ms,
        starved=job.starved,
        user=job.user,
    )
