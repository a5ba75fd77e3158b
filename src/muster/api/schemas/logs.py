"""A part of a log."""

from pydantic import Field

from muster.api.schemas.base import Schema
from muster.model.limits import GANG_WORKERS, LOG_CHUNK_BYTES
from muster.model.node_limits import LOG_READ_BYTES


class LogRange(Schema):
    """A part of what one worker printed."""

    rank: int = Field(default=0, ge=0, lt=GANG_WORKERS)
    attempt: int | None = Field(default=None, ge=1, le=1_000_000, description="The latest when not given.")
    offset: int = Field(default=0, ge=-(2**62), le=2**62, description="Where to begin; negative counts from the end.")
    limit: int = Field(default=LOG_CHUNK_BYTES, ge=1, le=LOG_READ_BYTES, description="How many bytes at most.")
    follow: bool = Field(default=False, description="Go on until the worker is gone.")
