"""Reports of ranks, and a job whose ranks they are of."""

from muster.model.ids import JobId, NodeName
from muster.model.job import Job
from muster.model.records import evolve
from muster.model.spec import JobSpec
from muster.model.telemetry import RankProgress
from tests.unit.core.lifecycle.builders import JOB, running

SECOND_MS = 1_000


def a_report(
    rank: int = 0,
    *,
    step: int = 10,
    steps: int = 10,
    busy_us: int = 100_000,
    at_ms: int = 0,
    world: int = 4,
    worker: int | None = None,
    attempt: int = 1,
    job: JobId = JOB,
    is_saving: bool = False,
    is_closed: bool = False,
    step_us: int = 100_000,
) -> RankProgress:
    """What one process of a job with one process for each worker reports."""
    seat = rank if worker is None else worker
    return RankProgress(
        job=job,
        attempt=attempt,
        at_ms=at_ms,
        rank=rank,
        world=world,
        worker=seat,
        node=NodeName(f"n{seat}"),
        step=step,
        step_ms=at_ms,
        steps=steps,
        step_us=step_us if steps else 0,
        busy_us=busy_us if steps else 0,
        p99_us=step_us if steps else 0,
        is_saving=is_saving,
        is_closed=is_closed,
    )


def a_training(spec: JobSpec | None = None, *, size: int = 4) -> Job:
    """A running job with a worker on each of n0, n1, …"""
    return evolve(running(spec, size=size).job, started_ms=0)
