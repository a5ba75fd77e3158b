"""Submissions, changes of jobs, and filters for lists of jobs."""

from typing import Annotated, Any, Literal

from pydantic import Field, WithJsonSchema, model_validator

from muster.answers.jobs import EXAMPLE
from muster.api.schemas import job_file
from muster.api.schemas.base import REASON_CHARS, STORABLE, Paging, Schema
from muster.formats.jobs.job_wire import ENTRIES_MAX
from muster.formats.parts.wire import ID_CHARS
from muster.model.client_limits import JOB_TEXT_CHARS
from muster.model.job import JobState
from muster.model.limits import MAX_DURATION_MS, PRIORITY_MAX

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


class Changes(Schema):
    """Changes to a job. What is left out stays as it is."""

    priority: int | None = Field(default=None, ge=0, le=PRIORITY_MAX)
    tier: str | None = Field(default=None, min_length=1, max_length=ID_CHARS, pattern=STORABLE)
    max_duration_s: float | None = Field(default=None, gt=0, le=MAX_DURATION_MS / 1000)
    tags: Tags | None = Field(default=None, description="All of them: those that are not named are gone.")
    reason: str = Field(
        default="", max_length=REASON_CHARS, pattern=STORABLE, description="What it is for; goes into the audit."
    )


class JobFilters(Paging):
    """Which jobs to list: those that match all given filters."""

    state: list[JobState | Literal["active", "ended"]] = Field(
        default_factory=list, max_length=20, description="Any of these; `active` has not ended."
    )
    team: str | None = Field(default=None, max_length=ID_CHARS, description="The team and all below it.")
    user: str | None = Field(default=None, max_length=ID_CHARS)
    name: str | None = Field(default=None, max_length=ID_CHARS)
    tier: str | None = Field(default=None, max_length=ID_CHARS)
    array: str | None = Field(default=None, max_length=ID_CHARS, description="The tasks of this array, by index.")
