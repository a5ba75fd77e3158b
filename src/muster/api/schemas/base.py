"""What all schemas have in common."""

from typing import Annotated, Generic, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from muster.model.limits import PAGE_ITEMS, PAGE_ITEMS_MAX

T = TypeVar("T")

CURSOR_CHARS = 300
REASON_CHARS = 1000

STORABLE = r"^[^\u0000]*$"
"""Free text that a database can store. Half a surrogate pair, which it cannot store, fails every pattern."""


class Schema(BaseModel):
    """Base of all schemas: unknown fields are refused, and values cannot be changed."""

    model_config = ConfigDict(extra="forbid", frozen=True)


Time = Annotated[
    str, Field(json_schema_extra={"format": "date-time"}, examples=["2026-01-01T00:00:00Z"], description="In UTC.")
]


class Page(Schema, Generic[T]):
    """A part of a list."""

    model_config = ConfigDict(extra="forbid", frozen=True, json_schema_extra={"description": "A part of a list."})

    items: list[T]
    next: str | None = Field(description="Hand this in as `cursor` for the next part; null when this was the last.")


class Paging(Schema):
    """Which part of a list."""

    limit: int = Field(default=PAGE_ITEMS, ge=1, le=PAGE_ITEMS_MAX, description="How many at most.")
    cursor: str | None = Field(
        default=None,
        max_length=CURSOR_CHARS,
        pattern=r"^[A-Za-z0-9_-]+$",
        description="The `next` of the part before.",
    )


class Because(Schema):
    """The reason for a change; it is written to the audit."""

    reason: str = Field(default="", max_length=REASON_CHARS, pattern=STORABLE, examples=["the learning rate was wrong"])
