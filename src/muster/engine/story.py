"""How a job got where it is: its part of the log, replayed and told line by line."""

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
    RulesChanged,
)
from muster.model.ids import JobId
from muster.model.job import Job
from muster.model.records import defaults

_TOLD_ELSEWHERE = frozenset({"at_ms", "job", "spec", "workers"})
"""Fields that say nothing new, or too much for one line."""


def story(events: Iterable[Event], job_id: JobId) -> str:
    """One line for each event that concerned the job: when, what, and what it made of the job."""
    lines = list(_lines(events, job_id))
    return "\n".join(lines) if lines else f"nothing is known of {job_id}"


def _lines(events: Iterable[Event], job_id: JobId) -> Iterator[str]:
    job: Job | None = None
    for event in events:
        if job is None:
            job = _born(event, job_id)
            if job is not None:
                yield _line(event, f"{job.state}")
            continue
        after, instructions = transition(job, event)
        if after == job and not _is_addressed(event, job):
            continue
        orders = "".join(f" + {type(each).__name__}" for each in instructions)
        change = f"{job.state} -> {after.state}" if after.state is not job.state else f"{after.state}"
        yield _line(event, f"{change}, generation {after.generation}{orders}" if after != job else "ignored")
        job = after


def _born(event: Event, job_id: JobId) -> Job | None:
    """The job's first record, if the event is its submission or that of its array."""
    if not isinstance(event, JobSubmitted) or not (job_id == event.job or job_id.startswith(f"{event.job}.")):
        return None
    return next((job for job in created(event) if job.id == job_id), None)


def _is_addressed(event: Event, job: Job) -> bool:
    match event:
        case HoldsSet() | RulesChanged() | ClusterChanged():
            return False
        case NodeChanged() | NodeUnreachable() | NodeReturned() | NodeLost() | GangsFound():
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
