"""From an event to the changed job: the entry point of this package."""

from typing import assert_never

from muster.core.lifecycle import checkpoints, found_gangs, gang, requests, resizing, stopping, updating, verdicts
from muster.core.lifecycle.arrays import expand
from muster.core.lifecycle.stopping import Step
from muster.core.lifecycle.timing import due_ms
from muster.core.lifecycle.waiting import reconsider, waiting_state
from muster.model.events import (
    CheckpointDamaged,
    CheckpointRemoved,
    CheckpointSaved,
    CheckpointUploaded,
    ClusterChanged,
    DependencyFailed,
    DependencyMet,
    Event,
    EvictionOrdered,
    GangAdopted,
    GangKillOrdered,
    GangsFound,
    HangFound,
    HangOver,
    HoldsSet,
    ImagePulled,
    JobEvent,
    JobStarted,
    JobStarved,
    JobSubmitted,
    JobUpdated,
    NodeChanged,
    NodeEvent,
    NodeLost,
    NodeReturned,
    NodeUnreachable,
    ReservationRemoved,
    ReservationSet,
    ResizeOrdered,
    RulesChanged,
    RuntimeFound,
    ShardsSaved,
    SparesSet,
    StartFailed,
    StragglerFound,
    StragglerGone,
    TimerFired,
    TurnCame,
    VerdictEvent,
    WaitingEvent,
    WorkersExited,
    WorkersStarted,
)
from muster.model.ids import JobId, TeamPath, TierName
from muster.model.instructions import Instruction, WakeAt
from muster.model.job import Cause, Job, JobState
from muster.model.records import evolve
from muster.model.requests import JobRequest, RequestEvent
from muster.model.spec import JobSpec

_NO_FILE = JobSpec(name="", team=TeamPath(""), tier=TierName(""), roles=())

_BLANK = Job(id=JobId(""), spec=_NO_FILE, state=JobState.QUEUED, submitted_ms=0)
"""Every record is a copy of this one with a few fields changed, which costs less than setting all fields."""

_AttemptEvent = WorkersStarted | WorkersExited | StartFailed | VerdictEvent | EvictionOrdered | ResizeOrdered
"""About one attempt of a job. Ignored if it comes after that attempt."""

_RareEvent = (
    JobSubmitted
    | JobUpdated
    | WaitingEvent
    | RequestEvent
    | EvictionOrdered
    | StartFailed
    | ImagePulled
    | ResizeOrdered
    | GangAdopted
    | GangKillOrdered
)
"""Events that do not happen to most jobs."""


def created(event: JobSubmitted, number: int = 0) -> tuple[Job, ...]:
    """The record of a new job, or of every task of a new array, in the order of their indices.

    `number` is the number of submissions so far, including this one.
    """
    begins_ms = event.spec.begin.begins_ms(event.at_ms)
    asked = evolve(
        _BLANK,
        id=event.job,
        spec=event.spec,
        submitted_ms=event.at_ms,
        unmet=event.unmet,
        held=event.held,
        user=event.by,
        number=number,
        not_before_ms=begins_ms if begins_ms > event.at_ms else None,
    )
    if event.spec.array is None:
        return (_waiting(asked),)
    unmet, is_by_task = frozenset(event.unmet), any(each.same_task for each in event.spec.depends_on)
    tasks = (
        evolve(
            asked,
            id=task.id,
            spec=task.spec,
            unmet=_unmet_of(task.spec, unmet) if is_by_task else event.unmet,
            array_parent=event.job,
            array_index=task.index,
            awaits_turn=task.awaits_turn,
        )
        for task in expand(event.job, event.spec)
    )
    return tuple(_waiting(task) for task in tasks)


def _unmet_of(task: JobSpec, unmet: frozenset[JobId]) -> tuple[JobId, ...]:
    """What of all that an array waits for a task of it waits for. All may be thousands, so that is not gone through."""
    return tuple(dict.fromkeys(each.job for each in task.depends_on if each.job in unmet))


def transition(job: Job, event: Event) -> tuple[Job, tuple[Instruction, ...]]:
    """The job after the event, and the instructions that follow, in order.

    Total: an event that does not concern the job or comes too late changes nothing and gives no instructions.
    """
    if job.state.is_final:
        return job, ()
    after, commands = _step(job, event)
    if after is job:
        return job, commands
    due = due_ms(after)
    # A timer that fired is used up. Anything else that is due at the same moment needs a new timer.
    is_set = due == due_ms(job) and not isinstance(event, TimerFired)
    if due is None or is_set:
        return after, commands
    return after, (*commands, WakeAt(job=job.id, at_ms=due))


def _step(job: Job, event: Event) -> Step:
    # The most frequent events come first: a case that does not match costs as much as many of the steps.
    match event:
        case WorkersStarted():
            return gang.workers_started(job, event) if _is_of_now(event, job) else (job, ())
        case WorkersExited():
            known = found_gangs.without(job, event) if job.astray and _is_addressed(event, job) else job
            return gang.workers_exited(known, event) if _is_of_now(event, known) else (known, ())
        case JobStarted():
            return gang.start(job, event) if _is_addressed(event, job) else (job, ())
        case CheckpointSaved() | ShardsSaved() | CheckpointUploaded() | CheckpointDamaged() | CheckpointRemoved():
            return checkpoints.follow(job, event) if _is_addressed(event, job) else (job, ())
        case TimerFired():
            return stopping.wake(job, event.at_ms) if _is_addressed(event, job) else (job, ())
        case NodeLost() | NodeChanged() | NodeUnreachable() | NodeReturned() | GangsFound() | RuntimeFound():
            return _node_step(job, event)
        case HoldsSet() | SparesSet() | ReservationSet() | ReservationRemoved() | RulesChanged() | ClusterChanged():
            return job, ()
        case StragglerFound() | StragglerGone() | HangFound() | HangOver():
            return verdicts.follow(job, event) if _is_of_now(event, job) else (job, ())
        case _:
            return _rare_step(job, event) if _is_addressed(event, job) else (job, ())


def _node_step(job: Job, event: NodeEvent) -> Step:
    match event:
        case NodeLost():
            known = resizing.without_place(job, event)
            return gang.node_lost(found_gangs.gone_with_node(known, event) if known.astray else known, event)
        case NodeChanged():
            return gang.node_changed(resizing.without_place(job, event), event)
        case NodeUnreachable():
            return gang.node_unreachable(resizing.without_place(job, event), event)
        case GangsFound():
            return found_gangs.found(job, event)
        case NodeReturned() | RuntimeFound():
            return job, ()
        case _:
            assert_never(event)


def _rare_step(job: Job, event: _RareEvent) -> Step:
    match event:
        case DependencyFailed() if job.astray and event.dependency in job.unmet:
            return found_gangs.give_up(job, Cause.DEPENDENCY)
        case DependencyMet() | DependencyFailed() | TurnCame() | JobStarved():
            return reconsider(job, event), ()
        case JobRequest():
            return requests.follow(job, event)
        case EvictionOrdered():
            return stopping.evict(job, event) if _is_of_now(event, job) else (job, ())
        case StartFailed() | ImagePulled():
            return _before_workers(job, event)
        case GangAdopted():
            return found_gangs.adopt(job, event)
        case ResizeOrdered():
            return resizing.resize(job, event) if _is_of_now(event, job) else (job, ())
        case JobUpdated():
            return updating.update(job, event)
        case JobSubmitted() | GangKillOrdered():
            return job, ()
        case _:
            assert_never(event)


def _before_workers(job: Job, event: StartFailed | ImagePulled) -> Step:
    """What nodes report of workers that have no process yet."""
    if isinstance(event, ImagePulled):
        return gang.image_pulled(job, event)
    known = found_gangs.without(job, event) if job.astray else job
    return gang.start_failed(known, event) if _is_of_now(event, known) else (known, ())


def _is_addressed(event: JobEvent, job: Job) -> bool:
    """True when the event is for the job or for its array."""
    return event.job in (job.id, job.array_parent)


def _is_of_now(event: _AttemptEvent, job: Job) -> bool:
    """True when the event is for the job and about its present attempt."""
    return _is_addressed(event, job) and job.state.holds_resources and event.attempt == job.attempt


def _waiting(job: Job) -> Job:
    """The record in the state that follows from its submission."""
    state = waiting_state(job)
    return job if state is job.state else evolve(job, state=state)
