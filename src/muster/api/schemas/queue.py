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
    preempts: bool = Field(description="Whether its jobs may take GPUs from lower tiers.")


class GpuCount(Schema):
    """GPUs of one type."""

    total: int = Field(description="All that there are, in service or not, as `gpu_s` of the history counts them.")
    used: float = Field(description="Those that jobs hold, also on nodes that are being drained.")


class Queue(Schema):
    """Totals of running and waiting jobs and of GPUs."""

    running: int
    waiting: int
    oldest: Time | None = Field(description="When the job was submitted that has waited longest.")
    tiers: dict[str, TierCrowd] = Field(description="Most urgent first.")
    teams: dict[str, Crowd] = Field(description="Each without the teams below it.")
    gpus: dict[str, GpuCount] = Field(description="By type.")
    nodes: dict[str, int] = Field(description="How many nodes are in each state that at least one is in.")
    bad_gpus: int = Field(description="GPUs that are out of service on nodes that are ready.")
