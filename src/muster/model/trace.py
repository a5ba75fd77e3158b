"""A workload to replay: who submitted what, when, and how long it ran; and what is to be compared with it."""

from muster.model.ids import GpuType, JobId, TeamPath, TierName
from muster.model.node import ClusterSpec
from muster.model.records import Record
from muster.model.resources import GPU_MILLI
from muster.model.scenario import Rules
from muster.model.spec import DEFAULT_PRIORITY, DEFAULT_TEAM, DEFAULT_TIER

RUN_MS_MIN = 1
"""The length that a run of zero length gets, so that every attempt ends after it began."""


class TraceJob(Record, frozen=True, kw_only=True):
    """One job of a trace."""

    id: JobId
    submit_ms: int
    """Since the beginning of the trace."""
    run_ms: int
    """How long its whole gang computes without interruption, on the GPU type it ran on."""
    gpu_milli: int
    """GPUs of the whole gang in thousandths; 0 for a job that runs on CPUs, or asks for nothing at all."""
    team: TeamPath = DEFAULT_TEAM
    user: str = ""
    name: str = ""
    tier: TierName = DEFAULT_TIER
    priority: int = DEFAULT_PRIORITY
    gpu_types: tuple[GpuType, ...] = ()
    """The types it accepts; empty accepts all."""
    cpu_milli: int = 0
    """CPUs of the whole gang in thousandths. Memory is also of the whole gang."""
    memory_bytes: int = 0
    max_duration_ms: int | None = None
    """The limit that its user set; None when the source has none."""
    run_ms_by_type: tuple[tuple[GpuType, int], ...] = ()
    """How long it runs on each GPU type, where that was measured."""
    status: str = ""
    """How it ended, in the words of the source."""

    @property
    def gpus(self) -> float:
        """GPUs of the whole gang, as a number for people."""
        return self.gpu_milli / GPU_MILLI

    @property
    def asks_for_nothing(self) -> bool:
        """True when it needs neither GPUs nor CPUs nor memory: there is nothing to schedule."""
        return not (self.gpu_milli or self.cpu_milli or self.memory_bytes)


class Trace(Record, frozen=True, kw_only=True):
    """Jobs in the order of their submission."""

    name: str
    jobs: tuple[TraceJob, ...]
    skipped: int = 0
    """Jobs of the source that are left out because it does not say how long they ran, or on what."""
    unused: tuple[str, ...] = ()
    """Columns of the source that mean nothing here."""
    untyped: int = 0
    """Jobs whose GPU types are left out, because the GPUs of the cluster have none."""


class ReplaySetting(Record, frozen=True, kw_only=True):
    """What jobs are replayed on."""

    cluster: ClusterSpec
    rules: Rules
    policy: str = ""
    """The named policy that decides, for policies that rules alone cannot express; empty for the live system's."""


class WhatIf(Record, frozen=True, kw_only=True):
    """What is to be compared."""

    trace: Trace
    today: ReplaySetting
    changed: ReplaySetting
    facts: tuple[tuple[str, str], ...] = ()
    """What is compared, in words, for the report."""
