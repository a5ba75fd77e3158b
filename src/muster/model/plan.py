"""The outcome of one cycle. Immutable and complete: carrying it out leaves no choices to make."""

from enum import StrEnum
from itertools import chain

from muster.model.ids import JobId, NodeName
from muster.model.job import Placement
from muster.model.records import Record


class Why(StrEnum):
    """Why a running job must leave."""

    TIER = "tier"
    RECLAIM = "reclaim"
    PROMISE = "hold"
    """It has run past its maximum duration, on GPUs that are promised to another job."""
    CONSOLIDATION = "consolidation"
    TURN = "turn"
    """It has had its turn, and a job of its tier has not."""
    DRAIN = "drain"
    """An operator wants its node empty."""
    RESERVATION = "reservation"
    """Its node is set aside for others from now on."""


class ReasonCode(StrEnum):
    """Why a job waits."""

    CAPACITY = "capacity"
    FRAGMENTED = "fragmented"
    QUOTA_LIMIT = "quota_limit"
    QUOTA_BORROW = "quota_borrow"
    TOPOLOGY = "topology"
    GPU_TYPE = "gpu_type"
    POOL = "pool"
    HELD_BY_OTHERS = "held_by_others"
    DEPENDENCY = "dependency"
    HELD = "held"
    NODE_HEALTH = "node_health"
    SPOT = "spot"
    BUDGET = "budget"
    NEVER_FITS = "never_fits"
    CONSTRAINT = "constraint"
    """Only the labels or the names of nodes that it asks for keep it from starting."""
    RESERVATION = "reservation"
    """Nodes that it could use are set aside for others before it would be done."""
    BEGIN = "begin"
    """Its user asked that it not start yet."""
    PROTECTED = "protected"
    """Running jobs whose place it could take may not be told to leave, or not yet."""
    IMAGE = "image"
    """It has an image, and only nodes without a container runtime have room."""
    ENGINE = "engine"
    """No engine alone has room for the gang, and no gang spans two; or only engines have that cannot run it."""


class Reason(Record, frozen=True, kw_only=True):
    """One thing that keeps a job waiting."""

    code: ReasonCode
    message: str
    would_help: str
    """What would have to change, in the user's words."""
    detail: str = ""
    """Which jobs or teams have what is missing, and until when; empty when that is not looked up or is in `message`."""
    about: tuple[str, ...] = ()
    """All jobs, nodes, teams, pools or GPU types that are the obstacle. The message may name only the first of them."""
    rule: str = ""
    """The rule of the policy, the job file or the quota that makes it an obstacle, where a code has several."""
    until_ms: int | None = None
    """When time alone removes the obstacle; None when it does not, or when that is not known."""


class Start(Record, frozen=True, kw_only=True):
    """A gang that starts now, whole."""

    job: JobId
    workers: Placement


class Eviction(Record, frozen=True, kw_only=True):
    """A running job that is told to save itself and leave."""

    job: JobId
    for_job: JobId
    why: Why
    lost_gpu_ms: int
    """GPU time since its last checkpoint."""


class Resize(Record, frozen=True, kw_only=True):
    """A running elastic job that changes size."""

    job: JobId
    from_workers: int
    to_workers: int
    workers: Placement
    """The whole gang after the change."""
    for_job: JobId | None = None
    """The job that needs what this one gives up; None when it grows."""


class Basis(StrEnum):
    """What a promised start rests on."""

    LIMITS = "limits"
    """The maximum durations of running jobs."""
    DEPARTURES = "departures"
    """The grace periods of jobs that were told to leave."""


class EstimateBasis(StrEnum):
    """The strongest thing that an estimate rests on, the strongest first."""

    PROMISE = "promise"
    """The job was promised a start, and without the promise the estimate would be later."""
    HISTORY = "history"
    """How long jobs ran that are like those that run now."""
    LIMITS = "limits"
    """Hardly any job has ended yet; those that run say how long they may or will run."""
    GUESS = "guess"
    """Hardly any job has ended yet, and those that run do not say how long they may run."""


class Promise(Record, frozen=True, kw_only=True):
    """A promise: this job starts on exactly these GPUs no later than `start_ms`."""

    job: JobId
    start_ms: int
    workers: Placement
    made_ms: int
    basis: Basis = Basis.LIMITS
    moved_because: str = ""
    """Set when an earlier promise to the same job had to move later."""

    @property
    def nodes(self) -> tuple[NodeName, ...]:
        """The nodes of its workers, in rank order, each once."""
        return tuple(dict.fromkeys(worker.node for worker in self.workers))


class Blocked(Record, frozen=True, kw_only=True):
    """Jobs that are equal in all that matters and did not start, with what stopped them first."""

    parts: tuple[tuple[JobId, ...], ...]
    """The jobs of each class, so that a long queue is skipped without looking at each job."""
    code: ReasonCode
    detail: str = ""
    """The team, level or GPU type that stopped them."""
    is_stuck: bool = False
    """True when only freed capacity can help these classes. A job that joins them does not call for another plan."""

    @property
    def jobs(self) -> tuple[JobId, ...]:
        """All jobs of all classes."""
        return tuple(chain.from_iterable(self.parts))


class Plan(Record, frozen=True, kw_only=True):
    """Everything one cycle decided."""

    version: int
    """The version of the snapshot it was made from. The plan is applied only to that version."""
    now_ms: int
    starts: tuple[Start, ...] = ()
    evictions: tuple[Eviction, ...] = ()
    resizes: tuple[Resize, ...] = ()
    promises: tuple[Promise, ...] = ()
    blocked: tuple[Blocked, ...] = ()
    wake_ms: int | None = None
    """When the passing of time alone may change the decision."""

    @property
    def changes_anything(self) -> bool:
        """True when carrying the plan out would do something to a job."""
        return bool(self.starts or self.evictions or self.resizes)
