"""What operators ask for when they want nodes for something else."""

from typing import Annotated

from pydantic import AfterValidator, Field

from muster.api.schemas.base import STORABLE, Because, Schema
from muster.formats.parts.wire import ID_CHARS
from muster.formats.text import units
from muster.model.limits import NODES_PER_CLUSTER

_LENGTH = r"^[0-9]{1,6}(ms|s|m|h|d|w)?$"
_NAME = r"^[a-z0-9][a-z0-9._-]{0,62}$"


def _readable(value: str | None) -> str | None:
    if value is not None:
        units.duration_ms(value)
    return value


Length = Annotated[
    str,
    Field(pattern=_LENGTH, max_length=10, examples=["5m"], description="Such as 90s, 5m or 2h."),
    AfterValidator(_readable),
]


class Drain(Because):
    """How a node is set aside."""

    evict: bool = Field(default=False, description="Tell what runs there to save itself and leave.")
    grace: Length | None = Field(
        default=None, description="How long it may take; without it, as long as each job asks."
    )


class ReservationWanted(Schema):
    """Which nodes are set aside, when, and for whom."""

    name: str = Field(pattern=_NAME, examples=["firmware"])
    nodes: list[Annotated[str, Field(min_length=1, max_length=ID_CHARS)]] = Field(
        min_length=1, max_length=NODES_PER_CLUSTER, description="Names, or ranges such as n[1-4]."
    )
    start: str = Field(
        max_length=40, examples=["2026-11-18T20:00:00Z"], description="A time, `now`, or a length of time from now."
    )
    end: str = Field(max_length=40, examples=["4h"], description="A time, or a length of time from the start.")
    team: str = Field(default="", max_length=ID_CHARS, pattern=STORABLE, description="Whose jobs may use them.")
    user: str = Field(default="", max_length=ID_CHARS, pattern=STORABLE, description="Whose jobs may use them.")
    reason: str = Field(default="", max_length=1000, pattern=STORABLE, examples=["new firmware"])
