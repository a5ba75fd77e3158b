"""What may be asked of a simulation."""

from typing import Annotated, Any, Literal

from pydantic import Field

from muster.api.schemas.base import STORABLE, Schema
from muster.formats.parts.wire import ID_CHARS
from muster.model.client_limits import WHAT_IF_SINCE_S
from muster.model.limits import NODES_PER_CLUSTER

Name = Annotated[str, Field(min_length=1, max_length=ID_CHARS, pattern=STORABLE)]


class NewWhatIf(Schema):
    """A question: the same jobs as today, with something else."""

    origin: Literal["history", "present"] = Field(
        default="history", description="Jobs that have ended, or those that run and wait now."
    )
    since_s: float = Field(
        default=7 * 86_400, gt=0, le=WHAT_IF_SINCE_S, description="How much of the history, counted from now."
    )
    policy: Name | None = Field(default=None, description="A policy by name; without it, the present one.")
    settings: dict[Name, Any] = Field(
        default_factory=dict, max_length=100, description="Settings of the policy; what is not named stays."
    )
    teams: dict[Name, dict[Name, Any]] = Field(
        default_factory=dict,
        max_length=1000,
        description="Quotas and weights by team; what is not named stays, and null takes an amount away.",
        examples=[{"nlp": {"guaranteed": {"*": 16}, "weight": 2}}],
    )
    nodes: dict[Name, Annotated[int, Field(ge=0, le=NODES_PER_CLUSTER)]] = Field(
        default_factory=dict,
        max_length=1000,
        description="How many nodes there are of the kind of a node.",
        examples=[{"n1": 6}],
    )
