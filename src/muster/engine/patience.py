"""How long jobs that gave way have waited since they would have been served in order.

Folded with the state, so that the same log gives the same line and the same moments. Only jobs that have run before
are watched: one that never ran makes those give way whose turn is over.
"""

from typing import NamedTuple

from muster.core.due_line import DueLine
from muster.core.run_times import run_ms
from muster.engine.timers import Timers
from muster.model.compiling import mypyc_attr
from muster.model.ids import JobId
from muster.model.job import Job, JobState
from muster.model.limits import PATIENCE_MS


class _Due(NamedTuple):
    """Since when a job is due, and how long it had run by then."""

    since_ms: int
    ran_ms: int


@mypyc_attr(allow_interpreted_subclasses=True)
class Patience:
    """The line of all jobs that have not ended, and when those that wait will have waited too long."""

    def __init__(self, capacity_milli: int) -> None:
        self._line = DueLine(capacity_milli)
        self._due: dict[JobId, _Due] = {}
        self.timers = Timers()

    def resize(self, capacity_milli: int) -> None:
        """The cluster has so many GPUs from now on."""
        self._line.capacity_milli = capacity_milli

    def follow(self, before: Job | None, after: Job) -> list[JobId]:
        """Take a change of a job into account; returns the jobs that became due by it, to be noted."""
        if before is None:
            self._line.join(after.id, after.submitted_ms, after.spec.gang_gpu_milli)
        elif after.state.is_final:
            self._line.leave(after.id, after.submitted_ms)
            self._due.pop(after.id, None)
        elif before.state is not after.state and after.state is JobState.QUEUED:
            self._watch(after)
            return []
        else:
            return []
        return self._line.advance()

    def note(self, job: Job, at_ms: int) -> None:
        """A job became due."""
        self._due[job.id] = _Due(at_ms, _ran_ms(job, at_ms))
        self._watch(job)

    def is_spent(self, job: Job, at_ms: int) -> bool:
        """True when a job waits and has waited too long."""
        due = self._due.get(job.id)
        return job.state is JobState.QUEUED and not job.starved and due is not None and _spent_ms(job, due) <= at_ms

    def _watch(self, job: Job) -> None:
        due = self._due.get(job.id)
        if due is not None and job.state is JobState.QUEUED and job.attained_gpu_ms and not job.starved:
            self.timers.set(job.id, _spent_ms(job, due))


def _spent_ms(job: Job, due: _Due) -> int:
    """When a job will have waited too long if it goes on waiting: running does not count."""
    return due.since_ms + PATIENCE_MS + run_ms(job.spec, job.attained_gpu_ms) - due.ran_ms


def _ran_ms(job: Job, at_ms: int) -> int:
    running_ms = at_ms - job.billed_ms if job.billed_ms is not None else 0
    return run_ms(job.spec, job.attained_gpu_ms) + running_ms
