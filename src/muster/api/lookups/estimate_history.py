"""The start estimates that were given, and what their outcomes teach for the next ones."""

from collections.abc import Mapping
from typing import NamedTuple

from muster.estimates.calibration import Calibration
from muster.estimates.starts import StartEstimate
from muster.model.array import JobRecord
from muster.model.ids import JobId
from muster.model.limits import ESTIMATES_OPEN


class _Given(NamedTuple):
    """An estimate whose job has not started yet, before any correction."""

    raw: StartEstimate
    waiting: int
    made_ms: int


class EstimateHistory:
    """Corrects estimates by the outcomes of earlier ones. Kept in memory: after a restart the server learns anew."""

    def __init__(self) -> None:
        self._calibration = Calibration()
        self._open: dict[JobId, _Given] = {}

    def corrected(self, raw: StartEstimate, *, waiting: int, now_ms: int) -> StartEstimate:
        """The corrected estimate, given how many jobs were waiting when it was made."""
        return self._calibration.correct(raw, waiting=waiting, now_ms=now_ms)

    def remember(self, job: JobId, raw: StartEstimate, *, waiting: int, now_ms: int) -> None:
        """Remember an estimate for a job. If there are several, the first counts, because then most was unknown."""
        if len(self._open) >= ESTIMATES_OPEN and job not in self._open:
            del self._open[next(iter(self._open))]
        self._open.setdefault(job, _Given(raw, waiting, now_ms))

    @property
    def open(self) -> tuple[JobId, ...]:
        """Jobs for which an estimate was given, and whose start was not noted yet."""
        return tuple(self._open)

    def learn(self, jobs: Mapping[JobId, JobRecord]) -> None:
        """Learn from jobs that have started since their estimate. Forget these, and jobs that will never start."""
        for job_id, given in list(self._open.items()):
            job = jobs.get(job_id)
            if job is not None and job.first_started_ms is not None:
                self._calibration.learn(
                    given.raw, waiting=given.waiting, made_ms=given.made_ms, started_ms=job.first_started_ms
                )
            elif job is not None and not job.state.is_final:
                continue
            del self._open[job_id]
