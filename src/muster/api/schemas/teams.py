"""Teams as they are sent, and their quotas."""

from typing import Annotated

from pydantic import Field

from muster.api.schemas.base import REASON_CHARS, STORABLE, Schema

Gpus = Annotated[float, Field(ge=0, le=1e9)]
Amounts = Annotated[
    dict[Annotated[str, Field(min_length=1, max_length=200, pattern=STORABLE)], Gpus],
    Field(max_length=100, description="GPUs by type; `*` is the sum over all types.", examples=[{"h100": 64}]),
]


class Team(Schema):
    """A team, what it was given and what it uses."""

    path: str = Field(examples=["nlp/pretraining"])
    guaranteed: dict[str, float]
    limit: dict[str, float]
    weight: float
    used: dict[str, float] = Field(description="GPUs in use by it and the teams below it, by type; `*` is the sum.")
    borrowed: dict[str, float] = Field(description="What of that is above its guarantee.")
    running: int = Field(description="Jobs of it and the teams below it.")
    waiting: int
    usage_gpu_s: float = Field(description="GPU time that fair share remembers; it fades with the half-life.")


class Quota(Schema):
    """What a team is given."""

    guaranteed: Amounts = Field(default_factory=dict)
    limit: Amounts = Field(default_factory=dict)
    weight: Annotated[float, Field(gt=0, le=1e6)] = 1
    reason: str = Field(
        default="", max_length=REASON_CHARS, pattern=STORABLE, description="What it is for; goes into the audit."
    )
