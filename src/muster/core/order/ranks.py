"""The order of jobs inside a tier where a policy preempts by it. A rank is a pair of numbers; the lowest comes first.

While a job waits, its rank does not change. While it runs, its rank follows from the GPU time it received before and
from how long it has run since. All of that time counts, including restarts and lost work, which are not known here.
"""

from collections.abc import Sequence
from typing import Protocol

from muster.core.order.service import BAND_ENDS_GPU_MS, band_of, enters_ms, had_gpu_ms
from muster.model.job import RunningJob, WaitingJob
from muster.model.resources import GPU_MILLI

RankKey = tuple[int, int]

ENDS_GPU_MS = BAND_ENDS_GPU_MS[:3]
"""Where the bands of attained service end: at 1, 10 and 100 GPU hours. Tiresias uses two or more bands and leaves the
bounds to the operator."""


class Rank(Protocol):
    """A way to rank jobs."""

    def waiting(self, job: WaitingJob) -> RankKey:
        """The rank of a job that waits."""

    def running(self, job: RunningJob, now_ms: int) -> RankKey:
        """The rank of a job that runs. It keeps this rank if it is stopped at this moment."""

    def worsens(self, job: RunningJob, key: RankKey) -> tuple[int, RankKey] | None:
        """When a running job with this rank will next get a worse rank by running on, and that rank; None if never."""


class ServiceLeft:
    """Shortest remaining service first: GPUs times remaining run time, for jobs that say how long they run.

    A job that does not say comes last, as if it ran forever. A job that cannot resume must do all its work again once
    it is stopped.
    """

    def waiting(self, job: WaitingJob) -> RankKey:
        """The service that the job still needs."""
        spec = job.spec
        if spec.expected_duration_ms is None:
            return (1, 0)
        received = job.attained_gpu_ms * GPU_MILLI if spec.can_resume else 0
        return (0, max(spec.expected_duration_ms * spec.gang_gpu_milli - received, 0))

    def running(self, job: RunningJob, now_ms: int) -> RankKey:
        """The service that the job still needs, after what it has done in the present attempt."""
        spec = job.spec
        if spec.expected_duration_ms is None:
            return (1, 0)
        left_ms = spec.expected_duration_ms - (now_ms - job.started_ms)
        received = job.attained_gpu_ms * GPU_MILLI if spec.can_resume else 0
        return (0, max(left_ms * spec.gang_gpu_milli - received, 0))

    def worsens(self, _job: RunningJob, _key: RankKey) -> None:
        """Never: running on leaves less work to do."""


class AttainedBands:
    """Least attained service first, in bands. A job with less GPU time than a bound comes before a job with more.

    Inside a band it is first come, first served, so that two jobs with about the same GPU time do not keep stopping
    each other. A job moves to a worse band at most as many times as there are bounds.
    """

    def __init__(self, ends_gpu_ms: Sequence[int] = ENDS_GPU_MS) -> None:
        self._ends_gpu_ms = tuple(ends_gpu_ms)

    def waiting(self, job: WaitingJob) -> RankKey:
        """Its band, then its time of submission."""
        return (band_of(job.attained_gpu_ms, self._ends_gpu_ms), job.submitted_ms)

    def running(self, job: RunningJob, now_ms: int) -> RankKey:
        """Its band, then its time of submission."""
        return (band_of(had_gpu_ms(job, now_ms), self._ends_gpu_ms), job.submitted_ms)

    def worsens(self, job: RunningJob, key: RankKey) -> tuple[int, RankKey] | None:
        """When its GPU time will reach the upper bound of its band."""
        worse = key[0] + 1
        at_ms = enters_ms(job, worse, self._ends_gpu_ms) if worse <= len(self._ends_gpu_ms) else None
        return None if at_ms is None else (at_ms, (worse, job.submitted_ms))
