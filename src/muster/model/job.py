"""A job as it lives: where its workers are, what state it is in, and what has happened to it."""

from collections import Counter
from enum import StrEnum

from muster.model.ids import JobId, NodeName
from muster.model.records import Record
from muster.model.resources import GPU_MILLI
from muster.model.spec import JobSpec


class JobState(StrEnum):
    """The states people know."""

    BLOCKED = "blocked"
    """Waits for another job, for its turn in an array, or for a while because it could not be started."""
    HELD = "held"
    """Its user asked that it not start."""
    QUEUED = "queued"
    STARTING = "starting"
    RUNNING = "running"
    CHECKPOINTING = "checkpointing"
    """Told to leave; saves itself within its grace period."""
    STOPPING = "stopping"
    """Told to end for good: cancelled, timed out, or one of its workers failed."""
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"
    TIMED_OUT = "timed_out"

    is_final: bool
    """True when nothing more will happen to the job."""
    holds_resources: bool
    """True while the job's workers occupy GPUs."""


FINAL_STATES = (JobState.SUCCEEDED, JobState.FAILED, JobState.CANCELLED, JobState.TIMED_OUT)
OCCUPYING_STATES = (JobState.STARTING, JobState.RUNNING, JobState.CHECKPOINTING, JobState.STOPPING)

for _state in JobState:
    # Attributes, not properties: every event asks for them several times.
    _state.is_final = _state in FINAL_STATES
    _state.holds_resources = _state in OCCUPYING_STATES


class Cause(StrEnum):
    """Why an attempt ended."""

    COMPLETED = "completed"
    ERROR = "error"
    OOM = "oom"
    TIMEOUT = "timeout"
    CANCELLED = "cancelled"
    PREEMPTED = "preempted"
    NODE_FAILURE = "node_failure"
    """A node was lost, or a GPU of the gang had gone bad when one of its workers failed."""
    START_FAILURE = "start_failure"
    """The engine underneath could not start the workers."""
    DEPENDENCY = "dependency"
    """A job that this one depends on ended the wrong way."""

    @property
    def is_infrastructure(self) -> bool:
        """True for faults that are not the user's and do not count against retries."""
        return self in (Cause.PREEMPTED, Cause.NODE_FAILURE, Cause.START_FAILURE)


class Worker(Record, frozen=True, kw_only=True):
    """One worker and where it is placed."""

    rank: int
    role: str
    node: NodeName
    gpus: tuple[int, ...] = ()
    """Device numbers on the node."""
    share_milli: int | None = None
    """Set when the worker has only this part of its one GPU."""

    @property
    def device_milli(self) -> int:
        """What it has of each of its GPUs."""
        return GPU_MILLI if self.share_milli is None else self.share_milli

    @property
    def gpu_milli(self) -> int:
        """What it has of all its GPUs together."""
        return len(self.gpus) * GPU_MILLI if self.share_milli is None else self.share_milli


Placement = tuple[Worker, ...]
"""All workers of a gang, by rank."""


def beyond(some: Placement, others: Placement) -> Placement:
    """The workers of `some` whose seats are not among those of `others`, whatever their ranks."""
    left = Counter(_seat(worker) for worker in others)
    found: list[Worker] = []
    for worker in some:
        if left[_seat(worker)] > 0:
            left[_seat(worker)] -= 1
        else:
            found.append(worker)
    return tuple(found)


def _seat(worker: Worker) -> tuple[str, NodeName, tuple[int, ...], int | None]:
    return (worker.role, worker.node, worker.gpus, worker.share_milli)


class Astray(Record, frozen=True, kw_only=True):
    """A worker of the job that is alive somewhere and that its record does not know of."""

    attempt: int
    rank: int
    node: NodeName


class RunningJob(Record, frozen=True, kw_only=True):
    """What planning needs to know of a job that occupies GPUs."""

    id: JobId
    spec: JobSpec
    started_ms: int
    workers: Placement
    checkpointed_ms: int | None = None
    """When it last saved itself completely; None means never since it was first started."""
    leaving_by_ms: int | None = None
    """Set once it was told to leave: its GPUs are free by then."""
    submitted_ms: int = 0
    attained_gpu_ms: int = 0
    """GPU time it received in earlier attempts."""
    starved: bool = False
    """It gave way to others and then waited too long: now it is the last to be asked."""
    can_resize: bool = True
    """False while an earlier change of its size is under way, and once one of its workers has exited."""
    user: str = ""
    """Who submitted it; empty where nobody said."""


class WaitingJob(Record, frozen=True, kw_only=True):
    """What planning needs to know of a job that wants to start."""

    id: JobId
    spec: JobSpec
    submitted_ms: int
    requeued: bool = False
    """True after a preemption, until it runs again: such a job never causes another preemption."""
    attained_gpu_ms: int = 0
    """GPU time it has received in earlier attempts."""
    predicted_ms: int | None = None
    """How much longer it will run, learnt from jobs like it; None where nobody asks or knows. Orders only."""
    held: bool = False
    """Its user asked that it not start."""
    unmet: tuple[JobId, ...] = ()
    """Jobs it still depends on."""
    preferred_nodes: tuple[NodeName, ...] = ()
    """Where the workers that survived a node loss ran: taken again if the gang fits around them."""
    starved: bool = False
    """It gave way to others and then waited too long: now it may ask those whose turn is over."""
    user: str = ""
    """Who submitted it; empty where nobody said."""


class Job(Record, frozen=True, kw_only=True, omit_defaults=True):
    """The whole record of one job, folded from its events by `core.lifecycle`.

    Most of its fields are as they were at first for most of its life: what is stored leaves those out.
    """

    id: JobId
    spec: JobSpec
    state: JobState
    submitted_ms: int
    attempt: int = 0
    """Counts starts; the first attempt is 1."""
    generation: int = 0
    """Counts instructions; the engine underneath refuses an older one."""
    workers: Placement = ()
    started_ms: int | None = None
    """When the present attempt began to occupy its GPUs."""
    first_started_ms: int | None = None
    checkpointed_ms: int | None = None
    deadline_ms: int | None = None
    """When a stop that is under way turns into a kill."""
    ended_ms: int | None = None
    cause: Cause | None = None
    """Why the last attempt ended, or why the present one is being stopped."""
    exit_code: int | None = None
    """Of the worker by which the present or the last attempt failed."""
    ready_ranks: tuple[int, ...] = ()
    exited_ranks: tuple[int, ...] = ()
    retries_used: int = 0
    preemptions: int = 0
    node_failures: int = 0
    attained_gpu_ms: int = 0
    requeued: bool = False
    unmet: tuple[JobId, ...] = ()
    array_parent: JobId | None = None
    array_index: int | None = None
    held: bool = False
    """The user's wish, kept while the job is blocked by something else."""
    awaits_turn: bool = False
    """A task of an array whose turn has not come yet."""
    not_before_ms: int | None = None
    """Set while it pauses after starts that failed."""
    preferred_nodes: tuple[NodeName, ...] = ()
    """Where its surviving workers were when it lost a node: placing it there again moves the least data."""
    faults_in_a_row: int = 0
    """Infrastructure faults since it last saved itself."""
    ends_by_ms: int | None = None
    """When the present attempt must have left its GPUs; planning counts on it."""
    grace_ms: int = 0
    """How long the present attempt gets between being told to leave and being killed."""
    ask_ms: int | None = None
    """When to ask it to save itself next."""
    checkpoint_cost_ms: int | None = None
    """What the last save cost; None until one was reported."""
    attempt_generation: int = 0
    """The generation that started the present attempt."""
    next_rank: int = 0
    """The lowest rank that no worker of the present attempt has had: a rank names one process and is not used again."""
    finished_ranks: tuple[int, ...] = ()
    """Those of the exited that ended well by themselves, not because they were told to stop."""
    leaving: Placement = ()
    """Workers given up in a resize that still occupy their GPUs."""
    leaving_by_ms: int | None = None
    """When those that leave in a resize are killed."""
    starved: bool = False
    """It gave way to others and then waited too long. Kept for life: it has paid its share."""
    bad_ranks: tuple[int, ...] = ()
    """Workers of the present attempt on a GPU that is known to be bad: when the gang fails, that is why."""
    billed_ms: int | None = None
    """Up to when the present attempt's GPU time is counted in `attained_gpu_ms`."""
    user: str = ""
    """Who submitted it."""
    astray: tuple[Astray, ...] = ()
    """Workers in quarantine: while there are any, the job does not start."""
    attempt_seen: int = 0
    """The highest attempt that any node has heard of; the next one is above it."""
    killed: bool = False
    """The grace period of the stop that is under way is over: whoever is left is killed."""
    number: int = 0
    """Counts submissions from 1 on; all tasks of an array have its number."""
