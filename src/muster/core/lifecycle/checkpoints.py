"""The checkpoints of a job: from the parts that ranks have saved to what the next attempt resumes from.

A checkpoint counts when the parts of all its ranks were reported. Files are never looked at here: whether they are
intact is found out by the ranks that read them.
"""

from muster.core.lifecycle.stopping import Step, abandon
from muster.core.lifecycle.timing import next_ask_ms
from muster.model.checkpoint import Checkpoint
from muster.model.events import (
    CheckpointDamaged,
    CheckpointEvent,
    CheckpointRemoved,
    CheckpointSaved,
    CheckpointUploaded,
    ShardsSaved,
)
from muster.model.job import Cause, Job, JobState
from muster.model.records import evolve


def resume_from(job: Job) -> Checkpoint | None:
    """The newest complete checkpoint that nobody found damaged; None to begin from the start."""
    return next((each for each in reversed(job.checkpoints) if each.is_good), None)


def is_only_good(job: Job, step: int) -> bool:
    """True when a job that has not ended would lose all of its work without this checkpoint."""
    newest = resume_from(job)
    return newest is not None and newest.step == step and resume_from(without(job, step)) is None


def is_being_restored(job: Job, step: int) -> bool:
    """True while a gang is started from this checkpoint. Its workers are told one after another, and all the same."""
    newest = resume_from(job)
    return job.state is JobState.STARTING and newest is not None and newest.step == step


def without(job: Job, step: int) -> Job:
    """The job after one of its checkpoints was removed."""
    known = _known(job, step)
    if known is None or known.is_removed:
        return job
    return _less_safe(job, _with(job, evolve(known, is_removed=True)))


def follow(job: Job, event: CheckpointEvent) -> Step:
    """The job after something happened to one of its checkpoints. Copies to durable storage may outlive an attempt."""
    match event:
        case CheckpointUploaded():
            return _uploaded(job, event), ()
        case CheckpointRemoved(step=step):
            return without(job, step), ()
        case _ if not (job.state.holds_resources and event.attempt == job.attempt):
            return job, ()
        case CheckpointSaved():
            return _saved(job, event), ()
        case ShardsSaved():
            return _shards_saved(job, event), ()
        case CheckpointDamaged():
            return _damaged(job, event)


def _saved(job: Job, event: CheckpointSaved) -> Job:
    """A program without steps has saved everything in its own way."""
    saved_ms = event.at_ms if event.saved_ms is None else event.saved_ms
    return _is_safe(job, saved_ms, event.cost_ms, None, event.at_ms)


def _is_safe(job: Job, saved_ms: int, cost_ms: int, took_ms: int | None, at_ms: int) -> Job:
    """The job with its work until `saved_ms` safe. A save resets the count of faults in a row."""
    newest_ms = saved_ms if job.checkpointed_ms is None else max(saved_ms, job.checkpointed_ms)
    saved = evolve(
        job,
        checkpointed_ms=newest_ms,
        checkpoint_cost_ms=cost_ms,
        checkpoint_took_ms=took_ms,
        faults_in_a_row=0,
    )
    return evolve(saved, ask_ms=next_ask_ms(saved, at_ms)) if job.state is JobState.RUNNING else saved


def _shards_saved(job: Job, event: ShardsSaved) -> Job:
    """Count the parts of a checkpoint. With the last one it is complete."""
    known, saved_ms = _known(job, event.step), event.at_ms if event.saved_ms is None else event.saved_ms
    if known is None or known.attempt != event.attempt or known.world != event.world:
        known = Checkpoint(step=event.step, attempt=event.attempt, world=event.world, saved_ms=saved_ms)
    if known.is_complete or known.is_removed:
        return job
    ranks = tuple(sorted(dict.fromkeys((*known.ranks, *(rank for rank in event.ranks if rank < event.world)))))
    is_complete = len(ranks) == event.world
    present = evolve(
        known,
        ranks=() if is_complete else ranks,
        is_complete=is_complete,
        saved_ms=max(min(known.saved_ms, saved_ms), _saved_before_ms(job, event.step)),
        bytes=known.bytes + event.bytes,
        cost_ms=max(known.cost_ms, event.cost_ms),
        took_ms=max(known.took_ms, event.took_ms),
    )
    after = _with(job, present)
    if not is_complete:
        return after
    return _is_safe(after, present.saved_ms, present.cost_ms, present.took_ms or None, event.at_ms)


def _saved_before_ms(job: Job, step: int) -> int:
    """When the last good checkpoint before a step was saved. The step came later, whatever its node's clock says."""
    return max((each.saved_ms for each in job.checkpoints if each.is_good and each.step < step), default=0)


def _uploaded(job: Job, event: CheckpointUploaded) -> Job:
    """Note that a checkpoint is durable, or why it is not yet.

    The copy may come after its attempt, and then a newer attempt may have begun to save the same step anew. So may an
    attempt of which the log knows nothing, because the database was restored from an old copy.
    """
    known = _known(job, event.step)
    is_later = known is not None and known.is_good and event.attempt > max(known.attempt, job.attempt_seen)
    is_it = known is not None and (event.attempt == known.attempt or is_later)
    if event.problem or known is None or not is_it:
        return job if job.upload_problem == event.problem else evolve(job, upload_problem=event.problem)
    return evolve(_with(job, evolve(known, is_durable=True)), upload_problem="")


def _damaged(job: Job, event: CheckpointDamaged) -> Step:
    """Give up the attempt, unless its ranks have taken an older checkpoint: the next one resumes from the one before.

    The checkpoint may be unknown by now, because a user has removed it after the attempt was told to resume from it. A
    process that cannot restore often exits before the report comes, so its error is not the job's own.
    """
    known, after = _known(job, event.step), job
    if known is not None and not known.problem:
        after = _less_safe(job, _with(job, evolve(known, problem=f"rank {event.rank}: {event.problem}")))
    if event.is_replaced:
        return after, ()
    if job.state in (JobState.STARTING, JobState.RUNNING):
        return abandon(after, event.at_ms, cause=Cause.DAMAGED_CHECKPOINT)
    if job.cause is Cause.ERROR:
        return evolve(after, cause=Cause.DAMAGED_CHECKPOINT), ()
    return after, ()


def _known(job: Job, step: int) -> Checkpoint | None:
    return next((each for each in job.checkpoints if each.step == step), None)


def _less_safe(before: Job, job: Job) -> Job:
    """The job with only that work safe which its good checkpoints hold, after one of them turned out not to be good."""
    if resume_from(before) == resume_from(job):
        return job
    safe_ms = max((each.saved_ms for each in job.checkpoints if each.is_good), default=None)
    return evolve(job, checkpointed_ms=safe_ms)


def _with(job: Job, checkpoint: Checkpoint) -> Job:
    """The job with a checkpoint, instead of an older one of the same step, and without those that are not kept."""
    others = [each for each in job.checkpoints if each.step != checkpoint.step]
    return evolve(job, checkpoints=_kept(job, sorted((*others, checkpoint), key=lambda each: each.step)))


def _kept(job: Job, checkpoints: list[Checkpoint]) -> tuple[Checkpoint, ...]:
    """The newest good ones that the job keeps, and some of the others: being saved, broken off, damaged or removed.

    A save that is older than a good checkpoint will not be completed. Those of the newest attempt are kept before
    others, because it may have gone back behind what an earlier attempt left unfinished.
    """
    keep = 1 if job.spec.checkpoint is None else max(job.spec.checkpoint.keep, 1)
    good = [each for each in checkpoints if each.is_good]
    newest = good[-1].step if good else -1
    others = [each for each in checkpoints if not each.is_good and (each.is_complete or each.step > newest)]
    listed = sorted(others, key=lambda each: each.attempt)[-OTHERS_LISTED:]
    return tuple(sorted((*good[-keep:], *listed), key=lambda each: each.step))


OTHERS_LISTED = 8
"""How many checkpoints besides the good ones a record lists: saves under way, broken off, damaged or removed."""
