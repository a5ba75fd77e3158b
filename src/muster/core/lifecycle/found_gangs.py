"""Workers of a job that its record does not know. They appear when a database was lost or restored from a copy.

A node reports what it runs whenever a control plane greets it. Workers that this log did not start are quarantined on
that node. A job with workers in quarantine does not start, because it would run twice. Its next attempt and generation
are above all that any node has seen, so that no new worker is taken for an old one.
"""

from muster.core.lifecycle.desired import GIVEN_UP, desired_commands, stray_kills
from muster.core.lifecycle.seats import with_processes
from muster.core.lifecycle.stopping import Step
from muster.core.lifecycle.timing import grace_ms
from muster.core.lifecycle.waiting import waiting_state
from muster.model.events import GangAdopted, GangsFound, NodeLost, StartFailed, WorkersExited
from muster.model.ids import NodeName
from muster.model.job import Astray, Cause, Job, JobState, Placement, Worker
from muster.model.machines.quarantine import FoundGang
from muster.model.records import evolve


def unknown_workers(job: Job, gang: FoundGang, node: NodeName) -> Placement:
    """The workers that a node runs although the job's record does not place them there."""
    if job.attempt != gang.attempt or not _is_same_work(job, gang):
        return gang.workers
    seated = {(worker.rank, worker.node): worker.gpus for worker in with_processes(job)}
    return tuple(each for each in gang.workers if not _is_seated(each, seated.get((each.rank, node))))


def _is_seated(worker: Worker, gpus: tuple[int, ...] | None) -> bool:
    """True when a worker has the GPUs that the record says. An older supervisor remembers only the rank, no GPUs."""
    return gpus is not None and (not worker.gpus or worker.gpus == gpus)


def _is_same_work(job: Job, gang: FoundGang) -> bool:
    """False for another job that got the same id. Fields that may change while a job runs are not compared."""
    spec = gang.spec
    return spec is None or (spec.name, spec.team, spec.roles) == (job.spec.name, job.spec.team, job.spec.roles)


def found(job: Job, event: GangsFound) -> Step:
    """Note which workers a node runs that the job's record does not know, and the newest numbers the node has seen."""
    gangs = [gang for gang in event.gangs if gang.job == job.id]
    unknown = tuple(
        Astray(attempt=gang.attempt, rank=worker.rank, node=event.node)
        for gang in gangs
        for worker in unknown_workers(job, gang, event.node)
    )
    elsewhere = tuple(each for each in job.astray if each.node != event.node)
    numbers = [(gang.attempt, gang.generation) for gang in gangs]
    numbers += [(each.attempt, each.generation) for each in event.seen if each.job == job.id]
    attempt = max((number for number, _ in numbers), default=0)
    generation = max((number for _, number in numbers), default=0)
    after = evolve(
        job,
        astray=(*elsewhere, *unknown),
        generation=max(job.generation, generation),
        next_rank=max(job.next_rank, _next_rank(job, gangs, event)),
        attempt_seen=max(job.attempt_seen, attempt) if attempt > job.attempt else job.attempt_seen,
    )
    return _reconsidered(after, event.at_ms), ()


def give_up(job: Job, cause: Cause) -> Step:
    """End a job with workers in quarantine. The job has ended when these workers have."""
    after = evolve(job, cause=cause, generation=job.generation + 1)
    return after, stray_kills(after)


def _next_rank(job: Job, gangs: list[FoundGang], event: GangsFound) -> int:
    """A rank above every rank that the node knows of the present attempt, so that no rank is used twice."""
    seen = [each.next_rank for each in event.seen if (each.job, each.attempt) == (job.id, job.attempt)]
    found = [worker.rank + 1 for gang in gangs if gang.attempt == job.attempt for worker in gang.workers]
    return max((*seen, *found), default=0)


def without(job: Job, event: WorkersExited | StartFailed) -> Job:
    """The job after some of its quarantined workers have ended."""
    ended = frozenset(event.ranks)
    left = tuple(each for each in job.astray if each.attempt != event.attempt or each.rank not in ended)
    return job if len(left) == len(job.astray) else _reconsidered(evolve(job, astray=left), event.at_ms)


def gone_with_node(job: Job, event: NodeLost) -> Job:
    """The job after a node is lost with all workers that ran there."""
    left = tuple(each for each in job.astray if each.node != event.node)
    return job if len(left) == len(job.astray) else _reconsidered(evolve(job, astray=left), event.at_ms)


def adopt(job: Job, event: GangAdopted) -> Step:
    """Go on with a gang that was found running, as the job's own attempt."""
    if job.state.holds_resources or event.attempt < job.attempt:
        return job, ()
    ranks = tuple(worker.rank for worker in event.workers)
    after = evolve(
        job,
        state=JobState.RUNNING,
        attempt=event.attempt,
        generation=max(job.generation, event.generation) + 1,
        attempt_generation=event.generation,
        workers=event.workers,
        ready_ranks=ranks,
        next_rank=max((*(rank + 1 for rank in ranks), event.next_rank)),
        started_ms=event.at_ms,
        first_started_ms=event.at_ms if job.first_started_ms is None else job.first_started_ms,
        billed_ms=event.at_ms,
        ends_by_ms=event.at_ms + event.max_duration_ms,
        grace_ms=grace_ms(job, stop_grace_ms=event.stop_grace_ms, max_duration_ms=event.max_duration_ms),
        cause=None,
        exit_code=None,
        unmet=(),  # It has started, so that what it depends on had ended as it should; the log forgot that.
        astray=tuple(each for each in job.astray if each.attempt != event.attempt),
    )
    return after, desired_commands(after, event.at_ms)  # its maximum duration starts again, also on its nodes


def _reconsidered(job: Job, at_ms: int) -> Job:
    if job.state.holds_resources:
        return job
    if not job.astray and job.cause in GIVEN_UP:
        return evolve(job, state=JobState.CANCELLED, ended_ms=at_ms)
    counted = evolve(job, attempt=max(job.attempt, job.attempt_seen))
    return evolve(counted, state=waiting_state(counted))
