"""All that an engine knows, as plain values. It is saved so that a restart folds only the events after it.

What can be computed from the rest is left out: indexes, tallies, and which job depends on which. What only past events
tell is in here: what was used, learnt, due and promised.
"""

from muster.model.ids import GpuType, JobId, NodeName, TeamPath
from muster.model.instructions import KillWorkers
from muster.model.job import Job
from muster.model.machines.quarantine import FoundGang
from muster.model.node import ClusterSpec, HealthRecord, Node
from muster.model.policy import AdmissionRule, Profile
from muster.model.records import Record
from muster.model.scenario import Rules, Scenario
from muster.model.spec import JobSpec


class TeamUsageRecord(Record, frozen=True, kw_only=True):
    """GPU time that fair share remembers of a team, or of a team's own jobs, as it was at `at_ms`."""

    team: TeamPath
    gpu_ms: int
    at_ms: int


class RunTimesRecord(Record, frozen=True, kw_only=True):
    """How long the latest jobs of one circle ran, in the order in which they ended."""

    alike: tuple[str | int, ...]
    """What the jobs of the circle have in common."""
    run_ms: tuple[int, ...]


class StepTimesRecord(Record, frozen=True, kw_only=True):
    """How long the latest steps of similar jobs took on one GPU type at one spread, in the order in which they came."""

    alike: tuple[str | int, ...]
    """What the jobs of the group have in common."""
    gpu_type: GpuType
    spread: str
    step_ms: tuple[int, ...]


class BranchRecord(Record, frozen=True, kw_only=True):
    """What has been due so far below one team."""

    team: TeamPath
    weight: int
    weight_below: int
    due_each: int
    due_above_seen: int


class MemberRecord(Record, frozen=True, kw_only=True):
    """A job that has not ended, and what one unit of weight of its team's own jobs had been due when it came."""

    job: JobId
    team: TeamPath
    since_ms: int
    due_before: int


class EntitlementsRecord(Record, frozen=True, kw_only=True):
    """What every job is due of the cluster."""

    now_ms: int
    capacity_milli: int
    weights: tuple[tuple[TeamPath, int], ...]
    root: BranchRecord
    branches: tuple[BranchRecord, ...]
    """In the order in which they were made: a branch comes after the branch above it."""
    members: tuple[MemberRecord, ...]


class FairServiceRecord(Record, frozen=True, kw_only=True):
    """Jobs in the order of submission, and how many of them, from the front, have been found due."""

    capacity_milli: int
    line: tuple[tuple[int, JobId, int], ...]
    """For each job: when it was submitted, its id, and the GPU thousandths that it needs."""
    due: int


class StarvationRecord(Record, frozen=True, kw_only=True):
    """Since when jobs are due, and when waiting jobs are next looked at."""

    line: FairServiceRecord
    due: tuple[tuple[JobId, int, int], ...]
    """For each job: its id, since when it is due, and how long it had run by then."""
    looks_ms: tuple[tuple[JobId, int], ...]
    timers: tuple[tuple[int, JobId], ...]


class SnapshotRecord(Record, frozen=True, kw_only=True):
    """A situation, with the values that a scenario rounds or leaves out."""

    scenario: Scenario
    usage: tuple[TeamUsageRecord, ...]
    preemptions_ms: tuple[tuple[TeamPath, tuple[int, ...]], ...]
    run_times: tuple[RunTimesRecord, ...]
    entitlements: EntitlementsRecord


class FactsRecord(Record, frozen=True, kw_only=True):
    """What the engine's state holds directly. Fields have the same names as there; a dict is a tuple of pairs."""

    version: int
    now_ms: int
    submissions: int
    jobs: tuple[tuple[JobId, Job], ...]
    """In the order of submission."""
    array_specs: tuple[tuple[JobId, JobSpec], ...]
    nodes: tuple[tuple[NodeName, Node], ...]
    set_aside: tuple[tuple[NodeName, str], ...]
    node_notes: tuple[tuple[NodeName, str], ...]
    lost: tuple[tuple[NodeName, tuple[KillWorkers, ...]], ...]
    keys: tuple[tuple[tuple[str, str], tuple[JobId, str]], ...]
    configured: Rules | None
    configured_cluster: ClusterSpec | None = None
    node_health: tuple[tuple[NodeName, HealthRecord], ...] = ()
    spares: tuple[NodeName, ...] = ()
    admission: tuple[AdmissionRule, ...] = ()
    profiles: tuple[Profile, ...] = ()


class BucketsRecord(Record, frozen=True, kw_only=True):
    """The history at one step: the bucket that is being filled, and those that are full, oldest first."""

    start_ms: int
    open: tuple[tuple[str, str, str, int], ...]
    closed: tuple[tuple[int, str], ...]
    """When each begins, and its amounts as JSON."""


class HistoryRecord(Record, frozen=True, kw_only=True):
    """What was used and wanted over time. It is no part of what the engine decides by."""

    at_ms: int
    buckets: tuple[BucketsRecord, ...]
    """The finest first."""


class StateRecord(Record, frozen=True, kw_only=True):
    """An engine's state."""

    facts: FactsRecord
    snapshot: SnapshotRecord
    starvation: StarvationRecord | None
    quarantine: tuple[tuple[NodeName, tuple[FoundGang, ...]], ...] = ()
    doomed: tuple[tuple[JobId, int], ...] = ()
    """Attempts in quarantine that an operator ordered to be killed."""
    history: HistoryRecord | None = None
    """For readers; None when it was saved by a server that kept none."""
