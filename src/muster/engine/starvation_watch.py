"""How long jobs that gave way have waited beyond what is fair.

Where teams were declared, a job may be kept from running as long as its share of the cluster would have made it take;
where none were, until it would have been served in the order of submission. Patience begins there.

Folded with the state, so that the same log gives the same line. When to look at a job again is no part of that: shares
change while it waits, and one whose patience ends sooner than was thought is found at the next look. Only jobs that
have run before are watched: one that never ran makes those give way whose turn is over.
"""

from typing import NamedTuple

from muster.core.order.entitlements import Entitlements
from muster.core.order.fair_service import FairService
from muster.core.order.run_times import run_ms
from muster.engine.timers import Timers
from muster.model.ids import JobId
from muster.model.job import Job, JobState
from muster.model.limits import PATIENCE_MS, STARVATION_LOOK_MS
from muster.model.saved_state import StarvationRecord


class _Due(NamedTuple):
    """Since when a job is due, and how long it had run by then."""

    since_ms: int
    ran_ms: int


class StarvationWatch:
    """The line of all jobs that have not ended, and when those that wait will have waited too long."""

    def __init__(self, capacity_milli: int, entitlements: Entitlements) -> None:
        self._line = FairService(capacity_milli)
        self._entitlements = entitlements
        self._due: dict[JobId, _Due] = {}
        self._looks_ms: dict[JobId, int] = {}
        """When each job is looked at next; earlier moments that were asked for are of no use any more."""
        self.timers = Timers()

    @classmethod
    def of(cls, record: StarvationRecord, entitlements: Entitlements) -> "StarvationWatch":
        """The patience that was recorded, with what jobs are due beside it."""
        made = cls(record.line.capacity_milli, entitlements)
        made._line = FairService.of(record.line)
        made._due = {job: _Due(since_ms, ran_ms) for job, since_ms, ran_ms in record.due}
        made._looks_ms = dict(record.looks_ms)
        made.timers = Timers.of(record.timers)
        return made

    def record(self) -> StarvationRecord:
        """Everything that is kept here, as values."""
        return StarvationRecord(
            line=self._line.record(),
            due=tuple((job, due.since_ms, due.ran_ms) for job, due in self._due.items()),
            looks_ms=tuple(self._looks_ms.items()),
            timers=self.timers.record(),
        )

    def resize(self, capacity_milli: int, at_ms: int) -> None:
        """The cluster has so many GPUs from now on."""
        self._line.capacity_milli = capacity_milli
        self._entitlements.resize(capacity_milli, at_ms)

    def follow(self, before: Job | None, after: Job, at_ms: int) -> list[JobId]:
        """Take a change of a job into account; returns the jobs that became due by it, to be noted."""
        if before is None:
            self._line.join(after.id, after.submitted_ms, after.spec.gang_gpu_milli)
            self._entitlements.join(after.id, after.spec.team, at_ms)
        elif after.state.is_final:
            self._line.leave(after.id, after.submitted_ms)
            self._entitlements.leave(after.id, at_ms)
            self._due.pop(after.id, None)
            self._looks_ms.pop(after.id, None)
        elif before.state is not after.state and after.state is JobState.QUEUED:
            self.watch(after, at_ms)
            return []
        else:
            return []
        return self._line.advance()

    def note(self, job: Job, at_ms: int) -> None:
        """A job became due."""
        self._due[job.id] = _Due(at_ms, _ran_ms(job, at_ms))
        self.watch(job, at_ms)

    def is_spent(self, job: Job, at_ms: int) -> bool:
        """True when a job waits and has waited too long."""
        spent_ms = self._spent_ms(job, at_ms)
        return spent_ms is not None and spent_ms <= at_ms

    def watch(self, job: Job, at_ms: int) -> None:
        """Have a job looked at when it will have waited too long, as things are, if it waits after running before."""
        spent_ms = self._spent_ms(job, at_ms)
        if spent_ms is not None and self._looks_ms.get(job.id) != spent_ms:
            self._looks_ms[job.id] = spent_ms
            self.timers.set(job.id, spent_ms)

    def look_again(self, job: Job, at_ms: int) -> None:
        """A job has patience left that was looked at: it is looked at once more, unless that is to come anyway."""
        spent_ms = self._spent_ms(job, at_ms)
        if spent_ms is not None and self._looks_ms.get(job.id, 0) <= at_ms:
            self._looks_ms[job.id] = max(spent_ms, at_ms + STARVATION_LOOK_MS)
            self.timers.set(job.id, self._looks_ms[job.id])

    def _spent_ms(self, job: Job, at_ms: int) -> int | None:
        """When a job will have waited too long if it goes on waiting, as things are: running does not count.

        None for one that does not wait after it has run, or has starved already.
        """
        if job.state is not JobState.QUEUED or not job.attained_gpu_ms or job.starved:
            return None
        ran_ms = run_ms(job.spec, job.attained_gpu_ms)
        fair_ms = self._entitlements.fair_ms(job.id, job.spec.gang_gpu_milli, ran_ms, at_ms)
        if fair_ms is not None:
            return job.submitted_ms + fair_ms + PATIENCE_MS
        due = self._due.get(job.id)
        return None if due is None else due.since_ms + PATIENCE_MS + ran_ms - due.ran_ms


def _ran_ms(job: Job, at_ms: int) -> int:
    running_ms = at_ms - job.billed_ms if job.billed_ms is not None else 0
    return run_ms(job.spec, job.attained_gpu_ms) + running_ms
