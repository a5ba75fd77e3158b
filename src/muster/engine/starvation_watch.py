"""Watches jobs that have run before and wait again, and finds those that have waited longer than is fair.

Of these, only so many count as starved at one time that they hold a bounded part of the GPUs (`STARVED_PART`), and a
smaller one the more is wanted than there is. The others are looked at again later.

A job starves when it has waited `STARVATION_MS` beyond its fair time. If teams were declared, the fair time is how long
the work done so far would have taken on the job's share of the cluster. If none were, the fair time ends when the job
would have been served in the order of submission; time in which it ran after that does not count as waiting.

The watch is folded with the state, so that the same log gives the same order of service. When a job is checked next is
only an estimate: shares change while it waits, and if it starves earlier than expected, the next check finds that. Only
jobs that have run before are watched. A job that never ran is a newcomer and comes first anyway.
"""

from collections.abc import Iterable
from typing import NamedTuple

from muster.core.order.entitlements import Entitlements
from muster.core.order.fair_service import FairService
from muster.core.order.run_times import run_ms
from muster.engine.timers import Timers
from muster.model.ids import JobId
from muster.model.job import Job, JobState
from muster.model.limits import STARVATION_LOOK_MS, STARVATION_MS, STARVED_PART
from muster.model.saved_state import StarvationRecord


class _Due(NamedTuple):
    """Since when a job is due, and how long it had run by then."""

    since_ms: int
    ran_ms: int


class StarvationWatch:
    """Fair service of all jobs that have not ended, and when each waiting job will have waited too long."""

    def __init__(self, capacity_milli: int, entitlements: Entitlements) -> None:
        self._line = FairService(capacity_milli)
        self._entitlements = entitlements
        self._due: dict[JobId, _Due] = {}
        self._starved_milli = 0
        """The GPU thousandths that jobs need together that have starved and not ended."""
        self._looks_ms: dict[JobId, int] = {}
        """When each job is checked next. Timers left over from before only cause an extra check."""
        self.timers = Timers()

    @classmethod
    def of(cls, record: StarvationRecord, entitlements: Entitlements, jobs: Iterable[Job]) -> "StarvationWatch":
        """The watch that was recorded, with the entitlements and jobs, which are recorded elsewhere."""
        made = cls(record.line.capacity_milli, entitlements)
        made._line = FairService.of(record.line)
        made._due = {job: _Due(since_ms, ran_ms) for job, since_ms, ran_ms in record.due}
        made._looks_ms = dict(record.looks_ms)
        made._starved_milli = sum(job.spec.gang_gpu_milli for job in jobs if job.starved and not job.state.is_final)
        made.timers = Timers.of(record.timers)
        return made

    def record(self) -> StarvationRecord:
        """The whole watch without its entitlements, as values."""
        return StarvationRecord(
            line=self._line.record(),
            due=tuple((job, due.since_ms, due.ran_ms) for job, due in self._due.items()),
            looks_ms=tuple(self._looks_ms.items()),
            timers=self.timers.record(),
        )

    def resize(self, capacity_milli: int, at_ms: int) -> None:
        """Set how many GPUs the cluster has from now on."""
        self._line.capacity_milli = capacity_milli
        self._entitlements.resize(capacity_milli, at_ms)

    def follow(self, before: Job | None, after: Job, at_ms: int) -> list[JobId]:
        """Take a change of a job into account; returns the jobs that became due by it, for the caller to `note`."""
        if after.starved and not (before is not None and before.starved):
            self._starved_milli += after.spec.gang_gpu_milli
        if before is None:
            self._line.join(after.id, after.submitted_ms, after.spec.gang_gpu_milli)
            self._entitlements.join(after.id, after.spec.team, at_ms)
        elif after.state.is_final:
            self._line.leave(after.id, after.submitted_ms)
            self._entitlements.leave(after.id, at_ms)
            self._due.pop(after.id, None)
            self._starved_milli -= after.spec.gang_gpu_milli if after.starved else 0
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

    def has_starved(self, job: Job, at_ms: int) -> bool:
        """True when a job waits, has waited too long, and the part of the cluster for such jobs has room for it."""
        spent_ms = self.starves_ms(job, at_ms)
        return spent_ms is not None and spent_ms <= at_ms and self._has_room(job.spec.gang_gpu_milli)

    def _has_room(self, gpu_milli: int) -> bool:
        """One job has room whatever its size, as long as not much more is wanted than there is."""
        capacity_milli, wanted_milli = self._line.capacity_milli, self._line.wanted_milli
        if not self._starved_milli and wanted_milli <= STARVED_PART * capacity_milli:
            return True
        part_milli = capacity_milli * min(capacity_milli, wanted_milli) // (STARVED_PART * max(wanted_milli, 1))
        return self._starved_milli + gpu_milli <= part_milli

    def watch(self, job: Job, at_ms: int) -> None:
        """Set a timer for when a job that ran before and waits again will have waited too long, at present shares."""
        spent_ms = self.starves_ms(job, at_ms)
        if spent_ms is not None and self._looks_ms.get(job.id) != spent_ms:
            self._looks_ms[job.id] = spent_ms
            self.timers.set(job.id, spent_ms)

    def look_again(self, job: Job, at_ms: int) -> None:
        """Set another timer for a job that was checked and does not starve yet, unless one is set for later."""
        spent_ms = self.starves_ms(job, at_ms)
        if spent_ms is not None and self._looks_ms.get(job.id, 0) <= at_ms:
            self._looks_ms[job.id] = max(spent_ms, at_ms + STARVATION_LOOK_MS)
            self.timers.set(job.id, self._looks_ms[job.id])

    def starves_ms(self, job: Job, at_ms: int) -> int | None:
        """When a job will have waited too long if it goes on waiting at present shares. Running does not count.

        None for a job that is not waiting, has never run, or has starved already.
        """
        if job.state is not JobState.QUEUED or not job.attained_gpu_ms or job.starved:
            return None
        ran_ms = run_ms(job.spec, job.attained_gpu_ms)
        fair_ms = self._entitlements.fair_ms(job.id, job.spec.gang_gpu_milli, ran_ms, at_ms)
        if fair_ms is not None:
            return job.submitted_ms + fair_ms + STARVATION_MS
        due = self._due.get(job.id)
        return None if due is None else due.since_ms + STARVATION_MS + ran_ms - due.ran_ms


def _ran_ms(job: Job, at_ms: int) -> int:
    running_ms = at_ms - job.billed_ms if job.billed_ms is not None else 0
    return run_ms(job.spec, job.attained_gpu_ms) + running_ms
