"""How attempts ended: how much GPU time each had, how much of it was useful, and whether the job goes on.

A job that ends while it waits counts as an attempt without GPU time.

Useful is what need not be done again: all of it when the job succeeded, otherwise what was done before the last save.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from muster.engine.folding.state import State
from muster.model.events import Event, GangAdopted, GangsFound, JobStarted, JobSubmitted, NodeLost
from muster.model.ids import JobId
from muster.model.job import Cause, Job, JobState


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """An attempt that is over, or a job that ended while it waited."""

    job: JobId
    cause: Cause
    state: JobState
    """The present state of the job."""
    allocated_gpu_ms: int
    useful_gpu_ms: int


class Attempts:
    """Follows attempts from start to end. It gets every event on the writer's thread, as soon as it is written."""

    def __init__(self, state: State) -> None:
        self._started: dict[JobId, Job] = {job: state.jobs[job] for job in list(state.occupying)}
        self._waiting = {job.id for job in state.jobs.values() if not job.state.is_final} - self._started.keys()

    def follow(self, event: Event, state: State) -> Iterator[Ended]:
        """Take an event in; returns what it ended. The state is the one after all events of the same write."""
        if isinstance(event, NodeLost | GangsFound):
            # A cancelled job may have waited only for workers that the node no longer runs.
            for job in (*self._started, *self._waiting):
                yield from self._look_at(job, state)
            return
        job_id: JobId | None = getattr(event, "job", None)
        if job_id is None:
            return
        if isinstance(event, JobSubmitted):
            self._waiting.update(state.addressed(job_id))
            return
        if isinstance(event, JobStarted | GangAdopted):
            self._started[job_id] = state.jobs[job_id]
            self._waiting.discard(job_id)
        for job in state.addressed(job_id):
            yield from self._look_at(job, state)

    def _look_at(self, job: JobId, state: State) -> Iterator[Ended]:
        started, now = self._started.get(job), state.jobs.get(job)
        if now is None:
            return  # it has ended and left the state
        if started is not None and not now.state.holds_resources:
            del self._started[job]
            if not now.state.is_final:
                self._waiting.add(job)
            yield _ended(started, now)
        elif job in self._waiting and now.state.is_final:
            self._waiting.discard(job)
            yield _ended(now, now)


def _ended(started: Job, now: Job) -> Ended:
    allocated_gpu_ms = max(now.attained_gpu_ms - started.attained_gpu_ms, 0)
    return Ended(
        job=now.id,
        cause=now.cause or Cause.COMPLETED,
        state=now.state,
        allocated_gpu_ms=allocated_gpu_ms,
        useful_gpu_ms=_useful(started, now, allocated_gpu_ms),
    )


def _useful(started: Job, now: Job, allocated_gpu_ms: int) -> int:
    began_ms, saved_ms = started.started_ms, now.checkpointed_ms
    if now.state is JobState.SUCCEEDED:
        return allocated_gpu_ms
    if began_ms is None or saved_ms is None or saved_ms <= began_ms or not allocated_gpu_ms:
        return 0
    gpus = max(sum(len(worker.gpus) for worker in started.workers), 1)
    return min(gpus * (saved_ms - began_ms), allocated_gpu_ms)
