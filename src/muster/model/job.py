"""A job during its life: where its workers are, what state it is in, and what has happened to it."""

from collections import Counter
from enum import StrEnum
from typing import Final

from muster.model.checkpoint import Checkpoint
from muster.model.ids import JobId, NodeName
from muster.model.records import Record
from muster.model.resources import GPU_MILLI
from muster.model.spec import JobSpec
from muster.model.telemetry import Hang, Straggler


class JobState(StrEnum):
    """The states that users see."""

    BLOCKED = "blocked"
    """Waits for another job, its time, its turn in an array, the end of a pause, or quarantined workers."""
    HELD = "held"
    """Its user asked that it not start."""
    QUEUED = "queued"
    STARTING = "starting"
    RUNNING = "running"
    CHECKPOINTING = "checkpointing"
    """Preempted: told to leave, and saves itself within its grace period."""
    STOPPING = "stopping"
    """The attempt is being ended for another reason: cancelled, timed out, or a worker failed or was lost."""
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"
    TIMED_OUT = "timed_out"

    is_final: bool
    """True when nothing more will happen to the job."""
    holds_resources: bool
    """True while the job's workers occupy GPUs."""


class StateFacts(Record, frozen=True, kw_only=True):
    """What a state means for a job, and how people see it."""

    is_final: bool = False
    holds_resources: bool = False
    sign: str
    """Can be told from the others without colours."""
    colour: str
    meaning: str = "it does not wait any more"
    """What `muster why` says when there is no reason to name."""
    news: str = ""
    """What the user who follows a job reads when it enters the state; empty when that is not worth a line."""
    story: str = ""
    """What a story says of a job that enters the state; empty when it takes more than the state to say it."""


_ASK_WHY = "is {state}; `muster why {job}` says why"

STATES: Final[dict[JobState, StateFacts]] = {
    JobState.RUNNING: StateFacts(holds_resources=True, sign="●", colour="green", meaning="it runs"),
    JobState.CHECKPOINTING: StateFacts(
        holds_resources=True,
        sign="◑",
        colour="cyan",
        meaning="it saves itself and leaves its GPUs to another",
        news="saves itself and leaves its GPUs to another job; it goes on later",
        story="it saves itself and leaves",
    ),
    JobState.STOPPING: StateFacts(holds_resources=True, sign="◑", colour="red", meaning="it is being ended"),
    JobState.STARTING: StateFacts(holds_resources=True, sign="◐", colour="cyan", meaning="it is being started"),
    JobState.QUEUED: StateFacts(
        sign="○",
        colour="yellow",
        meaning="nothing keeps it waiting: it starts with the next plan",
        news=_ASK_WHY,
        story="it waits in the queue",
    ),
    JobState.HELD: StateFacts(sign="◌", colour="magenta", news=_ASK_WHY, story="it waits until somebody releases it"),
    JobState.BLOCKED: StateFacts(sign="◌", colour="yellow", news=_ASK_WHY),
    JobState.FAILED: StateFacts(is_final=True, sign="✗", colour="red", story="it has failed"),
    JobState.TIMED_OUT: StateFacts(is_final=True, sign="✗", colour="red", story="it has timed out"),
    JobState.CANCELLED: StateFacts(is_final=True, sign="–", colour="dim", story="it is cancelled"),
    JobState.SUCCEEDED: StateFacts(is_final=True, sign="✓", colour="blue", story="it has succeeded"),
}
"""All states. An array has the first of these states that any of its tasks has: the liveliest, or the worst ending."""

for _state in JobState:
    # Attributes and not properties, because every event reads them several times.
    _state.is_final = STATES[_state].is_final
    _state.holds_resources = STATES[_state].holds_resources

FINAL_STATES = tuple(state for state in JobState if state.is_final)
OCCUPYING_STATES = tuple(state for state in JobState if state.holds_resources)


class Cause(StrEnum):
    """Why an attempt ended."""

    COMPLETED = "completed"
    ERROR = "error"
    OOM = "oom"
    TIMEOUT = "timeout"
    CANCELLED = "cancelled"
    PREEMPTED = "preempted"
    NODE_FAILURE = "node_failure"
    """A node was lost or cut off, or a GPU of the gang was bad when one of its workers failed."""
    START_FAILURE = "start_failure"
    """The backend could not start the workers."""
    DAMAGED_CHECKPOINT = "damaged_checkpoint"
    """What it was to resume from could not be restored; an older checkpoint is tried."""
    STRAGGLER = "straggler"
    """A rank stayed slower than the others, and the job asked to be started again then."""
    HANG = "hang"
    """No rank made a step any more, and the job asked to be started again then."""
    RESIZED = "resized"
    """It goes on with another number of workers, and its launcher cannot change that while it runs."""
    REQUEUED = "requeued"
    """Its user, or the job itself, asked that it be started again."""
    DEPENDENCY = "dependency"
    """A job that this one depends on ended the wrong way."""

    @property
    def is_infrastructure(self) -> bool:
        """True for causes that are not the user's fault and do not count against retries."""
        return self in _INFRASTRUCTURE


_INFRASTRUCTURE: Final = (
    Cause.PREEMPTED,
    Cause.NODE_FAILURE,
    Cause.START_FAILURE,
    Cause.DAMAGED_CHECKPOINT,
    Cause.STRAGGLER,
    Cause.HANG,
    Cause.RESIZED,
    Cause.REQUEUED,
)

CAUSE_WORDS: Final[dict[Cause, str]] = {
    Cause.ERROR: "an error",
    Cause.OOM: "out of memory",
    Cause.TIMEOUT: "its time limit",
    Cause.PREEMPTED: "preemption",
    Cause.NODE_FAILURE: "a lost node",
    Cause.START_FAILURE: "a failed start",
    Cause.DAMAGED_CHECKPOINT: "a damaged checkpoint",
    Cause.STRAGGLER: "a rank that was too slow",
    Cause.HANG: "a hang",
    Cause.RESIZED: "a change of its size",
    Cause.REQUEUED: "a request to start again",
    Cause.DEPENDENCY: "a dependency that failed",
}
"""Causes in words that need no manual, where their own name needs one."""


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
        """The thousandths that it has of each of its GPUs."""
        return GPU_MILLI if self.share_milli is None else self.share_milli

    @property
    def gpu_milli(self) -> int:
        """The thousandths that it has of all its GPUs together."""
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
    """A worker that is alive on a node although the record of its job does not know it."""

    attempt: int
    rank: int
    node: NodeName


class RunningJob(Record, frozen=True, kw_only=True):
    """What planning needs to know about a job that occupies GPUs."""

    id: JobId
    spec: JobSpec
    started_ms: int
    workers: Placement
    checkpointed_ms: int | None = None
    """When it last saved itself completely; None means never since it was first started."""
    leaving_by_ms: int | None = None
    """Set once it is told to leave. Its GPUs are free by then."""
    submitted_ms: int = 0
    attained_gpu_ms: int = 0
    """GPU time it received in earlier attempts."""
    starved: bool = False
    """It gave way to other jobs and then waited too long. Now it is the last to be asked to give way again."""
    can_resize: bool = True
    """False while an earlier resize is under way, and once one of its workers has exited."""
    can_grow: bool = True
    """False for a job that would have to start again to grow, and could not resume its work then."""
    resized_ms: int | None = None
    """When it last changed its size by order; None if the present run has not."""
    lost_workers: int = 0
    """Workers that it lost with their nodes and went on without, and that were not replaced yet."""
    user: str = ""
    """Who submitted it; empty when that is not known."""


class WaitingJob(Record, frozen=True, kw_only=True):
    """What planning needs to know about a job that wants to start."""

    id: JobId
    spec: JobSpec
    submitted_ms: int
    requeued: bool = False
    """True after a preemption, until the job runs again. Such a job does not preempt by tier."""
    attained_gpu_ms: int = 0
    """GPU time it has received in earlier attempts."""
    predicted_ms: int | None = None
    """How much longer it will run, learnt from similar jobs; None if not needed or not known. Used for order only."""
    held: bool = False
    """Its user asked that it not start."""
    unmet: tuple[JobId, ...] = ()
    """Jobs it still depends on."""
    early: bool = False
    """Its `begin` has not come."""
    awaits_turn: bool = False
    """It is a task of an array whose turn has not come. A live server does not even plan with such a task."""
    preferred_nodes: tuple[NodeName, ...] = ()
    """The nodes of the workers that survived a node loss. They are used again if the gang fits around them."""
    starved: bool = False
    """It gave way to other jobs and then waited too long. Now it may take the place of jobs whose turn is over."""
    user: str = ""
    """Who submitted it; empty when that is not known."""


class Job(Record, frozen=True, kw_only=True, omit_defaults=True):
    """The whole record of one job, folded from its events by `core.lifecycle`.

    Most of its fields keep their defaults for most of its life. The stored form leaves defaults out.
    """

    id: JobId
    spec: JobSpec
    state: JobState
    submitted_ms: int
    attempt: int = 0
    """Counts starts; the first attempt is 1."""
    generation: int = 0
    """Counts instructions. The backend refuses an older one."""
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
    """The highest exit code of the workers that made the present or the last attempt fail; None without a process."""
    problem: str = ""
    """Why the program of the last attempt could not be started; empty when it was started, or none was tried yet."""
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
    """True while the user holds the job, also when something else blocks it."""
    awaits_turn: bool = False
    """True for a task of an array whose turn has not come yet."""
    not_before_ms: int | None = None
    """Set while its `begin` has not come, and while it pauses after starts that failed."""
    preferred_nodes: tuple[NodeName, ...] = ()
    """The nodes of its surviving workers when it lost a node. Starting there again moves the least data."""
    faults_in_a_row: int = 0
    """Infrastructure faults since it last saved itself."""
    ends_by_ms: int | None = None
    """When the present attempt must have left its GPUs. Planning counts on it."""
    grace_ms: int = 0
    """How long the present attempt gets between being told to leave and being killed."""
    ask_ms: int | None = None
    """When to ask it to save itself next."""
    checkpoint_cost_ms: int | None = None
    """How long training stood still for the last save; None until a save was reported."""
    last_step: int | None = None
    """The last step of the latest attempt that workers have left, as far as they said; None when none ever did."""
    image_ms: int = 0
    """How long its present attempt waited for its image, or the last one did: on the slowest node."""
    last_step_ms: int | None = None
    """When that step was finished."""
    checkpoint_took_ms: int | None = None
    """How long the last save took from its step until it was complete; None when that is not known."""
    attempt_generation: int = 0
    """The generation that started the present attempt."""
    next_rank: int = 0
    """The lowest rank that no worker of the present attempt has had. A rank names one process and is not used again."""
    finished_ranks: tuple[int, ...] = ()
    """The exited ranks that ended well by themselves, not because they were told to stop."""
    leaving: Placement = ()
    """Workers given up in a resize or on a node that is down. They still occupy their GPUs."""
    leaving_by_ms: int | None = None
    """When the workers in `leaving` are killed."""
    starved: bool = False
    """It gave way to other jobs and then waited too long. Kept for life: it has given way enough."""
    bad_ranks: tuple[int, ...] = ()
    """Workers of the present attempt on a GPU that is known to be bad. If the gang fails, this is the cause."""
    billed_ms: int | None = None
    """Up to when the present attempt's GPU time is counted in `attained_gpu_ms`."""
    user: str = ""
    """Who submitted it."""
    astray: tuple[Astray, ...] = ()
    """Workers in quarantine. While there are any, the job does not start."""
    attempt_seen: int = 0
    """The highest attempt that any node has seen. The next attempt is above it."""
    killed: bool = False
    """True when the grace period of the present stop is over and the workers that are left are being killed."""
    checkpoints: tuple[Checkpoint, ...] = ()
    """The checkpoints that are known by their step, oldest first: those that are kept, and those being saved."""
    upload_problem: str = ""
    """Why its newest checkpoint is not in durable storage yet; empty when nothing is wrong."""
    stragglers: tuple[Straggler, ...] = ()
    """The ranks of the present attempt that are slow, by rank."""
    hang: Hang | None = None
    """Set while the present attempt stands still."""
    remedied_ms: tuple[int, ...] = ()
    """When it was last started again because of a straggler; those of the last hour."""
    number: int = 0
    """The number of its submission, counted from 1. All tasks of an array have the number of the array."""
    next_gang: Placement = ()
    """The workers with which it starts again, once its present ones have left, to go on at another size. Set only
    while a gang that cannot change its size in place does so. It keeps these seats meanwhile."""
    limited_since_ms: int | None = None
    """From when the maximum duration of the present attempt counts, if the attempt goes on at another size for one
    before it; None when it counts from the start of the attempt."""
    resized_ms: int | None = None
    """When the present attempt last changed its size by order."""
    lost_workers: int = 0
    """Workers that the present attempt lost with their nodes and went on without, and that were not replaced yet."""
