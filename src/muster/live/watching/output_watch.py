"""Jobs whose processes report no steps: when they last printed anything.

That says little, so it is only shown. A job whose file says what to do about a hang is called hanging after a long
silence: much longer than any silence of it before.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from muster.live.watching.hang_reports import HangReports
from muster.model.events import ObservedEvent
from muster.model.ids import JobId
from muster.model.job import Job, JobState
from muster.model.spec import Remedy
from muster.model.telemetry import Hang, Telemetry
from muster.views.view import View

LOOK_EVERY_MS = 15_000
"""How often the output of one job is looked at."""

JOBS_PER_LOOK = 64
"""Jobs whose output is looked at in one look, which may wait for a disk. The others have their turn later."""

RANKS_LOOKED_AT = 16
"""Workers of a job whose output is looked at, the first ones: others print the same, or nothing."""

SILENT_MS = 30 * 60_000
"""How long a job may print nothing before it counts as hanging, if its file says what to do then."""

SILENCE_FACTOR = 10
"""The same in times the longest silence that it has broken."""


@dataclass(slots=True)
class _Printing:
    """The output of one attempt."""

    attempt: int
    looked_ms: int
    printed_ms: int
    size_bytes: int = 0
    longest_ms: int = 0


class OutputWatch:
    """A `Watch` over the output of jobs of which nothing else is known."""

    def __init__(
        self,
        *,
        printed_bytes: Callable[[JobId, int, int], int],
        reports_steps: Callable[[Job], bool],
        hangs: HangReports,
    ) -> None:
        """`printed_bytes` says how much a worker has printed, given its job, attempt and rank."""
        self._printed_bytes = printed_bytes
        self._reports_steps = reports_steps
        self._hangs = hangs
        self._known: dict[JobId, _Printing] = {}
        self._shown: Mapping[JobId, int] = {}

    def last_output_ms(self, job: JobId) -> int | None:
        """When a running job was last seen to print; None when it has not, or is not watched. For any thread."""
        return self._shown.get(job)

    def take(self, value: Telemetry) -> None:
        """Nothing that nodes measure matters here."""

    def look(self, view: View, now_ms: int) -> Sequence[ObservedEvent | Telemetry]:
        """The jobs that have been silent for too long."""
        watched = {name: job for name, job in view.running.items() if self._is_watched(job)}
        for name in [each for each in self._known if each not in watched]:
            del self._known[name]
            self._hangs.forget(name)
        for job in islice(self._due(watched, now_ms), JOBS_PER_LOOK):
            self._look_at(job, now_ms)
        self._shown = {name: each.printed_ms for name, each in self._known.items() if each.size_bytes}
        judged = (job for job in watched.values() if job.spec.on_hang is not Remedy.REPORT)
        found = [self._hangs.report(job, self._hang(job, now_ms), {}, now_ms) for job in judged]
        return [each for each in found if each is not None]

    def _is_watched(self, job: Job) -> bool:
        return job.state is JobState.RUNNING and not self._reports_steps(job)

    def _due(self, watched: Mapping[JobId, Job], now_ms: int) -> Iterator[Job]:
        """Those that were not looked at for a while, or are new."""
        for name, job in watched.items():
            known = self._known.get(name)
            if known is None or known.attempt != job.attempt or now_ms - known.looked_ms >= LOOK_EVERY_MS:
                yield job

    def _look_at(self, job: Job, now_ms: int) -> None:
        size_bytes = sum(
            self._printed_bytes(job.id, job.attempt, worker.rank) for worker in job.workers[:RANKS_LOOKED_AT]
        )
        known = self._known.get(job.id)
        if known is None or known.attempt != job.attempt:
            self._known[job.id] = _Printing(job.attempt, now_ms, now_ms, size_bytes)
            return
        known.looked_ms = now_ms
        if size_bytes != known.size_bytes:
            known.longest_ms = max(known.longest_ms, now_ms - known.printed_ms)
            known.size_bytes, known.printed_ms = size_bytes, now_ms

    def _hang(self, job: Job, now_ms: int) -> Hang | None:
        known = self._known.get(job.id)
        if known is None or now_ms - known.printed_ms < max(SILENT_MS, SILENCE_FACTOR * known.longest_ms):
            return None
        return Hang(since_ms=known.printed_ms, ranks=tuple(worker.rank for worker in job.workers))
