"""A configuration as it is sent, and how it differs from what is in force."""

from typing import Any, Literal

from pydantic import Field

from muster.api.schemas.base import Because, Schema
from muster.formats.rules.rule_merge import ChangedBy


class ConfiguredParts(Because):
    """The tables of `muster.toml` that are rules, and the cluster that it describes, as they are written."""

    teams: dict[str, Any] | None = Field(default=None, examples=[{"nlp": {"guaranteed": {"h100": 64}}}])
    tiers: list[dict[str, Any]] | None = None
    pools: dict[str, Any] | None = None
    policy: dict[str, Any] | None = Field(default=None, examples=[{"min_runtime": "10m"}])
    admission: list[dict[str, Any]] | None = Field(
        default=None,
        examples=[[{"name": "no notebooks", "when": "has(job.interactive)", "deny": "use the other cluster"}]],
    )
    profiles: dict[str, Any] | None = Field(default=None, examples=[{"a100-small": {"resources": {"gpus": 1}}}])
    cluster: dict[str, Any] | str | None = Field(
        default=None, description="Only compared: other nodes need a restart of the server.", examples=["4x8"]
    )


class NewConfiguration(ConfiguredParts):
    """A configuration to put in force."""

    changes: Literal["keep", "drop"] | None = Field(
        default=None,
        description="What happens to changes of run time: keep them, also where the file changed the same setting, or "
        "drop them. Without it, they are kept, and such a conflict is an error.",
    )


class ChangedSetting(Schema):
    """A setting that is not the same in the file, in what was configured last, and in what is in force.

    Null stands for a setting that a source does not have.
    """

    setting: str = Field(examples=["teams.nlp/eval.limit.h100"])
    changed_by: ChangedBy
    configured: Any = None
    now: Any = None
    file: Any = None
    becomes: Any = None


class ConfigurationDiff(Schema):
    """How a configuration differs from what is in force."""

    changes: list[ChangedSetting]
    nodes: list[str] = Field(description="How the nodes differ. They change when the server is started with the file.")
    warnings: list[str] = Field(description="What is doubtful about the quotas that follow.")
