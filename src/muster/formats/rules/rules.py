"""The `pools`, `tiers` and `policy` parts of a scenario <-> what an operator configures.

Each key is a line here, with the name of its field in the record. A document has all keys, and reading it again gives
the same rules.
"""

from collections.abc import Iterable
from typing import Annotated, Any

from pydantic import Field

from muster.formats.jobs.job_values import RunLimit
from muster.formats.parts.kinds import (
    Duration,
    Name,
    Names,
    PositiveDuration,
    PositiveThousandths,
    TeamPathText,
    Thousandths,
)
from muster.formats.parts.parts import ONCE, NamedPart, Part
from muster.formats.text.document import Problems
from muster.formats.text.ranges import is_name
from muster.formats.text.units import shown
from muster.formats.text.yaml_text import Loc
from muster.model.policy import DEFAULT_TIERS, Order, Packing, Policy, Pool, Tier

COUNT_MAX = 1_000_000
"""The highest `hold_depth`, `preemptions_per_team_hour` and `spares`: more than there are jobs or nodes."""
TIERS_MAX = 64

Count = Annotated[int, Field(ge=0, le=COUNT_MAX)]


class PoolWire(NamedPart, record=Pool):
    """A part of the cluster with its own rules of entry."""

    tiers: Names
    teams: Annotated[list[TeamPathText], ONCE]
    spot: bool
    price: Thousandths
    """Relative price of a GPU hour. Of equal places the cheaper is taken."""


class TierWire(Part, record=Tier):
    """A class of urgency."""

    name: Name
    """What job files call it. Each tier once, the most urgent first."""
    preempts: bool
    preemptible: bool
    """Whether its jobs may be stopped for tiers above."""
    max_duration: RunLimit


class PolicyWire(Part, record=Policy):
    """How the scheduler decides. Settings that are left out are as in the live system."""

    order: Annotated[Order, Field(strict=False)]
    """Which job of a tier goes first."""
    packing: Annotated[Packing, Field(strict=False)]
    """Where small jobs go, so that whole nodes stay free."""
    backfill: bool
    fair_share: bool
    hold_depth: Count
    starvation_limit: Duration
    ageing: PositiveDuration
    half_life: PositiveDuration
    preemption: bool
    """Whether jobs are stopped for more urgent ones, and to give teams what they are guaranteed."""
    turns: bool
    """A job that can resume leaves for one of its tier that has had less GPU time, or is older and has had as much."""
    min_runtime: Duration
    preemptions_per_team_hour: Count
    restart_cost: Duration
    stop_grace: Duration
    consolidation: bool
    consolidation_gain: Thousandths
    """A move must save this many times what it costs."""
    elastic: bool
    """Whether elastic jobs shrink and grow."""
    spares: Count
    throughput: dict[Name, PositiveThousandths]
    """Relative speed by GPU type, for jobs that do not state it. Types not named have 1."""


def policy_part(value: object, problems: Problems, at: Loc) -> Policy:
    """The policy. When something is wrong with it, that is noted."""
    return PolicyWire.read(value, problems, at) or Policy()


def policy_document(policy: Policy) -> dict[str, Any]:
    """The policy with all of its settings."""
    return PolicyWire.complete(policy)


def tiers_part(value: object, problems: Problems, at: Loc) -> tuple[Tier, ...]:
    """The tiers, most urgent first."""
    if not isinstance(value, list):
        problems.add(at, f"must be a list of tiers, most urgent first, not {shown(value)}")
        return DEFAULT_TIERS
    if not 1 <= len(value) <= TIERS_MAX:
        problems.add(at, f"has {len(value)} tiers", f"1 to {TIERS_MAX}, or leave it out for the usual ones")
        return DEFAULT_TIERS
    tiers: dict[str, Tier] = {}
    for place, each in enumerate(value):
        tier: Tier | None = TierWire.read(each, problems, (*at, place))
        if tier is not None and tier.name in tiers:
            problems.add((*at, place, "name"), f"tier {tier.name!r} is given twice")
        elif tier is not None:
            tiers[tier.name] = tier
    return tuple(tiers.values())


def tiers_document(tiers: Iterable[Tier]) -> list[dict[str, Any]]:
    """The tiers, most urgent first."""
    return [TierWire.complete(tier) for tier in tiers]


def pools_part(value: object, problems: Problems, at: Loc) -> tuple[Pool, ...]:
    """The pools by name."""
    if not isinstance(value, dict):
        problems.add(at, f"must be a mapping of pool names to pools, not {shown(value)}")
        return ()
    found = (_pool(name, each, problems, (*at, name)) for name, each in value.items())
    return tuple(pool for pool in found if pool is not None)


def pools_document(pools: Iterable[Pool]) -> dict[str, Any]:
    """The pools by name."""
    return {pool.name: PoolWire.complete(pool) for pool in pools}


def _pool(name: str, value: object, problems: Problems, at: Loc) -> Pool | None:
    if not is_name(name):
        problems.add(at, f"{shown(name)} is not a name for a pool", "no blanks, commas, slashes or brackets")
    given = PoolWire.read({} if value is None else value, problems, at)
    return None if given is None else PoolWire.named(name, given)
