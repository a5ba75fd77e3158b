"""Tiers, pools and the policy: written as in a scenario file, and read by the same code.

The fields are listed here for the OpenAPI document. `formats.rules.rules` defines what they mean and checks them.
"""

from typing import Annotated, Any

from pydantic import Field, RootModel

from muster.api.schemas.base import Schema
from muster.model.policy import Order, Packing

Duration = Annotated[str, Field(examples=["10m", "7d"], description="Such as 90s, 30m, 12h or 7d.")]


class Tier(Schema):
    """A class of urgency."""

    name: str
    preempts: bool
    preemptible: bool
    max_duration: Duration


class Pool(Schema):
    """A part of the cluster with its own rules for which jobs it admits."""

    tiers: list[str]
    teams: list[str]
    spot: bool
    price: float


class Policy(Schema):
    """How the scheduler decides."""

    order: Order
    packing: Packing
    backfill: bool
    fair_share: bool
    hold_depth: int
    starvation_limit: Duration
    ageing: Duration
    half_life: Duration
    preemption: bool
    turns: bool
    min_runtime: Duration
    preemptions_per_team_hour: int
    restart_cost: Duration
    stop_grace: Duration
    consolidation: bool
    consolidation_gain: float
    elastic: bool
    spares: int
    throughput: dict[str, float]


class NewTiers(RootModel[list[dict[str, Any]]]):
    """All tiers, most urgent first, as in a scenario file."""

    root: list[dict[str, Any]] = Field(examples=[[{"name": "production", "preempts": True}, {"name": "standard"}]])


class NewPools(RootModel[dict[str, dict[str, Any] | None]]):
    """All pools by name, as in a scenario file."""

    root: dict[str, dict[str, Any] | None] = Field(examples=[{"main": {}, "spot": {"spot": True, "price": 0.5}}])


class NewPolicy(RootModel[dict[str, Any]]):
    """The policy, as in a scenario file. Settings that are left out get their defaults."""

    root: dict[str, Any] = Field(examples=[{"order": "fair", "min_runtime": "10m"}])


class Changes(RootModel[dict[str, Any]]):
    """Settings by name, as in a scenario file. What is not named stays as it is; null means the default."""

    root: dict[str, Any] = Field(examples=[{"preempts": True, "max_duration": "12h"}])
