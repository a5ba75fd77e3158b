"""How a job got where it is: its part of the log, replayed, one line for each event."""

from collections.abc import Iterable, Iterator

from muster.core.lifecycle import created, transition
from muster.model.events import (
    ClusterChanged,
    Event,
    GangsFound,
    HoldsSet,
    JobSubmitted,
    NodeChanged,
    NodeLost,
    NodeReturned,
    NodeUnreachable,
    ReservationRemoved,
    ReservationSet,
    RulesChanged,
    RuntimeFound,
    SparesSet,
)
from muster.model.ids import JobId
from muster.model.instructions import Instruction
from muster.model.job import Job
from muster.model.records import Record, defaults

_TOLD_ELSEWHERE = frozenset({"at_ms", "job", "spec", "workers"})
"""Fields that repeat what the line says, or are too long for it."""


class StoryStep(Record, frozen=True, kw_only=True):
    """One event that concerned a job, and how it changed the job."""

    event: Event
    before: Job | None
    """None when the event is the job's submission."""
    after: Job
    instructions: tuple[Instruction, ...] = ()
    """What had to be done because of it."""


def turns(events: Iterable[Event], job_id: JobId) -> Iterator[StoryStep]:
    """Replay a job event by event. Events that neither name it nor change it are skipped."""
    job: Job | None = None
    for event in events:
        if job is None:
            job = _born(event, job_id)
            if job is not None:
                yield StoryStep(event=event, before=None, after=job)
            continue
        after, instructions = transition(job, event)
        if after != job or _is_addressed(event, job):
            yield StoryStep(event=event, before=job, after=after, instructions=instructions)
        job = after


def story(events: Iterable[Event], job_id: JobId) -> str:
    """One line for each event that concerned the job, for debugging. `sentences` has the text for users."""
    lines = [_line(turn.event, _outcome(turn)) for turn in turns(events, job_id)]
    return "\n".join(lines) if lines else f"nothing is known of {job_id}"


def _outcome(turn: StoryStep) -> str:
    before, after = turn.before, turn.after
    if before is None:
        return f"{after.state}"
    if after == before:
        return "ignored"
    orders = "".join(f" + {type(each).__name__}" for each in turn.instructions)
    change = f"{before.state} -> {after.state}" if after.state is not before.state else f"{after.state}"
    return f"{change}, generation {after.generation}{orders}"


def _born(event: Event, job_id: JobId) -> Job | None:
    """The job's first record, if the event is its submission or that of its array."""
    if not isinstance(event, JobSubmitted) or not (job_id == event.job or job_id.startswith(f"{event.job}.")):
        return None
    return next((job for job in created(event) if job.id == job_id), None)


def _is_addressed(event: Event, job: Job) -> bool:
    match event:
        case HoldsSet() | SparesSet() | ReservationSet() | ReservationRemoved() | RulesChanged() | ClusterChanged():
            return False
        case NodeChanged() | NodeUnreachable() | NodeReturned() | NodeLost() | GangsFound() | RuntimeFound():
            return False
        case _:
            return event.job in (job.id, job.array_parent)


def _line(event: Event, outcome: str) -> str:
    details = (
        f"{name}={getattr(event, name)}"
        for name, _ in defaults(type(event))
        if name not in _TOLD_ELSEWHERE and getattr(event, name) not in ("", (), None)
    )
    return f"{event.at_ms:>15} ms  {type(event).__name__}({', '.join(details)})  {outcome}"
