"""Submissions, changes of jobs, and filters for lists of jobs."""

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import AwareDatetime, BeforeValidator, Field, StrictBool, WithJsonSchema, model_validator

from muster.answers.jobs import EXAMPLE
from muster.api.rendering.times import moment_ms
from muster.api.schemas import job_file
from muster.api.schemas.base import REASON_CHARS, STORABLE, Because, Paging, Schema
from muster.formats.jobs.job_wire import ENTRIES_MAX
from muster.formats.parts.wire import ID_CHARS
from muster.model.client_limits import BRIEF_JOBS_MAX, JOB_TEXT_CHARS, JOBS_NAMED
from muster.model.job import JobState
from muster.model.limits import MAX_DURATION_MS, PAGE_ITEMS, PAGE_ITEMS_MAX, PRIORITY_MAX


def _written_out(value: object) -> object:
    """Refuse a bare number, which would be read as seconds since 1970."""
    if not isinstance(value, datetime) and not (isinstance(value, str) and "T" in value.upper()):
        raise ValueError("give a date and a time with its zone, such as 2026-01-01T00:00:00Z")
    return value


Moment = Annotated[AwareDatetime, BeforeValidator(_written_out)]
JobFile = Annotated[dict[str, Any], WithJsonSchema(job_file.PLACE)]
Tag = Annotated[str, Field(max_length=1000, pattern=STORABLE)]
Tags = Annotated[dict[Tag, Tag], Field(max_length=ENTRIES_MAX)]


class Submission(Schema):
    """A job file, as an object or as text."""

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


class SignalToSend(Because):
    """A signal for the processes of a job."""

    name: str = Field(pattern=r"^(HUP|INT|QUIT|USR1|USR2|ALRM|TERM|CONT|STOP|TSTP|WINCH)$", examples=["USR1"])
    """Without `SIG`."""
    script_only: StrictBool = False
    """Only for the shell of a batch script, and not for its steps."""


class Changes(Schema):
    """Changes to a job. What is left out stays as it is."""

    priority: int | None = Field(default=None, ge=0, le=PRIORITY_MAX)
    tier: str | None = Field(default=None, min_length=1, max_length=ID_CHARS, pattern=STORABLE)
    max_duration_s: float | None = Field(default=None, gt=0, le=MAX_DURATION_MS / 1000)
    tags: Tags | None = Field(default=None, description="All of them: those that are not named are gone.")
    reason: str = Field(
        default="", max_length=REASON_CHARS, pattern=STORABLE, description="What it is for; goes into the audit."
    )


class StartFilters(Paging):
    """Which waiting jobs to list: those that match all given filters."""

    team: str | None = Field(default=None, max_length=ID_CHARS, description="The team and all below it.")
    user: str | None = Field(default=None, max_length=ID_CHARS)
    name: str | None = Field(default=None, max_length=ID_CHARS)
    tier: str | None = Field(default=None, max_length=ID_CHARS)
    array: str | None = Field(default=None, max_length=ID_CHARS, description="The tasks of this array, by index.")
    since: Moment | None = Field(default=None, description="Submitted then or later.")
    until: Moment | None = Field(default=None, description="Submitted before then.")

    @property
    def since_ms(self) -> int | None:
        """`since` as the engine counts time."""
        return None if self.since is None else moment_ms(self.since)

    @property
    def until_ms(self) -> int | None:
        """`until` as the engine counts time."""
        return None if self.until is None else moment_ms(self.until)


class JobFilters(StartFilters):
    """Which jobs to list: those that match all given filters."""

    state: list[JobState | Literal["active", "ended"]] = Field(
        default_factory=list, max_length=20, description="Any of these; `active` has not ended."
    )
    id: list[Annotated[str, Field(min_length=1, max_length=ID_CHARS)]] = Field(
        default_factory=list, max_length=JOBS_NAMED, description="These jobs, in this order, as far as there are any."
    )
    brief: bool = Field(default=False, description="Without the job files: `spec` is empty.")
    limit: int = Field(
        default=PAGE_ITEMS,
        ge=1,
        le=BRIEF_JOBS_MAX,
        description=f"How many at most; more than {PAGE_ITEMS_MAX} only with `brief`.",
    )

    @model_validator(mode="after")
    def _few_files(self) -> "JobFilters":
        if self.limit > PAGE_ITEMS_MAX and not self.brief:
            raise ValueError(f"limit: at most {PAGE_ITEMS_MAX} without `brief`")
        if self.id and self.array is not None:
            raise ValueError("give either `id` or `array`")
        return self
