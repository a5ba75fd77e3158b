"""The start estimates that were given, and what their outcomes teach for the next ones."""

from collections import deque
from collections.abc import Iterable, Mapping

from muster.api.lookups.estimate_file import GivenEstimate
from muster.api.lookups.estimating import EstimatedStart, EstimateRecord
from muster.estimates.calibration import Calibration, OpenEstimate
from muster.estimates.starts import StartEstimate
from muster.model.array import JobRecord
from muster.model.ids import JobId
from muster.model.limits import ESTIMATES_OPEN, ESTIMATES_RECALLED
from muster.model.plan import EstimateBasis
from muster.model.policy import MINUTE_MS

ESTIMATES_KEPT = 400
"""Outcomes of estimates that are kept across a restart: enough for every window that is learnt from."""


class EstimateHistory:
    """Corrects estimates by the outcomes of earlier ones, also of those that were given before a restart."""

    def __init__(self, kept: Iterable[GivenEstimate] = ()) -> None:
        """`kept` are estimates of an earlier server, oldest first."""
        self._calibration = Calibration()
        self._open: dict[JobId, GivenEstimate] = {}
        self._outcomes: deque[GivenEstimate] = deque(maxlen=ESTIMATES_KEPT)
        self._kept: dict[EstimateBasis, deque[bool]] = {
            basis: deque(maxlen=ESTIMATES_RECALLED) for basis in EstimateBasis
        }
        """For each basis, whether the latest jobs that had to wait started by the time that nine in ten should."""
        for given in kept:
            if given.started_ms is None:
                self._open[given.job] = given
            else:
                self._learn_start(given, given.started_ms)

    @property
    def given(self) -> list[GivenEstimate]:
        """What is worth keeping: the latest outcomes, oldest first, and the estimates whose jobs wait."""
        return [*self._outcomes, *self._open.values()]

    def corrected(self, raw: StartEstimate, *, now_ms: int, earliest_ms: int = 0) -> StartEstimate:
        """The corrected estimate of a job that cannot start before `earliest_ms`."""
        still_open = [OpenEstimate(given.raw, given.made_ms) for given in self._open.values()]
        return self._calibration.correct(raw, now_ms=now_ms, earliest_ms=earliest_ms, still_open=still_open)

    def record(self, basis: EstimateBasis) -> EstimateRecord:
        """How the latest estimates on this basis came true."""
        kept = self._kept[basis]
        return EstimateRecord(given=len(kept), kept=sum(kept))

    def remember(self, job: JobId, raw: StartEstimate, told: EstimatedStart, *, now_ms: int) -> None:
        """Remember an estimate for a job. If there are several, the first counts, because then most was unknown.

        What is learnt from is the wait after `now_ms`, which is later than now for a job that could not start before.
        """
        if len(self._open) >= ESTIMATES_OPEN and job not in self._open:
            del self._open[next(iter(self._open))]
        given = GivenEstimate(job, told.grounds.basis, raw, told.start.p90_ms, now_ms)
        self._open.setdefault(job, given)

    @property
    def open(self) -> tuple[JobId, ...]:
        """Jobs for which an estimate was given, and whose start was not noted yet."""
        return tuple(self._open)

    def learn(self, jobs: Mapping[JobId, JobRecord]) -> bool:
        """Learn from jobs that have started since their estimate. Forget these, and jobs that will never start.

        True when there was anything to learn or to forget.
        """
        begun: list[tuple[int, GivenEstimate]] = []
        gone: list[JobId] = []
        for job_id, given in self._open.items():
            job = jobs.get(job_id)
            if job is not None and job.first_started_ms is not None:
                begun.append((job.first_started_ms, given))
            elif job is None or job.state.is_final:
                gone.append(job_id)
        # In the order of starts, whenever a user asked: bursts are told apart by what was known when.
        for started_ms, given in sorted(begun):
            self._learn_start(given, started_ms)
            gone.append(given.job)
        for job_id in gone:
            del self._open[job_id]
        return bool(gone)

    def _learn_start(self, given: GivenEstimate, started_ms: int) -> None:
        self._outcomes.append(given._replace(started_ms=started_ms))
        self._calibration.learn(given.raw, made_ms=given.made_ms, started_ms=started_ms)
        if given.told_p90_ms is not None and started_ms - given.made_ms >= MINUTE_MS:
            self._kept[given.basis].append(started_ms <= given.told_p90_ms)
