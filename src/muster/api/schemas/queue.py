"""The queue as a whole."""

from pydantic import Field

from muster.api.schemas.base import Schema, Time


class Crowd(Schema):
    """How many jobs run and wait."""

    running: int
    waiting: int


class TierCrowd(Crowd):
    """How many jobs of one tier run and wait."""

    oldest: Time | None = Field(description="When the job was submitted that has waited longest.")


class GpuCount(Schema):
    """GPUs of one type."""

    total: int
    used: float


class Queue(Schema):
    """Totals of running and waiting jobs and of GPUs."""

    running: int
    waiting: int
    oldest: Time | None = Field(description="When the job was submitted that has waited longest.")
    tiers: dict[str, TierCrowd] = Field(description="Most urgent first.")
    teams: dict[str, Crowd] = Field(description="Each without the teams below it.")
    gpus: dict[str, GpuCount] = Field(description="By type.")
