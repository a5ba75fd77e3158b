"""Jobs in every state, reached the way real ones reach it: by events."""

from dataclasses import dataclass, field

from muster.core.lifecycle import created, transition
from muster.model.events import (
    CheckpointSaved,
    Event,
    EvictionOrdered,
    JobStarted,
    JobSubmitted,
    NodeLost,
    ResizeOrdered,
    StartFailed,
    TimerFired,
    WorkersExited,
    WorkersStarted,
)
from muster.model.ids import JobId, NodeName, TeamPath, TierName
from muster.model.instructions import Instruction, KillWorkers, SignalStop, WakeAt
from muster.model.job import Cause, Job, JobState, Placement, Worker
from muster.model.plan import Why
from muster.model.records import evolve
from muster.model.requests import JobCancelRequested
from muster.model.resources import GPU_MILLI, Request
from muster.model.spec import CheckpointSpec, JobSpec, Launch, Retry, RetryCause, RoleSpec

JOB = JobId("job-1")
MINUTE_MS = 60_000
HOUR_MS = 60 * MINUTE_MS
START_MS = 1_000
"""When the builders start a job that was submitted at 0."""
LIMIT_MS = 10 * HOUR_MS
RUN = "job-1-0"
"""The run of a job that was submitted at 0."""
GRACE_MS = 30_000
"""Of jobs without a checkpoint."""


def a_spec(
    *,
    workers: int = 2,
    workers_max: int | None = None,
    retries: int = 0,
    retry_on: tuple[RetryCause, ...] = (RetryCause.ERROR, RetryCause.OOM),
    checkpoint: CheckpointSpec | None = None,
    launch: Launch = Launch.PLAIN,
) -> JobSpec:
    role = RoleSpec(
        name="worker",
        workers_min=workers,
        workers_max=workers if workers_max is None else workers_max,
        request=Request(gpu_milli=GPU_MILLI),
    )
    return JobSpec(
        name="train",
        team=TeamPath("nlp"),
        tier=TierName("standard"),
        roles=(role,),
        retry=Retry(limit=retries, on=retry_on),
        checkpoint=checkpoint,
        launch=launch,
    )


def that_saves(*, every_ms: int | None = None, grace_ms: int = 120_000) -> CheckpointSpec:
    return CheckpointSpec(path="file:///ckpt", every_ms=every_ms, grace_ms=grace_ms)


def a_gang(size: int = 2, *, first: int = 0) -> Placement:
    """One worker with one GPU on each of n0, n1, …"""
    return tuple(
        Worker(rank=rank, role="worker", node=NodeName(f"n{rank}"), gpus=(0,)) for rank in range(first, first + size)
    )


def submitted(spec: JobSpec | None = None, *, held: bool = False, unmet: tuple[str, ...] = ()) -> Job:
    event = JobSubmitted(at_ms=0, job=JOB, spec=spec or a_spec(), held=held, unmet=tuple(JobId(each) for each in unmet))
    return created(event)[0]


@dataclass
class Played:
    """A job to which events happen one after the other."""

    job: Job
    instructions: list[Instruction] = field(default_factory=list)
    """What the last event asked for."""

    def then(self, *events: Event) -> "Played":
        for event in events:
            self.job, instructions = transition(self.job, event)
            self.instructions = list(instructions)
        return self

    @property
    def state(self) -> JobState:
        return self.job.state


def starting(spec: JobSpec | None = None, *, size: int | None = None, limit_ms: int = LIMIT_MS) -> Played:
    job = submitted(spec)
    return Played(job=job).then(start(job, size=size, limit_ms=limit_ms))


def running(spec: JobSpec | None = None, *, size: int | None = None, limit_ms: int = LIMIT_MS) -> Played:
    played = starting(spec, size=size, limit_ms=limit_ms)
    return played.then(up(played.job))


def leaving(spec: JobSpec | None = None) -> Played:
    return running(spec).then(evict(at_ms=HOUR_MS))


def stopping(spec: JobSpec | None = None) -> Played:
    return running(spec).then(JobCancelRequested(at_ms=HOUR_MS, job=JOB))


def start(job: Job, *, at_ms: int = START_MS, size: int | None = None, limit_ms: int = LIMIT_MS) -> JobStarted:
    return JobStarted(
        at_ms=at_ms,
        job=job.id,
        attempt=job.attempt + 1,
        generation=job.generation + 1,
        workers=a_gang(size or job.spec.gang_workers),
        max_duration_ms=limit_ms,
        stop_grace_ms=GRACE_MS,
    )


def up(job: Job, *ranks: int, at_ms: int = 2_000) -> WorkersStarted:
    return WorkersStarted(
        at_ms=at_ms,
        job=job.id,
        attempt=job.attempt,
        generation=job.generation,
        ranks=ranks or tuple(worker.rank for worker in job.workers),
    )


def exits(
    job: Job,
    *ranks: int,
    code: int = 0,
    oom: bool = False,
    told: bool = False,
    timed_out: bool = False,
    problem: str = "",
    at_ms: int = 2 * HOUR_MS,
) -> WorkersExited:
    return WorkersExited(
        at_ms=at_ms,
        job=job.id,
        attempt=job.attempt,
        generation=job.generation,
        ranks=ranks or tuple(worker.rank for worker in job.workers),
        exit_code=code,
        oom=oom,
        told=told,
        timed_out=timed_out,
        problem=problem,
    )


def no_start(job: Job, *ranks: int, at_ms: int = 3_000) -> StartFailed:
    return StartFailed(
        at_ms=at_ms,
        job=job.id,
        attempt=job.attempt,
        generation=job.generation,
        ranks=ranks or tuple(worker.rank for worker in job.workers),
    )


def evict(*, at_ms: int = HOUR_MS, by_ms: int | None = None, attempt: int = 1) -> EvictionOrdered:
    return EvictionOrdered(
        at_ms=at_ms,
        job=JOB,
        attempt=attempt,
        why=Why.TIER,
        for_job=JobId("job-9"),
        by_ms=at_ms + GRACE_MS if by_ms is None else by_ms,
    )


def resize(workers: Placement, *, at_ms: int = HOUR_MS, attempt: int = 1) -> ResizeOrdered:
    return ResizeOrdered(at_ms=at_ms, job=JOB, attempt=attempt, workers=workers)


def saved(job: Job, *, at_ms: int, cost_ms: int = 1_000) -> CheckpointSaved:
    return CheckpointSaved(at_ms=at_ms, job=job.id, attempt=job.attempt, cost_ms=cost_ms)


def lost(node: str, *, at_ms: int = HOUR_MS) -> NodeLost:
    return NodeLost(at_ms=at_ms, node=NodeName(node))


def timer(at_ms: int) -> TimerFired:
    return TimerFired(at_ms=at_ms, job=JOB)


def cancel(at_ms: int = HOUR_MS) -> JobCancelRequested:
    return JobCancelRequested(at_ms=at_ms, job=JOB)


def stop_of(job: Job, *ranks: int, grace_ms: int, cause: Cause) -> SignalStop:
    return SignalStop(
        job=JOB,
        attempt=job.attempt,
        generation=job.generation,
        ranks=ranks,
        grace_ms=grace_ms,
        cause=cause,
    )


def kill_of(job: Job, *ranks: int) -> KillWorkers:
    return KillWorkers(job=JOB, attempt=job.attempt, generation=job.generation, ranks=ranks)


def wake(at_ms: int) -> WakeAt:
    return WakeAt(job=JOB, at_ms=at_ms)


def renumbered(workers: Placement) -> Placement:
    return tuple(evolve(worker, rank=rank) for rank, worker in enumerate(workers))
