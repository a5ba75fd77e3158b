"""What a job file may hold, key by key: the declaration that reading, writing and the JSON Schema follow from.

A new key is a field in `model/spec.py` and a line here. Checks across several keys are in `job_file`. The text below a
key is what the OpenAPI document says of it.
"""

import re
from typing import Annotated

from pydantic import Field

from muster.formats.parts.kinds import (
    DURATION_SCHEMA,
    NO_NUL,
    Command,
    Cpus,
    Duration,
    Gpus,
    JsonSchema,
    Kind,
    Memory,
    Name,
    Names,
    PositiveThousandths,
    Spelling,
    TeamPathText,
    Text,
    Workers,
    job_id,
    text,
)
from muster.formats.parts.parts import ALWAYS, ONCE, Given, NamedPart, Part, Stored
from muster.formats.text import ranges, units
from muster.formats.text.units import BadValue, shown
from muster.model.ids import JobId
from muster.model.limits import GANG_WORKERS, JOB_NAME_CHARS, MAX_DURATION_MS, PRIORITY_MAX
from muster.model.resources import Request
from muster.model.spec import (
    DEFAULT_TEAM,
    DEFAULT_TIER,
    ArraySpec,
    CheckpointSpec,
    Dependency,
    DependencyWhen,
    Interactive,
    JobSpec,
    Launch,
    Parallelism,
    Remedy,
    Retry,
    RetryCause,
    RoleSpec,
    TopologySpec,
)

RETRIES_MAX = 1000
"""A job that fails more often than this is not going to succeed."""
CHECKPOINTS_KEPT_MAX = 10_000
ENTRIES_MAX = 1000
"""The most environment variables, secrets, tags or dependencies of a job: a page of them, not a database."""

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


def dependency_value(each: Dependency) -> object:
    """The inverse of `dependency`."""
    return {"job": each.job, "when": each.when.value} if each.when != DependencyWhen.SUCCEEDED else each.job


_ID_SCHEMA: JsonSchema = {"type": "string", "pattern": "^[A-Za-z0-9._-]{1,40}$"}
_DEPENDENCY_SCHEMA: JsonSchema = {
    "description": "A job that must have ended in some way first.",
    "oneOf": [
        _ID_SCHEMA,
        {
            "type": "object",
            "description": "Which, and how.",
            "properties": {"job": _ID_SCHEMA, "when": {"enum": [each.value for each in DependencyWhen]}},
            "additionalProperties": False,
            "required": ["job"],
        },
    ],
}
_INTERVAL_SCHEMA: JsonSchema = {"oneOf": [{"const": "auto"}, {"type": "string", "pattern": "^[1-9][0-9]{0,2}[smh]$"}]}
_ARRAY_SCHEMA: JsonSchema = {"type": "string", "pattern": r"^0-[1-9][0-9]?(%[1-9])?$", "examples": ["0-99%8"]}
_VARIABLE_SCHEMA: JsonSchema = {"type": "string", "pattern": "^[A-Za-z_][A-Za-z0-9_]{0,60}$"}

JobName = Annotated[
    str, Kind(read=job_name, schema={"type": "string", "pattern": f"^[a-z0-9-]{{1,{JOB_NAME_CHARS}}}$"})
]
Variable = Annotated[str, Kind(read=text, schema=_VARIABLE_SCHEMA)]
RunLimit = Annotated[int, Kind(read=run_limit_ms, write=units.duration_text, unit="ms", schema=DURATION_SCHEMA)]
Interval = Annotated[int | None, Kind(read=interval_ms, write=units.duration_text, unit="ms", schema=_INTERVAL_SCHEMA)]
DependencyEntry = Annotated[Dependency, Kind(read=dependency, write=dependency_value, schema=_DEPENDENCY_SCHEMA)]
Array = Annotated[ArraySpec, Kind(read=ranges.array_spec, write=ranges.array_text, schema=_ARRAY_SCHEMA)]


class ResourcesWire(Part, record=Request):
    """What each worker needs."""

    gpus: Annotated[Gpus, Stored("gpu_milli")]
    gpu_type: Annotated[Names, Stored("gpu_types")]
    """The types it accepts, preferred first."""
    cpus: Annotated[Cpus, Stored("cpu_milli")]
    memory: Memory
    disk: Memory
    throughput: dict[Name, PositiveThousandths]
    """Relative speed by GPU type."""


class RoleWire(NamedPart, record=RoleSpec, required=("run",)):
    """One kind of worker."""

    workers: Annotated[Workers, Stored("workers_min", "workers_max"), ALWAYS] = (1, 1)
    resources: Annotated[ResourcesWire, Stored("request")]
    run: Annotated[Command, Spelling(pattern=r"^[^\s\u0000][^\u0000]*$")]
    """The command that each worker runs."""


class ParallelismWire(Part, record=Parallelism):
    """How the model is split."""

    tensor: Annotated[int, Field(ge=1, le=GANG_WORKERS), Spelling(maximum=64)]
    pipeline: Annotated[int, Field(ge=1, le=GANG_WORKERS), Spelling(maximum=64)]


class TopologyWire(Part, record=TopologySpec):
    """Where the gang must (`within`) or would rather (`prefer`) stay."""

    within: Name
    prefer: Name
    relax_after: Duration


STORAGES = ("file", "s3", "gs", "gcs", "az", "abfs", "abfss", "hdfs", "webhdfs", "oci", "oss", "smb", "sftp", "memory")
"""The addresses that checkpoints may be kept at. Most need a package for that storage."""


def checkpoint_path(value: object) -> str:
    """A folder, or an address of storage that is known."""
    path = text(value)
    scheme, is_address, place = path.partition("://")
    if is_address and scheme not in STORAGES:
        raise BadValue(f"{shown(scheme)} is no storage that is known", f"a folder, or one of {', '.join(STORAGES)}://…")
    if is_address and not place.strip("/"):
        raise BadValue(f"{shown(path)} names no place", "such as s3://bucket/run")
    return path


CheckpointPath = Annotated[str, Kind(read=checkpoint_path, schema={"type": "string"})]


class CheckpointWire(Part, record=CheckpointSpec, required=("path",)):
    """How the job saves itself."""

    path: Annotated[CheckpointPath, Spelling(minLength=1, maxLength=500, pattern=NO_NUL), ALWAYS] = ""
    """A folder, relative to `workdir` unless it is absolute, or an address such as `s3://bucket/run`."""
    every: Interval
    keep: Annotated[int, Field(ge=1, le=CHECKPOINTS_KEPT_MAX)]
    grace: Duration


class InteractiveWire(Part, record=Interactive):
    """A terminal that people attach to."""

    idle_timeout: Annotated[RunLimit, ALWAYS] = 30 * 60_000


class RetryWire(Part, record=Retry):
    """Which failures of its own are tried again."""

    limit: Annotated[int, Field(ge=0, le=RETRIES_MAX)]
    on: Annotated[list[Annotated[RetryCause, Field(strict=False)]], ONCE]


class JobWire(RoleWire, record=JobSpec, required=("name",)):
    """A job file.

    Left out: `team` is `default`, `tier` is `standard`, `workers` is 1, and a job without `checkpoint` cannot resume.
    """

    name: Annotated[JobName, ALWAYS] = ""
    team: TeamPathText = DEFAULT_TEAM
    tier: Annotated[Name, Spelling(examples=["standard"])] = DEFAULT_TIER
    priority: Annotated[int, Field(ge=0, le=PRIORITY_MAX)]
    """Inside its tier; higher goes first."""
    roles: Annotated[dict[str, RoleWire], Spelling(propertyNames={"pattern": "^[a-z0-9_-]{1,63}$"})]
    """Instead of `workers`, `resources` and `run`: several kinds of workers by name."""
    launch: Annotated[Launch, Field(strict=False)]
    setup: Command
    """Runs once on each node before the workers start."""
    workdir: Annotated[Text, Spelling(maxLength=101, pattern=r"^/[A-Za-z0-9/_.-]{0,100}$")]
    """An absolute path."""
    interactive: InteractiveWire
    env: Annotated[dict[str, Text | None], Field(max_length=ENTRIES_MAX), Spelling(propertyNames=_VARIABLE_SCHEMA)]
    secrets: Annotated[list[Variable], Field(max_length=ENTRIES_MAX), Spelling(maxItems=20)]
    """Names, never values."""
    parallelism: ParallelismWire
    topology: TopologyWire
    max_duration: RunLimit
    expected_duration: RunLimit
    """A hint that promises never rest on."""
    checkpoint: CheckpointWire
    preemptible: bool
    retry: RetryWire
    depends_on: Annotated[list[DependencyEntry], Field(max_length=ENTRIES_MAX), Spelling(maxItems=20)]
    array: Array
    tags: Annotated[dict[Text, Text], Field(max_length=ENTRIES_MAX)]
    on_straggler: Annotated[Remedy, Field(strict=False)]
    """When a rank stays slower than the others: report it, replace its node, or restart the job."""
    on_hang: Annotated[Remedy, Field(strict=False)]
    """When no rank makes a step any more."""


GivenJob = Annotated[Given, JobWire]
"""A job file of which every key was read. `job_file` makes a job of it."""
