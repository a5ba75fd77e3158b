"""What happened. The log is a list of these, and every state is folded from it.

    wishes      JobSubmitted JobHeld JobReleased JobCancelRequested JobUpdated somebody asked
                RulesChanged ClusterChanged GangAdopted GangKillOrdered
    decisions   DependencyMet DependencyFailed TurnCame TimerFired JobStarved  the engine concluded
                JobStarted EvictionOrdered ResizeOrdered HoldsSet              a plan was applied
    observed    WorkersStarted WorkersExited StartFailed CheckpointSaved       a backend reported
                NodeChanged NodeUnreachable NodeReturned NodeLost GangsFound

An event is a fact: it is never changed, and folding it never fails. What a backend reports is fenced by
`(job, attempt, generation)`, where the generation is the newest that the reporter had seen for the job.
"""

from muster.model.ids import JobId, NodeName
from muster.model.job import Placement
from muster.model.node import ClusterSpec, Node
from muster.model.plan import Promise, Why
from muster.model.quarantine import FoundGang, SeenJob
from muster.model.records import Record
from muster.model.reports import CheckpointSaved, StartFailed, WorkersExited, WorkersStarted
from muster.model.scenario import Rules
from muster.model.spec import JobChanges, JobSpec

__all__ = [
    "CONFIGURATION",
    "CheckpointSaved",
    "ClusterChanged",
    "ClusterEvent",
    "DependencyFailed",
    "DependencyMet",
    "Event",
    "EvictionOrdered",
    "GangAdopted",
    "GangKillOrdered",
    "GangsFound",
    "HoldsSet",
    "JobCancelRequested",
    "JobEvent",
    "JobHeld",
    "JobReleased",
    "JobStarted",
    "JobStarved",
    "JobSubmitted",
    "JobUpdated",
    "NodeChanged",
    "NodeEvent",
    "NodeLost",
    "NodeReturned",
    "NodeUnreachable",
    "ObservedEvent",
    "ResizeOrdered",
    "RulesChanged",
    "StartFailed",
    "StopEvent",
    "TimerFired",
    "TurnCame",
    "WaitingEvent",
    "WorkerEvent",
    "WorkersExited",
    "WorkersStarted",
]

ENGINE = "engine"
"""Who did it, where nobody asked for it."""

CONFIGURATION = "configuration"
"""Who changed it, where it was the configuration that Muster was started with."""


class JobSubmitted(Record, frozen=True, kw_only=True):
    """A job was admitted; with `spec.array` it stands for all tasks of the array."""

    at_ms: int
    job: JobId
    spec: JobSpec
    unmet: tuple[JobId, ...] = ()
    """Jobs it depends on that have not ended yet."""
    held: bool = False
    by: str = ""
    """Who asked."""
    key: str = ""
    """What they called this request: asking again under the same key is the same request."""
    fingerprint: str = ""
    """Of what was asked for under the key, to tell the same request from another one."""


class JobUpdated(Record, frozen=True, kw_only=True):
    """Some of what a job asked for is different from now on."""

    at_ms: int
    job: JobId
    changes: JobChanges
    by: str = ""


class JobHeld(Record, frozen=True, kw_only=True):
    """Its user asked that the job not start until released. What runs goes on running."""

    at_ms: int
    job: JobId
    by: str = ""


class JobReleased(Record, frozen=True, kw_only=True):
    """Its user let a held job go on."""

    at_ms: int
    job: JobId
    by: str = ""


class JobCancelRequested(Record, frozen=True, kw_only=True):
    """Its user wants the job ended, whatever it is doing. Addressed to an array it means every task."""

    at_ms: int
    job: JobId
    by: str = ""


class DependencyMet(Record, frozen=True, kw_only=True):
    """A job that this one waits for ended the way it had to."""

    at_ms: int
    job: JobId
    dependency: JobId


class DependencyFailed(Record, frozen=True, kw_only=True):
    """A job that this one waits for ended another way: this one will never run."""

    at_ms: int
    job: JobId
    dependency: JobId


class TurnCame(Record, frozen=True, kw_only=True):
    """An array may have one more task under way, and this is it."""

    at_ms: int
    job: JobId


class JobStarved(Record, frozen=True, kw_only=True):
    """A job that gave way to others has waited too long since it would have been served in order."""

    at_ms: int
    job: JobId


class TimerFired(Record, frozen=True, kw_only=True):
    """A moment that the job asked to be woken at has come. Too early a timer changes nothing."""

    at_ms: int
    job: JobId


class JobStarted(Record, frozen=True, kw_only=True):
    """The job got its GPUs, all of them; its workers are being started there."""

    at_ms: int
    job: JobId
    attempt: int
    generation: int
    workers: Placement
    max_duration_ms: int
    """Its own or its tier's: by then the attempt must have left."""
    stop_grace_ms: int
    """What the policy gives a job that does not say how long it needs to leave."""


class EvictionOrdered(Record, frozen=True, kw_only=True):
    """The job must save itself and leave its GPUs to another."""

    at_ms: int
    job: JobId
    attempt: int
    why: Why
    for_job: JobId
    by_ms: int
    """When it is killed if it has not left."""
    lost_gpu_ms: int = 0
    """GPU time since its last checkpoint when this was decided."""


class ResizeOrdered(Record, frozen=True, kw_only=True):
    """The elastic job goes on with these workers: who is not among them leaves, who is new joins."""

    at_ms: int
    job: JobId
    attempt: int
    workers: Placement
    for_job: JobId | None = None
    """Who needs what it gives up; None when it grows."""


class HoldsSet(Record, frozen=True, kw_only=True):
    """These are the start promises from now on; all earlier ones are replaced."""

    at_ms: int
    holds: tuple[Promise, ...]


class NodeChanged(Record, frozen=True, kw_only=True):
    """A node is new, or its state, devices or place are different now."""

    at_ms: int
    node: Node
    because: str = ""
    by: str = ""


class NodeUnreachable(Record, frozen=True, kw_only=True):
    """Nobody can talk to a node any more. It is down; what it ran counts as alive until it is known to be gone."""

    at_ms: int
    node: NodeName
    because: str = ""


class NodeReturned(Record, frozen=True, kw_only=True):
    """A node that was down can be talked to again. What else is known of it stands."""

    at_ms: int
    node: NodeName
    because: str = ""


class NodeLost(Record, frozen=True, kw_only=True):
    """Every process that a node ran is known to be gone: the machine is off, or the node was swept or fenced."""

    at_ms: int
    node: NodeName
    because: str = ""


class GangsFound(Record, frozen=True, kw_only=True):
    """A node says all that it runs; what nobody here has started is quarantined."""

    at_ms: int
    node: NodeName
    gangs: tuple[FoundGang, ...] = ()
    seen: tuple[SeenJob, ...] = ()
    """Jobs of which the node has heard more than is known here."""


class GangAdopted(Record, frozen=True, kw_only=True):
    """An operator lets a job go on with a gang of its own that was in quarantine."""

    at_ms: int
    job: JobId
    attempt: int
    generation: int
    workers: Placement
    max_duration_ms: int
    """How long it may run from now on: when it was started is not known."""
    stop_grace_ms: int
    next_rank: int = 0
    """Above every rank of the attempt that a node has heard of."""
    by: str = ""


class GangKillOrdered(Record, frozen=True, kw_only=True):
    """An operator has what is in quarantine of a job ended."""

    at_ms: int
    job: JobId
    by: str = ""


class RulesChanged(Record, frozen=True, kw_only=True):
    """An operator changed quotas, tiers, pools or the policy; all of them are as they stand here from now on."""

    at_ms: int
    rules: Rules
    by: str = ""


class ClusterChanged(Record, frozen=True, kw_only=True):
    """These are all the nodes from now on, and the levels of their topology."""

    at_ms: int
    cluster: ClusterSpec
    by: str = ""


WaitingEvent = JobHeld | JobReleased | DependencyMet | DependencyFailed | TurnCame | JobStarved
"""Changes whether a job may start."""

StopEvent = JobCancelRequested | EvictionOrdered | TimerFired
"""May end what a job is doing."""

WorkerEvent = WorkersStarted | WorkersExited | StartFailed
"""What became of processes."""

JobEvent = (
    JobSubmitted
    | JobUpdated
    | WaitingEvent
    | StopEvent
    | WorkerEvent
    | JobStarted
    | ResizeOrdered
    | CheckpointSaved
    | GangAdopted
    | GangKillOrdered
)
"""Names the one job, or the one array, that it is about."""

NodeEvent = NodeChanged | NodeUnreachable | NodeReturned | NodeLost | GangsFound
"""What became of a node, and what it runs."""

ObservedEvent = WorkerEvent | CheckpointSaved | NodeEvent
"""What a backend reports; it may report the same thing twice."""

ClusterEvent = NodeEvent | HoldsSet | RulesChanged | ClusterChanged

Event = JobEvent | ClusterEvent
