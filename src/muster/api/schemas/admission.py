"""Admission rules and profiles, written as in `muster.toml`, and rules tried on earlier jobs."""

from typing import Annotated, Any

from pydantic import Field, RootModel

from muster.api.schemas.base import Schema
from muster.api.schemas.jobs import Moment

RuleDocument = dict[str, Any]
ProfileDocuments = dict[str, dict[str, Any]]

EXAMPLE = {"name": "our images", "when": "!has(job.image)", "deny": "name an image"}


class NewAdmission(RootModel[list[RuleDocument]]):
    """All admission rules, in the order in which they are asked."""

    root: list[RuleDocument] = Field(examples=[[EXAMPLE]])


class NewProfiles(RootModel[ProfileDocuments]):
    """All profiles by name, each with keys of a job file."""

    root: ProfileDocuments = Field(examples=[{"a100-small": {"resources": {"gpus": 1, "gpu_type": "a100"}}}])


class RulesToTry(Schema):
    """Admission rules, and the jobs on which they are tried."""

    admission: list[RuleDocument] = Field(examples=[[EXAMPLE]])
    since: Annotated[Moment, Field(description="Jobs that were submitted then or later.")]
