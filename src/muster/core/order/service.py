"""The place of a job in its tier: bands of the GPU time it has had, and inside a band the order of submission.

The bands end at one GPU hour, ten, a hundred and so on. Most jobs end in the first bands, so they hardly wait for the
few that run for days, and nobody has to know how long a job will run. A job that has starved has a place in the third
band, however much it has had (`engine.starvation_watch`).

A job that waits may take the GPUs of a running job that has a worse place. GPU time only grows, so two jobs cannot go
on taking each other's GPUs: the one that ran last is sooner or later in the worse band.
"""

from typing import NamedTuple

from muster.model.job import RunningJob, WaitingJob
from muster.model.limits import BAND_FACTOR, BANDS, FIRST_BAND_GPU_MS, STARVED_BAND
from muster.model.policy import Policy
from muster.model.resources import GPU_MILLI

NEWCOMERS = 0
"""The first band. Its jobs have had less than `FIRST_BAND_GPU_MS`; most of them have never run."""


class ServicePlace(NamedTuple):
    """The lowest comes first."""

    band: int
    aged_ms: int
    """When the job was submitted. A point of priority makes it older."""


def band_of(gpu_ms: int, *, starved: bool) -> int:
    """The band of a job that has had this much GPU time."""
    band, end_gpu_ms = NEWCOMERS, FIRST_BAND_GPU_MS
    while gpu_ms >= end_gpu_ms and band < BANDS - 1:
        band, end_gpu_ms = band + 1, end_gpu_ms * BAND_FACTOR
    return min(band, STARVED_BAND) if starved else band


def aged_ms(job: WaitingJob | RunningJob, policy: Policy) -> int:
    """When a job of usual priority would have been submitted to be as old as this one."""
    return job.submitted_ms - job.spec.priority * policy.ageing_ms


def running_place(job: RunningJob, policy: Policy, now_ms: int) -> ServicePlace:
    """The place that a running job would have if it had to wait from now on."""
    gpu_ms = job.attained_gpu_ms + (now_ms - job.started_ms) * job.spec.gang_gpu_milli // GPU_MILLI
    return ServicePlace(band_of(gpu_ms, starved=job.starved), aged_ms(job, policy))


def enters_ms(job: RunningJob, band: int) -> int | None:
    """When a running job will have had enough GPU time for a band; None if it never will."""
    if not job.spec.gang_gpu_milli or (job.starved and band > STARVED_BAND):
        return None
    missing = (FIRST_BAND_GPU_MS * BAND_FACTOR ** (band - 1) if band else 0) - job.attained_gpu_ms
    return job.started_ms - (-missing * GPU_MILLI // job.spec.gang_gpu_milli)
