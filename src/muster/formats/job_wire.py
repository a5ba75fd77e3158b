"""What a job file may hold, key by key: the pydantic models and the words only job files use.

What concerns several keys at once is checked in `job_file`, where the model value is made.
"""

import re
from typing import Annotated

from pydantic import Field, PlainValidator

from muster.formats import ranges, units
from muster.formats.units import BadValue, shown
from muster.formats.wire import (
    Command,
    Cpus,
    Duration,
    Gpus,
    Memory,
    Name,
    Names,
    PositiveThousandths,
    TeamPathText,
    Text,
    Wire,
    Workers,
    job_id,
    text,
)
from muster.model.ids import JobId
from muster.model.limits import GANG_WORKERS, JOB_NAME_CHARS, MAX_DURATION_MS, PRIORITY_MAX
from muster.model.spec import (
    DEFAULT_PRIORITY,
    DEFAULT_TEAM,
    DEFAULT_TIER,
    ArraySpec,
    Dependency,
    DependencyWhen,
    Launch,
    Retry,
    RetryCause,
)

RETRIES_MAX = 1000
"""A job that fails more often than this is not going to succeed."""
CHECKPOINTS_KEPT_MAX = 10_000
ENTRIES_MAX = 1000
"""Of environment variables, secrets, tags and dependencies: a page of them, not a database."""

_JOB_NAME = re.compile(rf"[a-z0-9-]{{1,{JOB_NAME_CHARS}}}")


def job_name(value: object) -> str:
    """The name of a job."""
    word = text(value)
    if not _JOB_NAME.fullmatch(word):
        raise BadValue(f"{shown(word)} is not a name for a job", f"1 to {JOB_NAME_CHARS} of a-z, 0-9 and -")
    return word


def run_limit_ms(value: object) -> int:
    """A length of time that a job may be given."""
    duration = units.duration_ms(value)
    if not 0 < duration <= MAX_DURATION_MS:
        raise BadValue(f"must be above zero and at most {units.duration_text(MAX_DURATION_MS)}, not {shown(value)}")
    return duration


def interval_ms(value: object) -> int | None:
    """How often to save: a duration, or None for `auto`."""
    if value == "auto":
        return None
    duration = units.duration_ms(value)
    if duration < 1:
        raise BadValue(f"must be auto or a duration above zero, not {shown(value)}")
    return duration


def dependency(value: object) -> Dependency:
    """`prep-1`, or `{job: prep-1, when: failed}`."""
    if not isinstance(value, dict):
        return Dependency(job=JobId(job_id(value)))
    unknown = [str(key) for key in value if key not in ("job", "when")]
    if unknown or "job" not in value:
        raise BadValue(f"unknown key {unknown[0]!r}" if unknown else "does not say which job", "{job: …, when: …}")
    when = value.get("when") or DependencyWhen.SUCCEEDED
    if when not in tuple(DependencyWhen):
        raise BadValue(f"when must be one of {', '.join(DependencyWhen)}, not {shown(when)}")
    return Dependency(job=JobId(job_id(value["job"])), when=DependencyWhen(when))


RunLimit = Annotated[int, PlainValidator(run_limit_ms)]


class ResourcesWire(Wire):
    """What each worker needs."""

    gpus: Gpus = 0
    gpu_type: Names = ()
    cpus: Cpus = 0
    memory: Memory = 0
    disk: Memory = 0
    throughput: dict[str, PositiveThousandths] = Field(default_factory=dict)


class RoleWire(Wire):
    """One kind of worker."""

    workers: Workers = (1, 1)
    resources: ResourcesWire = ResourcesWire()
    run: Command = ""


class ParallelismWire(Wire):
    """How the model is split."""

    tensor: Annotated[int, Field(ge=1, le=GANG_WORKERS)] = 1
    pipeline: Annotated[int, Field(ge=1, le=GANG_WORKERS)] = 1


class TopologyWire(Wire):
    """Where the gang must or would rather stay."""

    within: Name | None = None
    prefer: Name | None = None
    relax_after: Duration = 0


class CheckpointWire(Wire):
    """How the job saves itself."""

    path: Text = ""
    every: Annotated[int | None, PlainValidator(interval_ms)] = None
    keep: Annotated[int, Field(ge=1, le=CHECKPOINTS_KEPT_MAX)] = 3
    grace: Duration = 120_000


class RetryWire(Wire):
    """Which failures of its own are tried again."""

    limit: Annotated[int, Field(ge=0, le=RETRIES_MAX)] = 0
    on: list[Annotated[RetryCause, Field(strict=False)]] = Field(default_factory=lambda: list(Retry().on))


class JobWire(RoleWire):
    """A whole job file as it is written. One without `roles` says itself what its only role is."""

    name: Annotated[str, PlainValidator(job_name)] = ""
    team: TeamPathText = DEFAULT_TEAM
    tier: Name = DEFAULT_TIER
    priority: Annotated[int, Field(ge=0, le=PRIORITY_MAX)] = DEFAULT_PRIORITY
    roles: dict[str, RoleWire] = Field(default_factory=dict)
    launch: Annotated[Launch, Field(strict=False)] = Launch.PLAIN
    setup: Command = ""
    env: dict[str, Text | None] = Field(default_factory=dict, max_length=ENTRIES_MAX)
    secrets: list[Text] = Field(default_factory=list, max_length=ENTRIES_MAX)
    parallelism: ParallelismWire = ParallelismWire()
    topology: TopologyWire = TopologyWire()
    max_duration: RunLimit | None = None
    expected_duration: RunLimit | None = None
    checkpoint: CheckpointWire | None = None
    preemptible: bool = True
    retry: RetryWire | None = None
    depends_on: list[Annotated[Dependency, PlainValidator(dependency)]] = Field(
        default_factory=list, max_length=ENTRIES_MAX
    )
    array: Annotated[ArraySpec, PlainValidator(ranges.array_spec)] | None = None
    tags: dict[str, Text] = Field(default_factory=dict, max_length=ENTRIES_MAX)
