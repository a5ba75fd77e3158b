"""The job file as JSON Schema for the OpenAPI document, generated from the code that reads job files."""

from functools import cache
from typing import Any

from muster.answers.jobs import EXAMPLE
from muster.formats.jobs.job_wire import JobWire
from muster.formats.parts.schema import part_schema

NAME = "JobFile"
PLACE: dict[str, Any] = {"x-job-file": True}
"""A placeholder that the OpenAPI document replaces by a reference to this schema."""


@cache
def job_file_schema() -> dict[str, Any]:
    """The schema of a job file, with the common spelling of each value."""
    return {**part_schema(JobWire), "examples": [EXAMPLE]}
