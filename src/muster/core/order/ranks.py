"""Who comes first among jobs of one tier where others leave for it: a rank is a pair of numbers, the least comes first.

While a job waits its rank does not change. While it runs, its rank follows from the GPU time it received before and
from how long it has run since. All of that time counts, restarts and lost work included: nobody here knows better.
"""

from bisect import bisect_right
from collections.abc import Sequence
from typing import Protocol

from muster.model.job import RunningJob, WaitingJob
from muster.model.policy import HOUR_MS
from muster.model.resources import GPU_MILLI

RankKey = tuple[int, int]

BANDS_GPU_MS = (HOUR_MS, 10 * HOUR_MS, 100 * HOUR_MS)
"""Where the bands of attained service end: at what one GPU does in an hour, in ten and in a hundred. Tiresias uses two
or more bands and leaves the bounds to the operator; decades suit jobs whose sizes differ by orders of magnitude."""


class Rank(Protocol):
    """A way to rank jobs."""

    def waiting(self, job: WaitingJob) -> RankKey:
        """The rank of a job that waits."""

    def running(self, job: RunningJob, now_ms: int) -> RankKey:
        """The rank of a job that runs; the same that it will have when it is stopped at this moment."""

    def worsens(self, job: RunningJob, key: RankKey) -> tuple[int, RankKey] | None:
        """When a running job that has this rank will next fall behind by running on, and its rank then; or never."""


class ServiceLeft:
    """Shortest remaining service first: GPUs times remaining run time, of jobs that say how long they run.

    One that does not say is taken to run for a time without end. One that cannot resume has all its work before it
    again once it is stopped.
    """

    def waiting(self, job: WaitingJob) -> RankKey:
        """What is left to do for it."""
        spec = job.spec
        if spec.expected_duration_ms is None:
            return (1, 0)
        received = job.attained_gpu_ms * GPU_MILLI if spec.can_resume else 0
        return (0, max(spec.expected_duration_ms * spec.gang_gpu_milli - received, 0))

    def running(self, job: RunningJob, now_ms: int) -> RankKey:
        """What is left to do for it, less what it has done in the present attempt."""
        spec = job.spec
        if spec.expected_duration_ms is None:
            return (1, 0)
        left_ms = spec.expected_duration_ms - (now_ms - job.started_ms)
        received = job.attained_gpu_ms * GPU_MILLI if spec.can_resume else 0
        return (0, max(left_ms * spec.gang_gpu_milli - received, 0))

    def worsens(self, _job: RunningJob, _key: RankKey) -> None:
        """Never: running on leaves less to do."""


class AttainedBands:
    """Least attained service first, in bands: who has received less GPU time than a bound comes before who has not.

    Inside a band it is first come, first served, so that two jobs that have received about the same do not stop each
    other in turn. A job falls behind as many times as there are bounds.
    """

    def __init__(self, bounds_gpu_ms: Sequence[int] = BANDS_GPU_MS) -> None:
        self._bounds_gpu_ms = tuple(bounds_gpu_ms)

    def waiting(self, job: WaitingJob) -> RankKey:
        """Its band, then when it came."""
        return (bisect_right(self._bounds_gpu_ms, job.attained_gpu_ms), job.submitted_ms)

    def running(self, job: RunningJob, now_ms: int) -> RankKey:
        """Its band, then when it came."""
        received_ms = (now_ms - job.started_ms) * job.spec.gang_gpu_milli // GPU_MILLI
        return (bisect_right(self._bounds_gpu_ms, job.attained_gpu_ms + received_ms), job.submitted_ms)

    def worsens(self, job: RunningJob, key: RankKey) -> tuple[int, RankKey] | None:
        """When it will have received what its band allows."""
        band, gpu_milli = key[0], job.spec.gang_gpu_milli
        if band == len(self._bounds_gpu_ms) or not gpu_milli:
            return None
        missing = (self._bounds_gpu_ms[band] - job.attained_gpu_ms) * GPU_MILLI
        return (job.started_ms - (-missing // gpu_milli), (band + 1, job.submitted_ms))
