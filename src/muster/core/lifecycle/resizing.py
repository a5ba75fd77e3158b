"""An elastic job changes its size.

Where the launcher allows it, workers leave and join while the attempt goes on, with the ranks that they have. Any other
gang starts again, and so does one that gives up its first worker, with which programs do what is done once: all workers
save themselves and leave, and the next attempt begins as soon as the last of them is gone, with ranks from 0 without
gaps. Its seats are kept meanwhile, so no other job gets them.
"""

from muster.core.lifecycle.desired import start_command
from muster.core.lifecycle.endings import billed
from muster.core.lifecycle.gang import leave_command, up_when_complete
from muster.core.lifecycle.seats import Reseating, ranks_of, reseat
from muster.core.lifecycle.stopping import Step, tell_to_leave, without_next_gang
from muster.model.events import JobStarted, NodeChanged, NodeLost, NodeUnreachable, ResizeOrdered
from muster.model.ids import NodeName
from muster.model.instructions import Command
from muster.model.job import Cause, Job, JobState, Placement, Worker
from muster.model.records import evolve


def resize(job: Job, event: ResizeOrdered) -> Step:
    """Change the size of a gang. One change at a time, and none once a worker has exited."""
    change = reseat(job, event.workers)
    is_active = job.state in (JobState.STARTING, JobState.RUNNING)
    if not is_active or job.leaving or job.exited_ranks or not change.is_possible:
        return job, ()
    if job.spec.resizes_in_place and change.keeps_first:
        return _in_place(job, change, event.at_ms)
    return _start_again(job, event)


def next_attempt(before: Job, after: Job, at_ms: int) -> JobStarted | None:
    """The start of a job whose workers have left so that it goes on at another size; None for every other job.

    Its maximum duration goes on too, because promises to other jobs count on its end.
    """
    if after.state is not JobState.QUEUED or not after.next_gang or not before.state.holds_resources:
        return None
    since_ms = before.started_ms if before.limited_since_ms is None else before.limited_since_ms
    if since_ms is None or before.ends_by_ms is None:
        return None
    return JobStarted(
        at_ms=at_ms,
        job=after.id,
        attempt=after.attempt + 1,
        generation=after.generation + 1,
        workers=after.next_gang,
        max_duration_ms=before.ends_by_ms - since_ms,
        stop_grace_ms=before.grace_ms,
        limited_since_ms=since_ms,
    )


def without_place(job: Job, event: NodeChanged | NodeUnreachable | NodeLost) -> Job:
    """The job without the seats of its next attempt, if one of them can no longer be used. Then it will wait again."""
    if not job.next_gang or not any(_is_spoilt(worker, event) for worker in job.next_gang):
        return job
    if isinstance(event, NodeChanged):
        return without_next_gang(job, event.at_ms, cause=Cause.RESIZED)
    nodes = tuple(dict.fromkeys(worker.node for worker in job.next_gang if worker.node != _node(event)))
    return evolve(without_next_gang(job, event.at_ms, cause=Cause.NODE_FAILURE), preferred_nodes=nodes)


def _is_spoilt(worker: Worker, event: NodeChanged | NodeUnreachable | NodeLost) -> bool:
    """True when nothing can be started any more where the worker was to sit."""
    if worker.node != _node(event):
        return False
    if not isinstance(event, NodeChanged):
        return True
    return not event.node.state.takes_work or any(gpu in event.node.bad_gpus for gpu in worker.gpus)


def _node(event: NodeChanged | NodeUnreachable | NodeLost) -> NodeName:
    return event.node.name if isinstance(event, NodeChanged) else event.node


def _in_place(job: Job, change: Reseating, at_ms: int) -> Step:
    """Let workers leave and join while the attempt goes on."""
    staying = frozenset(ranks_of(change.workers))
    after = evolve(
        billed(job, at_ms),
        generation=job.generation + 1,
        workers=change.workers,
        leaving=change.leaving,
        leaving_by_ms=at_ms + job.grace_ms if change.leaving else None,
        ready_ranks=tuple(rank for rank in job.ready_ranks if rank in staying),
        next_rank=max((job.next_rank, *(rank + 1 for rank in ranks_of(change.joining)))),
        resized_ms=at_ms,
        lost_workers=max(job.lost_workers - len(change.joining), 0),
    )
    return up_when_complete(after, at_ms), _commands(after, change.joining, at_ms)


def _commands(job: Job, joining: Placement, at_ms: int) -> tuple[Command, ...]:
    leave = (leave_command(job, ranks_of(job.leaving), Cause.PREEMPTED),) if job.leaving else ()
    return (*leave, start_command(job, joining, at_ms)) if joining else leave


def _start_again(job: Job, event: ResizeOrdered) -> Step:
    """Have the whole gang save itself and leave, and keep the seats with which it starts again."""
    by_ms = event.at_ms + job.grace_ms
    paid = billed(job, event.at_ms)
    told, commands = tell_to_leave(paid, event.at_ms, cause=Cause.RESIZED, by_ms=by_ms, state=JobState.CHECKPOINTING)
    gang = tuple(evolve(worker, rank=rank) for rank, worker in enumerate(event.workers))
    return evolve(told, next_gang=gang), commands
