"""The health of the control plane."""

from typing import Literal

from pydantic import Field

from muster.api.schemas.base import Schema


class Health(Schema):
    """Whether the control plane works."""

    status: Literal["ok", "degraded"]
    version: str = Field(description="Of Muster.", examples=["0.1.0"])
    reason: str | None = Field(description="What is wrong, in a few words; the server's log says more.")
    role: Literal["leader", "standby"] = Field(
        description="A standby answers reads, and passes everything else on to the leader."
    )
    leader: str | None = Field(description="The address of the leader, where a standby knows it.")
