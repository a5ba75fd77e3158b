"""Jobs as they are sent, and what may be asked of them."""

from typing import Annotated, Any, Literal

from pydantic import Field, WithJsonSchema, model_validator

from muster.api.schemas import job_file
from muster.api.schemas.base import REASON_CHARS, STORABLE, Paging, Schema, Time
from muster.api.schemas.job_file import EXAMPLE
from muster.formats.job_wire import ENTRIES_MAX
from muster.formats.wire import ID_CHARS
from muster.model.client_limits import JOB_TEXT_CHARS
from muster.model.job import Cause, JobState
from muster.model.limits import MAX_DURATION_MS, PRIORITY_MAX
from muster.model.plan import ReasonCode
from muster.model.spec import DependencyWhen

JobFile = Annotated[dict[str, Any], WithJsonSchema(job_file.PLACE)]
Tag = Annotated[str, Field(max_length=1000, pattern=STORABLE)]
Tags = Annotated[dict[Tag, Tag], Field(max_length=ENTRIES_MAX)]


class Worker(Schema):
    """One worker and where it is."""

    rank: int
    role: str
    node: str
    gpus: list[int] = Field(description="Device numbers on the node.")
    share: float | None = Field(description="The part of its one GPU that it has; null when its GPUs are its own.")


class ArrayPlace(Schema):
    """Which task of which array."""

    parent: str
    index: int


class Dependency(Schema):
    """A job that must have ended in some way first."""

    job: str
    when: DependencyWhen


class Job(Schema):
    """A job, a task of an array, or an array as a whole."""

    id: str
    name: str
    team: str
    user: str = Field(description="Who submitted it.")
    tier: str
    priority: int
    state: JobState
    reason: Cause | None = Field(description="Why it last ended, or why it is being stopped.")
    attempt: int = Field(description="Counts starts; 0 before the first.")
    workers: list[Worker] = Field(description="Where it runs at present.")
    gpus: float = Field(description="Of the gang as it runs, or of the smallest that would.")
    submitted: Time
    started: Time | None = Field(description="When the present attempt got its GPUs.")
    first_started: Time | None
    ended: Time | None
    exit_code: int | None
    retries: int = Field(description="Failures of its own that were tried again.")
    preemptions: int
    node_failures: int
    gpu_seconds: float = Field(description="GPU time it has received so far.")
    checkpointed: Time | None = Field(description="When it last saved itself completely.")
    array: ArrayPlace | None = Field(description="Set for a task of an array.")
    tasks: dict[JobState, int] | None = Field(description="How many are in each state; set for an array.")
    held: bool
    depends_on: list[Dependency]
    tags: dict[str, str]
    max_duration_s: float | None = Field(description="Its own limit; null when its tier's holds.")
    spec: dict[str, Any] = Field(description="The job file.", examples=[EXAMPLE])


class Submission(Schema):
    """A job file, as an object or as it is written."""

    job: JobFile | None = Field(default=None, description="The job file as an object.", examples=[EXAMPLE])
    text: str | None = Field(
        default=None, max_length=JOB_TEXT_CHARS, description="The job file as text, in YAML or JSON."
    )
    file: str = Field(
        default="job file", min_length=1, max_length=1000, pattern=STORABLE, description="What messages call the file."
    )
    held: bool = Field(default=False, description="Do not start it until it is released.")

    @model_validator(mode="after")
    def _one_of_two(self) -> "Submission":
        if (self.job is None) == (self.text is None):
            raise ValueError("give either `job` or `text`")
        return self


class Changes(Schema):
    """What is to be different about a job from now on; what is left out stays as it is."""

    priority: int | None = Field(default=None, ge=0, le=PRIORITY_MAX)
    tier: str | None = Field(default=None, min_length=1, max_length=ID_CHARS, pattern=STORABLE)
    max_duration_s: float | None = Field(default=None, gt=0, le=MAX_DURATION_MS / 1000)
    tags: Tags | None = Field(default=None, description="All of them: those that are not named are gone.")
    reason: str = Field(
        default="", max_length=REASON_CHARS, pattern=STORABLE, description="What it is for; goes into the audit."
    )


class JobFilters(Paging):
    """Which jobs to list: those that agree with everything given."""

    state: list[JobState | Literal["active", "ended"]] = Field(
        default_factory=list, max_length=20, description="Any of these; `active` has not ended."
    )
    team: str | None = Field(default=None, max_length=ID_CHARS, description="The team and all below it.")
    user: str | None = Field(default=None, max_length=ID_CHARS)
    name: str | None = Field(default=None, max_length=ID_CHARS)
    tier: str | None = Field(default=None, max_length=ID_CHARS)
    array: str | None = Field(default=None, max_length=ID_CHARS, description="The tasks of this array, by index.")


class Reason(Schema):
    """One thing that keeps a job waiting."""

    code: ReasonCode
    message: str
    would_help: str = Field(description="What would have to change.")


class Estimate(Schema):
    """When a job starts. Not a promise."""

    p50: Time | None = Field(description="As likely as not by then; null is later than anybody looked.")
    p90: Time | None = Field(description="Nine times in ten by then.")


class Promise(Schema):
    """A start that was promised."""

    start: Time = Field(description="At the latest.")
    nodes: list[str]


class Why(Schema):
    """Why a job waits, and until when."""

    job: str
    state: JobState
    position: int | None = Field(description="Its place in the queue, counted from 1; null when it is not queued.")
    reasons: list[Reason]
    estimate: Estimate | None
    hold: Promise | None = Field(description="What it was promised.")


class Cost(Schema):
    """What a job may cost if it runs as long as it says, or else as long as it may."""

    gpu_hours: float
    price: float = Field(description="GPU-hours times the price of the cheapest pool that takes it.")


class DryRun(Schema):
    """What would become of a job. Nothing was changed."""

    placement: list[Worker] | None = Field(description="Where it would start now; null when it would not.")
    reasons: list[Reason] = Field(description="Why it would wait, or could never run.")
    estimate: Estimate | None
    cost: Cost
