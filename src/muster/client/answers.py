"""What the server answers, as values. Fields are those of docs/API.md; what a newer server adds is ignored.

Every answer keeps the JSON it was made from in `document`, so nothing that was sent is out of reach.
"""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from muster.model.job import FINAL_STATES, JobState

Document = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """Base of everything that the server says."""

    document: Document = field(default_factory=dict, repr=False, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Worker(Answer):
    """One worker and where it is placed."""

    rank: int
    node: str
    role: str = "worker"
    gpus: tuple[int, ...] = ()
    share: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ArrayTask(Answer):
    """Which task of which array a job is."""

    parent: str
    index: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Job(Answer):
    """A job as it stands."""

    id: str
    name: str
    state: str
    team: str = ""
    user: str = ""
    tier: str = ""
    priority: int = 0
    reason: str | None = None
    """Why it last ended or is being stopped."""
    attempt: int = 0
    workers: tuple[Worker, ...] = ()
    gpus: float = 0
    """Of the gang."""
    submitted: datetime | None = None
    started: datetime | None = None
    """When the present or last attempt began."""
    first_started: datetime | None = None
    ended: datetime | None = None
    exit_code: int | None = None
    retries: int = 0
    preemptions: int = 0
    node_failures: int = 0
    gpu_seconds: float = 0
    checkpointed: datetime | None = None
    array: ArrayTask | None = None
    tasks: dict[str, int] | None = None
    """How many tasks of an array are in each state."""
    held: bool = False
    depends_on: tuple[Any, ...] = ()
    tags: dict[str, str] = field(default_factory=dict)
    max_duration_s: float | None = None
    spec: Document = field(default_factory=dict)
    """The job file."""

    @property
    def is_final(self) -> bool:
        """True when nothing more will happen to it."""
        return self.state in FINAL_STATES

    @property
    def succeeded(self) -> bool:
        """True when it ended well."""
        return self.state == JobState.SUCCEEDED


@dataclass(frozen=True, slots=True, kw_only=True)
class Reason(Answer):
    """One thing that keeps a job waiting."""

    code: str
    message: str = ""
    would_help: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate(Answer):
    """When a job will start: half of the time by `p50`, nine times in ten by `p90`. Never a promise."""

    p50: datetime | None = None
    p90: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Hold(Answer):
    """A promised start."""

    start: datetime | None = None
    nodes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Why(Answer):
    """Why a job waits."""

    job: str
    state: str = ""
    position: int | None = None
    reasons: tuple[Reason, ...] = ()
    estimate: Estimate | None = None
    hold: Hold | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Sentence(Answer):
    """One thing that happened to a job, in words."""

    at: datetime | None = None
    kind: str = ""
    state: str | None = None
    text: str = ""
    times: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Story(Answer):
    """How a job got where it is, oldest first."""

    job: str
    state: str = ""
    sentences: tuple[Sentence, ...] = ()
    left_out: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost(Answer):
    """What a job would use up at most."""

    gpu_hours: float | None = None
    price: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DryRun(Answer):
    """What would become of a job if it were submitted now."""

    placement: tuple[Worker, ...] | None = None
    reasons: tuple[Reason, ...] = ()
    estimate: Estimate | None = None
    cost: Cost | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Used(Answer):
    """What is in use on a node."""

    gpus: float = 0
    cpus: float = 0
    memory_bytes: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Node(Answer):
    """One machine."""

    name: str
    state: str = ""
    gpus: int = 0
    gpu_type: str = ""
    cpus: float | None = None
    memory_bytes: int | None = None
    disk_bytes: int | None = None
    pool: str = ""
    domains: Any = ()
    bad_gpus: tuple[int, ...] = ()
    used: Used = Used()
    jobs: tuple[str, ...] = ()
    because: str | None = None
    """Why it is in the state that it is in."""
    quarantined_gpus: tuple[int, ...] = ()
    """Used by what the server's database does not know."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QuarantinedGang(Answer):
    """What nodes run of a job that the server's database does not know."""

    job: str
    attempt: int = 0
    name: str | None = None
    team: str | None = None
    state: str | None = None
    """Of the job with this id on the server, if there is one."""
    workers: tuple[Worker, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Team(Answer):
    """A team with its quota and what it uses."""

    path: str
    guaranteed: dict[str, float] = field(default_factory=dict)
    limit: dict[str, float] = field(default_factory=dict)
    weight: float = 1
    tiers: tuple[str, ...] | None = None
    """The tiers that its jobs may use; None is any."""
    max_priority: int | None = None
    allow_unpreemptible: bool = True
    used: dict[str, float] = field(default_factory=dict)
    borrowed: dict[str, float] = field(default_factory=dict)
    running: int = 0
    waiting: int = 0
    usage_gpu_s: float = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Event(Answer):
    """Something that happened. What else it says is in `document`."""

    version: int
    at: datetime | None = None
    kind: str = ""
    job: str | None = None
    team: str | None = None
    user: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity(Answer):
    """Who the token belongs to."""

    name: str
    """Who acts with it."""
    label: str = ""
    bindings: tuple[Any, ...] = ()
    expires: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Token(Answer):
    """A token; its `secret` is known only in the answer that made it."""

    id: str
    name: str = ""
    subject: str = ""
    """Who acts with it."""
    maker: str | None = None
    bindings: tuple[Any, ...] = ()
    expires: datetime | None = None
    created: datetime | None = None
    revoked: datetime | None = None
    secret: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditEntry(Answer):
    """Who did what."""

    seq: int
    at: datetime | None = None
    by: str = ""
    action: str = ""
    subject: str = ""
    detail: dict[str, str] = field(default_factory=dict)
    reason: str = ""
    """What they said it was for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Log:
    """A piece of what a worker printed."""

    text: bytes
    start: int
    """Where in the log it begins."""
    end: int
    """Where the next piece begins."""
    attempt: int
    complete: bool
    """True when the worker is gone and this is the last piece."""
