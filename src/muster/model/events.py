"""What happened. The log is a list of these, and every state is folded from it.

    requests    JobSubmitted JobUpdated, and all those of `requests`           a user or operator asked
                CheckpointRemoved RulesChanged ClusterChanged GangAdopted GangKillOrdered
    decisions   DependencyMet DependencyFailed TurnCame TimerFired JobStarved  the engine concluded
                JobStarted EvictionOrdered ResizeOrdered HoldsSet              a plan was applied
                SparesSet                                                      the policy keeps nodes
    observed    WorkersStarted WorkersExited StartFailed ImagePulled           a backend reported
                CheckpointSaved ShardsSaved CheckpointUploaded CheckpointDamaged
                NodeChanged NodeUnreachable NodeReturned NodeLost GangsFound RuntimeFound
                StragglerFound StragglerGone HangFound HangOver                was concluded from what nodes measure

An event is a fact: it is never changed, and folding it never fails. Reports of a backend are fenced by
`(job, attempt, generation)`, where the generation is the newest that the reporter had seen for the job.
"""

from muster.model.ids import JobId, NodeName
from muster.model.job import Placement
from muster.model.machines.quarantine import FoundGang, SeenJob
from muster.model.machines.reservation import ReservationEvent, ReservationRemoved, ReservationSet
from muster.model.node import ClusterSpec, Node
from muster.model.plan import Promise, Why
from muster.model.records import Record
from muster.model.reports import (
    CheckpointDamaged,
    CheckpointSaved,
    CheckpointUploaded,
    ImagePulled,
    RuntimeFound,
    ShardsSaved,
    StartFailed,
    WorkersExited,
    WorkersStarted,
)
from muster.model.requests import RequestEvent
from muster.model.scenario import Rules
from muster.model.spec import JobChanges, JobSpec
from muster.model.telemetry import Hang, Straggler

__all__ = [
    "CONFIGURATION",
    "CheckpointDamaged",
    "CheckpointEvent",
    "CheckpointRemoved",
    "CheckpointSaved",
    "CheckpointUploaded",
    "ClusterChanged",
    "ClusterEvent",
    "DependencyFailed",
    "DependencyMet",
    "Event",
    "EvictionOrdered",
    "GangAdopted",
    "GangKillOrdered",
    "GangsFound",
    "HangFound",
    "HangOver",
    "HoldsSet",
    "ImagePulled",
    "JobEvent",
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
    "ReservationEvent",
    "ReservationRemoved",
    "ReservationSet",
    "ResizeOrdered",
    "RulesChanged",
    "RuntimeFound",
    "ShardsSaved",
    "SparesSet",
    "StartFailed",
    "StopEvent",
    "StragglerFound",
    "StragglerGone",
    "TimerFired",
    "TurnCame",
    "VerdictEvent",
    "WaitingEvent",
    "WorkerEvent",
    "WorkersExited",
    "WorkersStarted",
]

ENGINE = "engine"
"""The author of what the engine did by itself, without a request."""

HEALTH = "health"
"""The author of verdicts on nodes. They never undo what an operator did."""

BY_ENGINE = "engine "
"""Begins the author of what an engine such as Slurm says of its nodes. It never undoes what an operator did."""
CONFIGURATION = "configuration"
"""The author of changes that come from the configuration that Muster was started with."""


class JobSubmitted(Record, frozen=True, kw_only=True):
    """A job was admitted. With `spec.array` the event stands for all tasks of the array."""

    at_ms: int
    job: JobId
    spec: JobSpec
    unmet: tuple[JobId, ...] = ()
    """Jobs it depends on that have not ended yet."""
    held: bool = False
    by: str = ""
    """Who submitted it."""
    key: str = ""
    """The key that the submitter gave this request. A second request with the same key is the same request."""
    fingerprint: str = ""
    """Fingerprint of the request under the key, to tell the same request from another one."""


class JobUpdated(Record, frozen=True, kw_only=True):
    """Some of what a job asks for changed."""

    at_ms: int
    job: JobId
    changes: JobChanges
    by: str = ""


class CheckpointRemoved(Record, frozen=True, kw_only=True):
    """A user removed a checkpoint. It is not resumed from any more."""

    at_ms: int
    job: JobId
    step: int
    by: str = ""


class DependencyMet(Record, frozen=True, kw_only=True):
    """A job that this job waits for ended in the required way."""

    at_ms: int
    job: JobId
    dependency: JobId


class DependencyFailed(Record, frozen=True, kw_only=True):
    """A job that this job waits for ended in another way. This job will never run."""

    at_ms: int
    job: JobId
    dependency: JobId


class TurnCame(Record, frozen=True, kw_only=True):
    """The array may have one more task under way, and this task gets its turn."""

    at_ms: int
    job: JobId


class JobStarved(Record, frozen=True, kw_only=True):
    """A job that gave way to other jobs has waited too long since it was due, or beyond its fair time."""

    at_ms: int
    job: JobId


class TimerFired(Record, frozen=True, kw_only=True):
    """The time has come at which the job asked to be woken. A timer that fires too early changes nothing."""

    at_ms: int
    job: JobId


class JobStarted(Record, frozen=True, kw_only=True, omit_defaults=True):
    """The job got all of its GPUs. Its workers are being started there."""

    at_ms: int
    job: JobId
    attempt: int
    generation: int
    workers: Placement
    max_duration_ms: int
    """The limit of the job or of its tier. The attempt must have left by then."""
    stop_grace_ms: int
    """The grace period of the policy, for a job that does not say how long it needs to leave."""
    limited_since_ms: int | None = None
    """Set when the job goes on at another size: the limit counts from when it began to run without a break."""


class EvictionOrdered(Record, frozen=True, kw_only=True):
    """The job must save itself and leave its GPUs to another job."""

    at_ms: int
    job: JobId
    attempt: int
    why: Why
    for_job: JobId
    """Empty when an operator wants the node, and no job does."""
    by_ms: int
    """When it is killed if it has not left."""
    lost_gpu_ms: int = 0
    """GPU time since its last checkpoint when this was decided."""
    by: str = ""
    """The operator who ordered it; empty when a plan did."""
    because: str = ""
    """Why, in the operator's words."""


class ResizeOrdered(Record, frozen=True, kw_only=True):
    """The elastic job goes on with these workers. A worker that is not among them leaves, a new worker joins."""

    at_ms: int
    job: JobId
    attempt: int
    workers: Placement
    for_job: JobId | None = None
    """The job that needs what this one gives up; None when it grows."""


class HoldsSet(Record, frozen=True, kw_only=True):
    """The promised starts from now on. They replace all earlier ones."""

    at_ms: int
    holds: tuple[Promise, ...]


class StragglerFound(Record, frozen=True, kw_only=True):
    """A rank stays slower than those that do the same work, or is slower by another amount than was said before."""

    at_ms: int
    job: JobId
    attempt: int
    straggler: Straggler


class StragglerGone(Record, frozen=True, kw_only=True):
    """A rank that was slow keeps up with the others again."""

    at_ms: int
    job: JobId
    attempt: int
    rank: int


class HangFound(Record, frozen=True, kw_only=True):
    """No rank of the job has made a step for much longer than a step takes."""

    at_ms: int
    job: JobId
    attempt: int
    hang: Hang
    stacks: str = ""
    """The name of the file with the stacks of all ranks, among the logs of the attempt; empty when there are none."""


class HangOver(Record, frozen=True, kw_only=True):
    """The job makes steps again."""

    at_ms: int
    job: JobId
    attempt: int


class SparesSet(Record, frozen=True, kw_only=True):
    """These nodes are kept as spares from now on. They replace all earlier ones."""

    at_ms: int
    nodes: tuple[NodeName, ...]


class NodeChanged(Record, frozen=True, kw_only=True):
    """A node is new, or its state, devices or place changed."""

    at_ms: int
    node: Node
    because: str = ""
    by: str = ""
    condemns: bool = False
    """The whole node is bad: what runs there must leave. A node that an operator drains may finish its work."""


class NodeUnreachable(Record, frozen=True, kw_only=True):
    """A node cannot be reached any more. It is down. Its workers count as alive until they are known to be gone."""

    at_ms: int
    node: NodeName
    because: str = ""


class NodeReturned(Record, frozen=True, kw_only=True):
    """A node that was down can be reached again. Everything else known about it stays."""

    at_ms: int
    node: NodeName
    because: str = ""


class NodeLost(Record, frozen=True, kw_only=True):
    """Every process that a node ran is known to be gone: the machine is off, or the node was swept or fenced."""

    at_ms: int
    node: NodeName
    because: str = ""


class GangsFound(Record, frozen=True, kw_only=True):
    """A node reports all that it runs. Workers that this log did not start are quarantined."""

    at_ms: int
    node: NodeName
    gangs: tuple[FoundGang, ...] = ()
    seen: tuple[SeenJob, ...] = ()
    """Jobs for which the node has seen newer numbers than this log."""


class GangAdopted(Record, frozen=True, kw_only=True):
    """An operator lets a job go on with a gang of its own that was in quarantine."""

    at_ms: int
    job: JobId
    attempt: int
    generation: int
    workers: Placement
    max_duration_ms: int
    """How long it may run from now on, because it is not known when it was started."""
    stop_grace_ms: int
    next_rank: int = 0
    """A number above every rank of the attempt that a node has seen."""
    by: str = ""


class GangKillOrdered(Record, frozen=True, kw_only=True):
    """An operator orders that the quarantined workers of a job be killed."""

    at_ms: int
    job: JobId
    by: str = ""


class RulesChanged(Record, frozen=True, kw_only=True):
    """An operator changed quotas, tiers, pools or the policy. `rules` holds all of them as they are from now on."""

    at_ms: int
    rules: Rules
    by: str = ""
    configured: Rules | None = None
    """What the configuration says, if these rules follow from one; they may have changes of run time, too."""


class ClusterChanged(Record, frozen=True, kw_only=True):
    """These are all the nodes from now on, and the levels of their topology."""

    at_ms: int
    cluster: ClusterSpec
    by: str = ""
    configured: ClusterSpec | None = None
    """The nodes as the configuration says, without what was found out about them since."""


WaitingEvent = DependencyMet | DependencyFailed | TurnCame | JobStarved
"""The engine concluded something about whether a job may start."""

StopEvent = EvictionOrdered | TimerFired
"""May stop what a job is doing."""

WorkerEvent = WorkersStarted | WorkersExited | StartFailed | ImagePulled
"""What happened to processes."""

CheckpointEvent = CheckpointSaved | ShardsSaved | CheckpointUploaded | CheckpointDamaged | CheckpointRemoved
"""What became of a job's checkpoints."""

VerdictEvent = StragglerFound | StragglerGone | HangFound | HangOver
"""What was concluded about the ranks of a running job."""

JobEvent = (
    JobSubmitted
    | JobUpdated
    | RequestEvent
    | WaitingEvent
    | StopEvent
    | WorkerEvent
    | JobStarted
    | ResizeOrdered
    | CheckpointEvent
    | VerdictEvent
    | GangAdopted
    | GangKillOrdered
)
"""Names the one job, or the one array, that it is about."""

NodeEvent = NodeChanged | NodeUnreachable | NodeReturned | NodeLost | GangsFound | RuntimeFound
"""What happened to a node, and what it runs."""

ObservedEvent = WorkerEvent | CheckpointEvent | VerdictEvent | NodeEvent
"""What a backend reports, and verdicts on what it measured. The same thing may be reported twice."""

ClusterEvent = NodeEvent | HoldsSet | SparesSet | ReservationEvent | RulesChanged | ClusterChanged
Event = JobEvent | ClusterEvent
