"""A change of what a job asks for. Only fields that affect neither its size nor its place can change."""

from muster.core.lifecycle.desired import desired_commands
from muster.core.lifecycle.stopping import Step
from muster.model.events import JobUpdated
from muster.model.job import Job
from muster.model.records import evolve
from muster.model.spec import JobChanges, JobSpec


def update(job: Job, event: JobUpdated) -> Step:
    """The job with the changes. For a running job a new maximum duration counts from the start of its attempt.

    Its nodes are told, because they enforce the maximum duration while no control plane is there.
    """
    changes = event.changes
    spec = updated_spec(job.spec, changes)
    if spec == job.spec:
        return job, ()
    after = evolve(job, spec=spec)
    if changes.max_duration_ms is None or job.started_ms is None or job.ends_by_ms is None:
        return after, ()
    since_ms = job.started_ms if job.limited_since_ms is None else job.limited_since_ms
    limited = evolve(after, ends_by_ms=max(since_ms + changes.max_duration_ms, event.at_ms))
    return limited, desired_commands(limited, event.at_ms)


def updated_spec(spec: JobSpec, changes: JobChanges) -> JobSpec:
    """The job file with the changes in it."""
    return evolve(
        spec,
        priority=spec.priority if changes.priority is None else changes.priority,
        tier=spec.tier if changes.tier is None else changes.tier,
        max_duration_ms=spec.max_duration_ms if changes.max_duration_ms is None else changes.max_duration_ms,
        tags=spec.tags if changes.tags is None else changes.tags,
    )
