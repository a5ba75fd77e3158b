"""All that an engine knows, as plain values: kept so that a restart folds only what came after.

What follows from something else in here is left out and worked out again: indexes, tallies, who depends on whom. What
only the events of the past tell is in here: what was used, learnt, due and promised.
"""

from muster.model.ids import JobId, NodeName, TeamPath
from muster.model.instructions import KillWorkers
from muster.model.job import Job
from muster.model.node import Node
from muster.model.quarantine import FoundGang
from muster.model.records import Record
from muster.model.scenario import Rules, Scenario
from muster.model.spec import JobSpec


class TeamUsageRecord(Record, frozen=True, kw_only=True):
    """GPU time that fair share remembers of a team, or of what a team submits itself, as it was at a time."""

    team: TeamPath
    gpu_ms: int
    at_ms: int


class RunTimesRecord(Record, frozen=True, kw_only=True):
    """How long the latest jobs of one group ran, in the order in which they ended."""

    alike: tuple[str | int, ...]
    """What the jobs of the group have in common."""
    run_ms: tuple[int, ...]


class BranchRecord(Record, frozen=True, kw_only=True):
    """What has been due so far below one team."""

    team: TeamPath
    weight: int
    weight_below: int
    due_each: int
    due_above_seen: int


class MemberRecord(Record, frozen=True, kw_only=True):
    """A job that has not ended, and what each job of its team had been due when it came."""

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
    """In the order in which they grew: a branch comes after the one above it."""
    members: tuple[MemberRecord, ...]


class DueLineRecord(Record, frozen=True, kw_only=True):
    """Jobs in the order of submission, and how many from the front have been found due."""

    capacity_milli: int
    line: tuple[tuple[int, JobId, int], ...]
    """When each was submitted, which it is, and the GPU thousandths that it needs."""
    due: int


class StarvationRecord(Record, frozen=True, kw_only=True):
    """Since when jobs are due, and when those that wait are looked at."""

    line: DueLineRecord
    due: tuple[tuple[JobId, int, int], ...]
    """Which job, since when, and how long it had run by then."""
    looks_ms: tuple[tuple[JobId, int], ...]
    timers: tuple[tuple[int, JobId], ...]


class SnapshotRecord(Record, frozen=True, kw_only=True):
    """A situation, and what a scenario rounds or leaves out."""

    scenario: Scenario
    usage: tuple[TeamUsageRecord, ...]
    preemptions_ms: tuple[tuple[TeamPath, tuple[int, ...]], ...]
    run_times: tuple[RunTimesRecord, ...]
    entitlements: EntitlementsRecord


class FactsRecord(Record, frozen=True, kw_only=True):
    """What the engine's state holds as it is. A field is called like the state's own; a table is a row of pairs."""

    version: int
    now_ms: int
    submissions: int
    jobs: tuple[tuple[JobId, Job], ...]
    """In the order of submission."""
    array_specs: tuple[tuple[JobId, JobSpec], ...]
    nodes: tuple[tuple[NodeName, Node], ...]
    node_faults: tuple[tuple[NodeName, int], ...]
    set_aside: tuple[tuple[NodeName, str], ...]
    node_notes: tuple[tuple[NodeName, str], ...]
    lost: tuple[tuple[NodeName, tuple[KillWorkers, ...]], ...]
    keys: tuple[tuple[tuple[str, str], tuple[JobId, str]], ...]
    configured: Rules | None


class StateRecord(Record, frozen=True, kw_only=True):
    """An engine's state."""

    facts: FactsRecord
    snapshot: SnapshotRecord
    starvation: StarvationRecord | None
    quarantine: tuple[tuple[NodeName, tuple[FoundGang, ...]], ...] = ()
    doomed: tuple[tuple[JobId, int], ...] = ()
    """Attempts in quarantine that an operator has had ended."""
