"""Which start estimates were given, and what those that have come true say about the next."""

from collections.abc import Mapping
from typing import NamedTuple

from muster.estimates.calibration import Calibration
from muster.estimates.starts import StartEstimate
from muster.model.array import JobRecord
from muster.model.ids import JobId
from muster.model.limits import ESTIMATES_OPEN


class _Given(NamedTuple):
    """An estimate whose job has not started yet, as it was before any correction."""

    raw: StartEstimate
    waiting: int
    made_ms: int


class TrackRecord:
    """Corrects estimates by those before them. Kept in memory: a server that starts anew learns anew."""

    def __init__(self) -> None:
        self._calibration = Calibration()
        self._open: dict[JobId, _Given] = {}

    def corrected(self, raw: StartEstimate, *, waiting: int, now_ms: int) -> StartEstimate:
        """An estimate as it should be told, made while so many jobs were waiting."""
        return self._calibration.correct(raw, waiting=waiting, now_ms=now_ms)

    def remember(self, job: JobId, raw: StartEstimate, *, waiting: int, now_ms: int) -> None:
        """An estimate was given for a job; of several the first counts, for which most was unknown."""
        if len(self._open) >= ESTIMATES_OPEN and job not in self._open:
            del self._open[next(iter(self._open))]
        self._open.setdefault(job, _Given(raw, waiting, now_ms))

    @property
    def open(self) -> tuple[JobId, ...]:
        """Jobs for which an estimate was given, and whose start nobody has seen yet."""
        return tuple(self._open)

    def learn(self, jobs: Mapping[JobId, JobRecord]) -> None:
        """Learn from those that have started since they were asked about, and forget them and those that never will."""
        for job_id, given in list(self._open.items()):
            job = jobs.get(job_id)
            if job is not None and job.first_started_ms is not None:
                self._calibration.learn(
                    given.raw, waiting=given.waiting, made_ms=given.made_ms, started_ms=job.first_started_ms
                )
            elif job is not None and not job.state.is_final:
                continue
            del self._open[job_id]
