"""The quota of a team, as it is received."""

from typing import Annotated

from pydantic import Field

from muster.api.schemas.base import REASON_CHARS, STORABLE, Schema
from muster.formats.parts.wire import ID_CHARS
from muster.formats.rules.rules import TIERS_MAX
from muster.model.limits import PRIORITY_MAX

Gpus = Annotated[float, Field(ge=0, le=1e9)]
Amounts = Annotated[
    dict[Annotated[str, Field(min_length=1, max_length=200, pattern=STORABLE)], Gpus],
    Field(max_length=100, description="GPUs by type; `*` is the sum over all types.", examples=[{"h100": 64}]),
]


TierText = Annotated[str, Field(min_length=1, max_length=ID_CHARS, pattern=STORABLE)]


class Quota(Schema):
    """The quota of a team, and what its jobs may ask for."""

    guaranteed: Amounts = Field(default_factory=dict)
    limit: Amounts = Field(default_factory=dict)
    weight: Annotated[float, Field(gt=0, le=1e6)] = 1
    tiers: Annotated[list[TierText], Field(max_length=TIERS_MAX)] | None = Field(
        default=None,
        description="The tiers that its jobs may use. Without it they stay as they are; a new team may use all but the "
        "highest.",
    )
    max_priority: Annotated[int, Field(ge=0, le=PRIORITY_MAX, strict=True)] | None = Field(
        default=None, description="The highest priority that its jobs may have. Without it that stays as it is."
    )
    allow_unpreemptible: Annotated[bool, Field(strict=True)] | None = Field(
        default=None,
        description="Whether its jobs may say that they are not preemptible. Without it that stays as it is; those of "
        "a new team may not.",
    )
    reason: str = Field(
        default="", max_length=REASON_CHARS, pattern=STORABLE, description="What it is for; goes into the audit."
    )
