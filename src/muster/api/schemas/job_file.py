"""The job file as JSON Schema, for the OpenAPI document: generated from what reads job files."""

from functools import cache
from typing import Any

from muster.answers.jobs import EXAMPLE
from muster.formats.jobs.job_wire import JobWire
from muster.formats.parts.schema import part_schema

NAME = "JobFile"
PLACE: dict[str, Any] = {"x-job-file": True}
"""Stands where the document is to refer to this."""


@cache
def job_file_schema() -> dict[str, Any]:
    """What a job file may hold, in the common spelling."""
    return {**part_schema(JobWire), "examples": [EXAMPLE]}
