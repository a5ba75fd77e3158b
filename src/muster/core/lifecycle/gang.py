"""The workers of a job: they come up together, save, exit, and vanish with their node.

A gang has succeeded when all of its workers ended well by themselves. When one worker fails, the others are told to
leave.
"""

from typing import Final

from muster.core.lifecycle.desired import start_command
from muster.core.lifecycle.endings import billed, settled
from muster.core.lifecycle.seats import alive_ranks, current_ranks, nodes_of, ranks_of
from muster.core.lifecycle.stopping import Step, abandon, tell_to_leave
from muster.core.lifecycle.timing import first_ask_ms, grace_ms
from muster.model.events import (
    HEALTH,
    ImagePulled,
    JobStarted,
    NodeChanged,
    NodeLost,
    NodeUnreachable,
    StartFailed,
    WorkersExited,
    WorkersStarted,
)
from muster.model.ids import NodeName
from muster.model.instructions import KillWorkers, SignalStop
from muster.model.job import Cause, Job, JobState
from muster.model.node import Node, NodeState
from muster.model.records import evolve

_QUEUED: Final = JobState.QUEUED
_STARTING: Final = JobState.STARTING
_RUNNING: Final = JobState.RUNNING
"""Looked up once, because every start needs them."""

_ACTIVE: Final = (_STARTING, _RUNNING)


def start(job: Job, event: JobStarted) -> Step:
    """Begin a new attempt on the given GPUs, if the job is queued and this is its next attempt."""
    is_next = (event.attempt, event.generation) == (job.attempt + 1, job.generation + 1)
    if job.state is not _QUEUED or not is_next or not event.workers:
        return job, ()
    since_ms = event.at_ms if event.limited_since_ms is None else event.limited_since_ms
    after = evolve(
        job,
        state=_STARTING,
        attempt=event.attempt,
        generation=event.generation,
        attempt_generation=event.generation,
        workers=event.workers,
        next_rank=max(ranks_of(event.workers), default=-1) + 1,
        started_ms=event.at_ms,
        first_started_ms=event.at_ms if job.first_started_ms is None else job.first_started_ms,
        billed_ms=event.at_ms,
        ends_by_ms=since_ms + event.max_duration_ms,
        grace_ms=grace_ms(job, stop_grace_ms=event.stop_grace_ms, max_duration_ms=event.max_duration_ms),
        cause=None,
        exit_code=None,
        problem="",
        preferred_nodes=(),
        next_gang=(),
        limited_since_ms=event.limited_since_ms,
        resized_ms=None if event.limited_since_ms is None else event.at_ms,
        lost_workers=0,
        image_ms=0,
    )
    return after, (start_command(after, after.workers, event.at_ms),)


def workers_started(job: Job, event: WorkersStarted) -> Step:
    """Count the workers that are up. When the last one is up, the job runs."""
    members = ranks_of(job.workers)
    ready = current_ranks(job, event.ranks, event.generation)
    if ready != members or job.ready_ranks:  # otherwise the whole gang came up at once
        known = frozenset(members)
        joined = [rank for rank in ready if rank in known]
        ready = tuple(sorted(dict.fromkeys((*job.ready_ranks, *joined))))
    return up_when_complete(evolve(job, ready_ranks=ready), event.at_ms), ()


def workers_exited(job: Job, event: WorkersExited) -> Step:
    """Count the workers that are gone. The first that failed or was out of time ends the whole gang."""
    ranks = current_ranks(job, event.ranks, event.generation)
    if not ranks:
        return job, ()
    ended_well = event.exit_code == 0 and not event.told and not event.timed_out
    after = _at_last_step(job, _without(job, ranks, event.at_ms, finished=ended_well), event)
    if event.timed_out:
        return _out_of_time(job, after, event.at_ms)
    is_cut_short = job.state in _ACTIVE and len(after.exited_ranks) > len(job.exited_ranks)
    if is_cut_short and event.ended_for is not None:
        return abandon(evolve(after, problem=event.because), event.at_ms, cause=event.ended_for)
    if is_cut_short and event.told:
        # This log did not tell them: it was restored to an older state, or an operator ended all workers of the node.
        return abandon(after, event.at_ms, cause=Cause.NODE_FAILURE)
    if is_cut_short and event.exit_code != 0:
        failed = _failed(after, event)
        return abandon(failed, event.at_ms, cause=_failure(failed, event))
    if job.cause is Cause.ERROR and not event.told and event.exit_code > (job.exit_code or 0):
        after = _failed(after, event)  # it failed by itself too, before it was told that another had
    return settled(up_when_complete(after, event.at_ms), event.at_ms), ()


def _at_last_step(before: Job, job: Job, event: WorkersExited) -> Job:
    """The job with how far the workers of its attempt were that are gone. A later attempt may have gone back."""
    is_first = not before.exited_ranks and not before.leaving
    if event.step is None or (not is_first and job.last_step is not None and event.step < job.last_step):
        return job
    return evolve(job, last_step=event.step, last_step_ms=event.step_ms)


def start_failed(job: Job, event: StartFailed) -> Step:
    """Give up the attempt if its gang cannot be complete. A running gang goes on without newcomers that failed."""
    ranks = current_ranks(job, event.ranks, event.generation)
    if not ranks:
        return job, ()
    are_newcomers = job.state is _RUNNING and not any(rank in job.ready_ranks for rank in ranks)
    if are_newcomers and _is_enough_without(job, ranks):
        return _done_without(job, ranks, event.at_ms), ()
    after = _without(job, ranks, event.at_ms)
    if job.state in _ACTIVE and len(after.exited_ranks) > len(job.exited_ranks):
        return abandon(evolve(after, problem=event.message), event.at_ms, cause=Cause.START_FAILURE)
    return settled(after, event.at_ms), ()


def image_pulled(job: Job, event: ImagePulled) -> Step:
    """Note how long the gang waited for its image: as long as the slowest of its nodes."""
    if job.state not in _ACTIVE or event.attempt != job.attempt or event.took_ms <= job.image_ms:
        return job, ()
    return evolve(job, image_ms=event.took_ms), ()


def node_lost(job: Job, event: NodeLost) -> Step:
    """Go on without the workers on a lost node, or give up the attempt and start again near the survivors.

    The lost workers are gone. A kill is sent anyway, so that the node refuses a start that is still on its way.
    """
    alive = frozenset(alive_ranks(job))
    lost = tuple(
        worker.rank for worker in (*job.workers, *job.leaving) if worker.node == event.node and worker.rank in alive
    )
    if not lost:
        return job, ()
    after, commands = _after_loss(job, event, lost)
    # The kill is sent together with a stop for the other workers, so both have the generation of the stop.
    generation = after.generation if commands else after.generation + 1
    killed = KillWorkers(job=job.id, attempt=job.attempt, generation=generation, ranks=lost)
    return evolve(after, generation=generation), (killed, *commands)


def node_changed(job: Job, event: NodeChanged) -> Step:
    """Note which workers have a GPU that is bad now, or are on a node that is down.

    When health has found the GPU or the whole node bad, these workers must leave it.
    """
    if event.node.state is NodeState.DOWN:
        return _cut_off(job, event.node.name, event.at_ms)
    after = _with_bad_gpus(job, event.node)
    condemned = _condemned(job, event) if event.by == HEALTH and job.state in _ACTIVE else ()
    return _moved_away(after, event, condemned) if condemned else (after, ())


def _with_bad_gpus(job: Job, node: Node) -> Job:
    """The job with a note of its workers on bad GPUs.

    The process often crashes before the bad GPU is noticed. If the gang is already being stopped for its own error, the
    cause is then changed to a node failure.
    """
    there = frozenset(worker.rank for worker in job.workers if worker.node == node.name)
    bad = tuple(
        worker.rank
        for worker in job.workers
        if worker.rank in there and any(gpu in node.bad_gpus for gpu in worker.gpus)
    )
    known = tuple(sorted((*(rank for rank in job.bad_ranks if rank not in there), *bad)))
    if known == job.bad_ranks:
        return job
    is_why = bool(bad) and job.state is JobState.STOPPING and job.cause is Cause.ERROR
    return evolve(job, bad_ranks=known, cause=Cause.NODE_FAILURE if is_why else job.cause)


def _condemned(job: Job, event: NodeChanged) -> tuple[int, ...]:
    """The living workers that must leave, because their node or one of their GPUs is bad."""
    node, alive = event.node, frozenset(alive_ranks(job))
    return tuple(
        worker.rank
        for worker in job.workers
        if worker.node == node.name
        and worker.rank in alive
        and (event.condemns or any(gpu in node.bad_gpus for gpu in worker.gpus))
    )


def _moved_away(job: Job, event: NodeChanged, ranks: tuple[int, ...]) -> Step:
    """Have the gang save itself and start again elsewhere, or go on without these workers if torchft can heal.

    Unlike a crash it leaves time to save: what is bad still runs.
    """
    by_ms = event.at_ms + job.grace_ms
    if _carries_on(job, ranks):
        after = evolve(_given_up(job, ranks, event.at_ms, by_ms=by_ms), generation=job.generation + 1)
        return after, (leave_command(after, ranks, Cause.NODE_FAILURE),)
    nodes = nodes_of(job.workers)
    kept = _near_survivors(job, event.node.name) if event.condemns else evolve(job, preferred_nodes=nodes)
    return tell_to_leave(kept, event.at_ms, cause=Cause.NODE_FAILURE, by_ms=by_ms, state=JobState.CHECKPOINTING)


def node_unreachable(job: Job, event: NodeUnreachable) -> Step:
    """Give up workers on a node that cannot be reached."""
    return _cut_off(job, event.node, event.at_ms)


def _cut_off(job: Job, node: NodeName, at_ms: int) -> Step:
    """Give up workers on a node that is down. They count as alive until they are known to be gone.

    So no other attempt starts beside them, and no other job gets their GPUs.
    """
    alive = frozenset(alive_ranks(job))
    lost = tuple(worker.rank for worker in job.workers if worker.node == node and worker.rank in alive)
    if not lost:
        return job, ()
    if job.state not in _ACTIVE:
        return _blamed_on_node(job), ()
    if _carries_on(job, lost):
        return _given_up(job, lost, at_ms, by_ms=at_ms), ()
    return abandon(_near_survivors(job, node), at_ms, cause=Cause.NODE_FAILURE)


def _out_of_time(job: Job, after: Job, at_ms: int) -> Step:
    """End the gang by timeout, because a node enforced the maximum duration without the control plane.

    The other workers often crash on the broken connection. If such a crash was reported first, the cause is changed
    from error to timeout.
    """
    if job.state in _ACTIVE and len(after.exited_ranks) > len(job.exited_ranks):
        return abandon(after, at_ms, cause=Cause.TIMEOUT)
    if job.state is JobState.STOPPING and job.cause is Cause.ERROR:
        after = evolve(after, cause=Cause.TIMEOUT, exit_code=None)
    return settled(up_when_complete(after, at_ms), at_ms), ()


def _failed(job: Job, event: WorkersExited) -> Job:
    """The job with what the exit says: a code, or why there was no process that could have one."""
    if event.problem:
        return evolve(job, problem=event.problem)
    return evolve(job, exit_code=event.exit_code)


def _failure(job: Job, event: WorkersExited) -> Cause:
    """Why the gang of a failed worker fails: out of memory, or a GPU that is known to be bad, else its own error."""
    if event.oom:
        return Cause.OOM
    on_bad_gpu = any(worker.rank in job.bad_ranks for worker in job.workers)
    return Cause.NODE_FAILURE if on_bad_gpu else Cause.ERROR


def leave_command(job: Job, ranks: tuple[int, ...], cause: Cause) -> SignalStop:
    """The command for workers that leave while the others go on."""
    return SignalStop(
        job=job.id,
        attempt=job.attempt,
        generation=job.generation,
        ranks=ranks,
        grace_ms=job.grace_ms,
        cause=cause,
    )


def _after_loss(job: Job, event: NodeLost, lost: tuple[int, ...]) -> Step:
    if _carries_on(job, lost):
        reduced = _done_without(job, lost, event.at_ms)
        members = len(job.workers) - len(reduced.workers)
        counted = job.node_failures + (members > 0)
        return evolve(reduced, node_failures=counted, lost_workers=job.lost_workers + members), ()
    after = _without(_near_survivors(job, event.node), lost, event.at_ms)
    if job.state in _ACTIVE:
        return abandon(after, event.at_ms, cause=Cause.NODE_FAILURE)
    return settled(_blamed_on_node(after), event.at_ms), ()


def _near_survivors(job: Job, node: NodeName) -> Job:
    """The job with a preference to start again on the nodes where its other workers were."""
    survivors = tuple(each for each in job.preferred_nodes or nodes_of(job.workers) if each != node)
    return evolve(job, preferred_nodes=survivors)


def _blamed_on_node(job: Job) -> Job:
    """The job with its error blamed on the node: workers often crash on the broken connection before it is noticed."""
    is_why = job.state is JobState.STOPPING and job.cause is Cause.ERROR
    return evolve(job, cause=Cause.NODE_FAILURE) if is_why else job


def _given_up(job: Job, ranks: tuple[int, ...], at_ms: int, *, by_ms: int) -> Job:
    """The job with a smaller gang. These workers keep their GPUs until they are gone, and are killed after `by_ms`."""
    paid = billed(job, at_ms)
    return evolve(
        paid,
        workers=tuple(worker for worker in job.workers if worker.rank not in ranks),
        leaving=(*job.leaving, *(worker for worker in job.workers if worker.rank in ranks)),
        leaving_by_ms=by_ms if job.leaving_by_ms is None else min(by_ms, job.leaving_by_ms),
        ready_ranks=tuple(rank for rank in job.ready_ranks if rank not in ranks),
        node_failures=job.node_failures + 1,
        lost_workers=job.lost_workers + len(ranks),
    )


def _carries_on(job: Job, lost: tuple[int, ...]) -> bool:
    """True when only leaving workers are lost, or when the others can go on and every role keeps its minimum."""
    if job.state not in _ACTIVE:
        return False
    if not any(worker.rank in lost for worker in job.workers):
        return True
    return job.spec.resizes_in_place and job.state is _RUNNING and _is_enough_without(job, lost)


def _is_enough_without(job: Job, ranks: tuple[int, ...]) -> bool:
    """True when every role keeps its minimum without these workers, and no worker has exited yet."""
    remaining = [worker for worker in job.workers if worker.rank not in ranks]
    return not job.exited_ranks and all(
        sum(worker.role == role.name for worker in remaining) >= role.workers_min for role in job.spec.roles
    )


def _without(job: Job, ranks: tuple[int, ...], at_ms: int, *, finished: bool = False) -> Job:
    """The job after these processes are gone: gang members have exited, and leaving workers have left."""
    left = _after_leaving(job, ranks, at_ms)
    members = frozenset(ranks_of(job.workers))
    exited = [rank for rank in ranks if rank in members]
    return evolve(
        left,
        exited_ranks=tuple(sorted((*job.exited_ranks, *exited))),
        finished_ranks=tuple(sorted((*job.finished_ranks, *exited))) if finished else job.finished_ranks,
    )


def _done_without(job: Job, ranks: tuple[int, ...], at_ms: int) -> Job:
    """The job with a smaller gang, without these workers."""
    left = _after_leaving(billed(job, at_ms), ranks, at_ms)
    smaller = evolve(
        left,
        workers=tuple(worker for worker in job.workers if worker.rank not in ranks),
        ready_ranks=tuple(rank for rank in job.ready_ranks if rank not in ranks),
    )
    return settled(up_when_complete(smaller, at_ms), at_ms)


def _after_leaving(job: Job, ranks: tuple[int, ...], at_ms: int) -> Job:
    """The job after its leaving workers with these ranks have left their GPUs."""
    if not job.leaving:
        return job
    gone = frozenset(worker.rank for worker in job.leaving if worker.rank in ranks)
    if not gone:
        return job
    leaving = tuple(worker for worker in job.leaving if worker.rank not in gone)
    return evolve(
        billed(job, at_ms),
        leaving=leaving,
        leaving_by_ms=job.leaving_by_ms if leaving else None,
    )


def up_when_complete(job: Job, at_ms: int) -> Job:
    """A gang runs once every worker is up or has exited. From then on the job no longer counts as requeued."""
    if job.state is not _STARTING:
        return job
    up = len(frozenset((*job.ready_ranks, *job.exited_ranks)))
    if up < len(job.workers):
        return job
    return evolve(job, state=_RUNNING, requeued=False, ask_ms=first_ask_ms(job, at_ms))
