"""The order of jobs inside a tier where a policy preempts by it. A rank is a pair of numbers; the lowest comes first.

While a job waits, its rank does not change. While it runs, its rank follows from the GPU time it received before and
from how long it has run since. All of that time counts, including restarts and lost work, which are not known here.
"""

from bisect import bisect_right
from collections.abc import Sequence
from typing import Protocol

from muster.model.job import RunningJob, WaitingJob
from muster.model.policy import HOUR_MS
from muster.model.resources import GPU_MILLI

RankKey = tuple[int, int]

BANDS_GPU_MS = (HOUR_MS, 10 * HOUR_MS, 100 * HOUR_MS)
"""Where the bands of attained service end: at 1, 10 and 100 GPU hours. Tiresias uses two or more bands and leaves the
bounds to the operator. Powers of ten suit jobs whose sizes differ by orders of magnitude."""


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

    def __init__(self, bounds_gpu_ms: Sequence[int] = BANDS_GPU_MS) -> None:
        self._bounds_gpu_ms = tuple(bounds_gpu_ms)

    def waiting(self, job: WaitingJob) -> RankKey:
        """Its band, then its time of submission."""
        return (bisect_right(self._bounds_gpu_ms, job.attained_gpu_ms), job.submitted_ms)

    def running(self, job: RunningJob, now_ms: int) -> RankKey:
        """Its band, then its time of submission."""
        received_ms = (now_ms - job.started_ms) * job.spec.gang_gpu_milli // GPU_MILLI
        return (bisect_right(self._bounds_gpu_ms, job.attained_gpu_ms + received_ms), job.submitted_ms)

    def worsens(self, job: RunningJob, key: RankKey) -> tuple[int, RankKey] | None:
        """When its GPU time will reach the upper bound of its band."""
        band, gpu_milli = key[0], job.spec.gang_gpu_milli
        if band == len(self._bounds_gpu_ms) or not gpu_milli:
            return None
        missing = (self._bounds_gpu_ms[band] - job.attained_gpu_ms) * GPU_MILLI
        return (job.started_ms - (-missing // gpu_milli), (band + 1, job.submitted_ms))
