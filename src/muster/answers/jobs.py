"""Jobs: what each is doing, why it waits, and what would become of one."""

from dataclasses import dataclass
from typing import Annotated, Any

from muster.answers.base import Answer, Document
from muster.answers.marks import NEEDED, SENT, Example, Items, Otherwise, Time, Word
from muster.model.job import FINAL_STATES, Cause, JobState
from muster.model.plan import ReasonCode
from muster.model.spec import DependencyWhen

EXAMPLE = {"name": "train", "team": "nlp", "workers": 2, "resources": {"gpus": 8}, "run": "python train.py"}

State = Annotated[str, Word(JobState)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Worker(Answer):
    """One worker and where it is."""

    rank: Annotated[int, NEEDED]
    role: Annotated[str, Otherwise("worker")]
    node: Annotated[str, NEEDED]
    gpus: tuple[int, ...]
    """Device numbers on the node."""
    share: float | None
    """The part of its one GPU that it has; null when its GPUs are its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ArrayPlace(Answer):
    """Which task of which array."""

    parent: Annotated[str, NEEDED]
    index: Annotated[int, NEEDED]


@dataclass(frozen=True, slots=True, kw_only=True)
class Dependency(Answer):
    """A job that must have ended in some way first."""

    job: str
    when: Annotated[str, Word(DependencyWhen)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Job(Answer):
    """A job, a task of an array, or an array as a whole."""

    id: Annotated[str, NEEDED]
    name: Annotated[str, NEEDED]
    team: str
    user: str
    """Who submitted it."""
    tier: str
    priority: int
    state: Annotated[State, NEEDED]
    reason: Annotated[str, Word(Cause)] | None
    """Why it last ended, or why it is being stopped."""
    attempt: int
    """Counts starts; 0 before the first."""
    workers: tuple[Worker, ...]
    """Where it runs at present."""
    gpus: float
    """Of the gang as it runs, or of the smallest that would."""
    submitted: Time
    started: Time | None
    """When the present attempt got its GPUs."""
    first_started: Time | None
    ended: Time | None
    exit_code: int | None
    retries: int
    """Failures of its own that were tried again."""
    preemptions: int
    node_failures: int
    gpu_seconds: float
    """GPU time it has received so far."""
    checkpointed: Time | None
    """When it last saved itself completely."""
    array: ArrayPlace | None
    """Set for a task of an array."""
    tasks: dict[State, int] | None
    """How many are in each state; set for an array."""
    held: bool
    depends_on: Annotated[tuple[Any, ...], Items(Dependency)]
    tags: dict[str, str]
    max_duration_s: float | None
    """Its own limit; null when its tier's holds."""
    spec: Annotated[Document, Example(EXAMPLE)]
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

    code: Annotated[str, Word(ReasonCode), NEEDED]
    message: str
    would_help: Annotated[str | None, SENT]
    """What would have to change."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate(Answer):
    """When a job starts. Not a promise."""

    p50: Time | None
    """As likely as not by then; null is later than anybody looked."""
    p90: Time | None
    """Nine times in ten by then."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Promise(Answer):
    """A start that was promised."""

    start: Time
    """At the latest."""
    nodes: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Why(Answer):
    """Why a job waits, and until when."""

    job: Annotated[str, NEEDED]
    state: State
    position: int | None
    """Its place in the queue, counted from 1; null when it is not queued."""
    reasons: tuple[Reason, ...]
    estimate: Estimate | None
    hold: Promise | None
    """What it was promised."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost(Answer):
    """What a job may cost if it runs as long as it says, or else as long as it may."""

    gpu_hours: Annotated[float | None, SENT]
    price: Annotated[float | None, SENT]
    """GPU-hours times the price of the cheapest pool that takes it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DryRun(Answer):
    """What would become of a job. Nothing was changed."""

    placement: tuple[Worker, ...] | None
    """Where it would start now; null when it would not."""
    reasons: tuple[Reason, ...]
    """Why it would wait, or could never run."""
    estimate: Estimate | None
    cost: Annotated[Cost | None, SENT]
