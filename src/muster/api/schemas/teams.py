"""The quota of a team, as it is received."""

from typing import Annotated

from pydantic import Field

from muster.api.schemas.base import REASON_CHARS, STORABLE, Schema
from muster.formats.parts.wire import ID_CHARS
from muster.formats.rules.rules import TIERS_MAX
from muster.model.limits import PRIORITY_MAX

Gpus = Annotated[float, Field(ge=0, le=1e9)]
TypeText = Annotated[str, Field(min_length=1, max_length=200, pattern=STORABLE)]
Amounts = Annotated[
    dict[TypeText, Gpus],
    Field(max_length=100, description="GPUs by type; `*` is the sum over all types.", examples=[{"h100": 64}]),
]
AmountChanges = Annotated[
    dict[TypeText, Gpus | None],
    Field(max_length=100, description="GPUs by type; null takes a type away.", examples=[{"h100": 64, "a100": None}]),
]


TierText = Annotated[str, Field(min_length=1, max_length=ID_CHARS, pattern=STORABLE)]


Weight = Annotated[float, Field(gt=0, le=1e6)]


class TeamBounds(Schema):
    """What the jobs of a team may ask for, and the reason of a change."""

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


class Quota(TeamBounds):
    """The quota of a team, and what its jobs may ask for."""

    guaranteed: Amounts = Field(default_factory=dict)
    limit: Amounts = Field(default_factory=dict)
    weight: Weight = 1


class QuotaChanges(TeamBounds):
    """What is to change of a quota. What is not named stays as it is; a type whose amount is null is taken away."""

    guaranteed: AmountChanges | None = None
    limit: AmountChanges | None = None
    weight: Weight | None = None
