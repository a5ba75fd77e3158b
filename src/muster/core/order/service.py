"""The place of a job in its tier: bands of the GPU time it has had, and inside a band the order of submission.

The bands end at one GPU hour, ten, a hundred and so on. Most jobs end in the first bands, so they hardly wait for the
few that run for days, and nobody has to know how long a job will run. A job that has starved has a place in the third
band, however much it has had (`engine.starvation_watch`).

A job that waits may take the GPUs of a running job that has a worse place. GPU time only grows, so two jobs cannot go
on taking each other's GPUs: the one that ran last is sooner or later in the worse band.
"""

from bisect import bisect_right
from collections.abc import Sequence
from typing import NamedTuple

from muster.model.job import RunningJob, WaitingJob
from muster.model.limits import BAND_FACTOR, BANDS, FIRST_BAND_GPU_MS, STARVED_BAND
from muster.model.policy import Policy
from muster.model.resources import GPU_MILLI

NEWCOMERS = 0
"""The first band. Its jobs have had less than `FIRST_BAND_GPU_MS`; most of them have never run."""

BAND_ENDS_GPU_MS = tuple([FIRST_BAND_GPU_MS * BAND_FACTOR**band for band in range(BANDS - 1)])
"""The GPU time at which each band ends. The last band has no end."""


class ServicePlace(NamedTuple):
    """The lowest comes first."""

    band: int
    aged_ms: int
    """When the job was submitted. A point of priority makes it older."""


def band_of(gpu_ms: int, ends_gpu_ms: Sequence[int] = BAND_ENDS_GPU_MS, *, starved: bool = False) -> int:
    """The band of a job that has had this much GPU time."""
    band = bisect_right(ends_gpu_ms, gpu_ms)
    return min(band, STARVED_BAND) if starved else band


def band_begins_gpu_ms(band: int) -> int:
    """The GPU time at which a band begins."""
    return BAND_ENDS_GPU_MS[band - 1] if band else 0


def band_ends_gpu_ms(band: int) -> int | None:
    """The GPU time at which a band ends; None for the last, which has no end."""
    return BAND_ENDS_GPU_MS[band] if band < len(BAND_ENDS_GPU_MS) else None


def had_gpu_ms(job: RunningJob, now_ms: int) -> int:
    """The GPU time that a running job has had, in this attempt and before."""
    return job.attained_gpu_ms + (now_ms - job.started_ms) * job.spec.gang_gpu_milli // GPU_MILLI


def aged_ms(job: WaitingJob | RunningJob, policy: Policy) -> int:
    """When a job of usual priority would have been submitted to be as old as this one."""
    return job.submitted_ms - job.spec.priority * policy.ageing_ms


def running_place(job: RunningJob, policy: Policy, now_ms: int) -> ServicePlace:
    """The place that a running job would have if it had to wait from now on."""
    return ServicePlace(band_of(had_gpu_ms(job, now_ms), starved=job.starved), aged_ms(job, policy))


def enters_ms(job: RunningJob, band: int, ends_gpu_ms: Sequence[int] = BAND_ENDS_GPU_MS) -> int | None:
    """When a running job will have had enough GPU time for a band; None if it never will."""
    if not job.spec.gang_gpu_milli or (job.starved and band > STARVED_BAND):
        return None
    missing = (ends_gpu_ms[band - 1] if band else 0) - job.attained_gpu_ms
    return job.started_ms - (-missing * GPU_MILLI // job.spec.gang_gpu_milli)
