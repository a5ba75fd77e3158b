"""Jobs: their state, why they wait, and the outcome of a dry run."""

from dataclasses import dataclass
from typing import Annotated, Any

from muster.answers.admission import Effect
from muster.answers.base import Answer, Document
from muster.answers.checkpoints import Saves
from muster.answers.marks import NEEDED, SENT, Example, Items, Otherwise, Time, Word
from muster.model.job import FINAL_STATES, Cause, JobState
from muster.model.plan import EstimateBasis, ReasonCode
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
    """The part of one GPU that it has; null when it has whole GPUs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ArrayPlace(Answer):
    """The array that a task belongs to, and its index there."""

    parent: Annotated[str, NEEDED]
    index: Annotated[int, NEEDED]


@dataclass(frozen=True, slots=True, kw_only=True)
class Dependency(Answer):
    """A job that must end in a given way before this one may start."""

    job: str
    when: Annotated[str, Word(DependencyWhen)]


@dataclass(frozen=True, slots=True, kw_only=True)
class StepSeconds(Answer):
    """How long steps took in the last minutes."""

    p50: float
    """Half of them took at most so long."""
    p99: float
    """99 of 100 took at most so long."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress(Answer):
    """How far a training is that reports its steps."""

    step: int
    """The last step that any rank has made."""
    step_s: StepSeconds | None
    """Null before the first step of this attempt."""
    last_step_at: Time | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SlowRankAnswer(Answer):
    """A rank that stays slower than those that do the same work."""

    rank: int
    node: str
    gpus: tuple[int, ...]
    """The devices that it uses."""
    slowdown: float
    """Its own busy time over that of its peers."""
    since: Time
    steps: int
    """In how many steps this was seen before it was said."""
    usual: float | None
    """The same ratio for its node in earlier attempts; null when none is known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Standstill(Answer):
    """No rank has made a step for much longer than a step takes."""

    since: Time
    ranks: tuple[int, ...]
    """Those that the others wait for; all ranks when that cannot be told."""
    step: int
    """The last step that any rank has made."""


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
    """Where it runs now; empty when it does not run."""
    gpus: float
    """GPUs of the gang as it runs; when it does not run, of the smallest gang that would run. For an array, the GPUs of
    its running tasks."""
    submitted: Time
    started: Time | None
    """When the current attempt got its GPUs; null when it does not run."""
    first_started: Time | None
    ended: Time | None
    exit_code: int | None
    """Of the workers that failed, the highest; null when none did, and when the program could not be started."""
    problem: str | None
    """Why the program could not be started, such as a folder or a secret that is missing."""
    retries: int
    """How many times it was retried after it failed by itself."""
    preemptions: int
    node_failures: int
    gpu_seconds: float
    """GPU time it has received so far."""
    checkpointed: Time | None
    """When its last complete checkpoint was saved."""
    saves: Saves | None
    """How often it saves itself; null when it cannot resume."""
    array: ArrayPlace | None
    """Set for a task of an array."""
    tasks: dict[State, int] | None
    """How many tasks are in each state; set for an array."""
    held: bool
    depends_on: Annotated[tuple[Any, ...], Items(Dependency)]
    tags: dict[str, str]
    progress: Progress | None
    """Null when its processes report no steps."""
    last_output: Time | None
    """When it was last seen to print anything; null when it reports its steps, and when it does not run."""
    stragglers: tuple[SlowRankAnswer, ...]
    """The ranks that are slow now."""
    hang: Standstill | None
    """Set while it stands still."""
    no_larger: str | None
    """Why a running elastic job has fewer workers than it may have; null for other jobs, and in lists."""
    max_duration_s: float | None
    """Its own limit; null when the limit of its tier applies."""
    admission: tuple[Effect, ...]
    """What admission rules did to it."""
    spec: Annotated[Document, Example(EXAMPLE)]
    """The job file; empty in a brief list."""

    @property
    def is_final(self) -> bool:
        """True when the job has ended."""
        return self.state in FINAL_STATES

    @property
    def succeeded(self) -> bool:
        """True when the job has succeeded."""
        return self.state == JobState.SUCCEEDED


@dataclass(frozen=True, slots=True, kw_only=True)
class Reason(Answer):
    """One reason why a job waits."""

    code: Annotated[str, Word(ReasonCode), NEEDED]
    message: str
    would_help: Annotated[str | None, SENT]
    """What would have to change so that it can start."""
    detail: str
    """Which jobs or teams have what is missing, and until when; empty when there is nothing to add."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PastEstimates(Answer):
    """How the latest estimates on the same basis came true, of jobs that waited for at least a minute."""

    given: int
    """How many are counted."""
    kept: int
    """How many of these jobs had started by p90."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate(Answer):
    """When a job may start. This is an estimate, not a promise."""

    p50: Time | None
    """The job starts by then with a chance of 50 percent; null means later than the estimate looks ahead."""
    p90: Time | None
    """The job starts by then with a chance of 90 percent; null means later than the estimate looks ahead."""
    basis: Annotated[str, Word(EstimateBasis)]
    """The strongest thing that it rests on."""
    rests_on: str
    """The same in words."""
    record: PastEstimates | None
    """How good such estimates were lately; null when none has come true or not yet."""
    track_record: str
    """The same as a sentence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Promise(Answer):
    """A promised start."""

    start: Time
    """When the job starts at the latest."""
    nodes: tuple[str, ...]
    rests_on: str
    """Why it is far away, where that is because running jobs have no limits of their own; else empty."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Remark(Answer):
    """One sentence about when a job starts. Times are told from now, so that they read the same in every time zone."""

    text: Annotated[str, Example("It will probably start in 12 min.")]
    at: Time | None
    """The exact time that it speaks of, if it speaks of one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Why(Answer):
    """Why a job waits, and when it may start."""

    job: Annotated[str, NEEDED]
    state: State
    headline: Annotated[str, Example("It waits because too few GPUs are free.")]
    """The whole answer in one sentence."""
    position: int | None
    """Its place in the queue, counted from 1; null when it is not queued."""
    reasons: tuple[Reason, ...]
    estimate: Estimate | None
    hold: Promise | None
    """The start that it was promised; null when there is no promise."""
    starts_if: Annotated[tuple[str, ...], Example(("with 2 workers instead of 4",))]
    """Changes of its size, each of which would start it now."""
    when: tuple[Remark, ...]
    """Its place, the promise, the estimate and how good such estimates were, in sentences."""
    problem: str | None
    """Why the program of its last attempt could not be started; null when it could, or was not tried yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitingStart(Answer):
    """When one waiting job may start."""

    job: Annotated[str, NEEDED]
    name: str
    team: str
    user: str
    """Who submitted it."""
    gpus: float
    """GPUs of the smallest gang that would run."""
    submitted: Time
    estimate: Estimate | None
    """Null when there was no time to find out, or when the job may not start yet."""
    hold: Promise | None
    """The start that it was promised; null when there is no promise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost(Answer):
    """What a job costs if it runs for its expected duration, or for its limit when it gives none."""

    gpu_hours: Annotated[float | None, SENT]
    price: float | None
    """GPU-hours times the price of where it would start now, or else of the cheapest pool that admits it and has its
    GPU types; null when no pool has a price of its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RankStack(Answer):
    """What one process is doing."""

    rank: int
    stack: str
    """The calls of all its threads, the innermost first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stacks(Answer):
    """What the processes of a job are doing, or did when it stood still."""

    job: Annotated[str, NEEDED]
    attempt: int
    stacks: tuple[RankStack, ...]
    """By rank. A process that did not answer is left out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Preempted(Answer):
    """A running job that would be told to save itself and leave."""

    job: Annotated[str, NEEDED]
    name: str
    team: str
    gpus: float


@dataclass(frozen=True, slots=True, kw_only=True)
class DryRun(Answer):
    """What would happen to a job if it were submitted. Nothing was changed."""

    placement: tuple[Worker, ...] | None
    """Where it would start now; null when it would not."""
    headline: Annotated[str, Example("It would wait because too few GPUs are free.")]
    """The whole answer in one sentence."""
    reasons: tuple[Reason, ...]
    """Why it would wait."""
    starts_if: tuple[str, ...]
    """Changes of its size, each of which would start it now."""
    estimate: Estimate | None
    preempts: Annotated[tuple[Any, ...], Items(Preempted)]
    """The running jobs that would leave for it, of those that you may see."""
    preempts_others: Annotated[int, Otherwise(0)]
    """How many more would leave for it."""
    when: tuple[Remark, ...]
    """The estimate and how good such estimates were, in sentences."""
    cost: Annotated[Cost | None, SENT]
    admission: tuple[Effect, ...]
    """What admission rules would do to it."""
