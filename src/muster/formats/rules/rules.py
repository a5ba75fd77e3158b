"""The `pools`, `tiers` and `policy` parts of a scenario: what an operator configures."""

from typing import Annotated

from pydantic import Field

from muster.formats.jobs.job_wire import RunLimit
from muster.formats.parts.kinds import (
    Duration,
    Name,
    Names,
    PositiveDuration,
    PositiveThousandths,
    TeamPathText,
    Thousandths,
)
from muster.formats.parts.wire import Wire, read_part
from muster.formats.text.document import Problems
from muster.formats.text.ranges import is_name
from muster.formats.text.units import shown
from muster.formats.text.yaml_text import Loc
from muster.model.ids import GpuType, PoolName, TeamPath, TierName
from muster.model.policy import DEFAULT_TIERS, Order, Packing, Policy, Pool, Tier

COUNT_MAX = 1_000_000
"""The highest `hold_depth` and `preemptions_per_team_hour`: more than there are jobs."""
TIERS_MAX = 64

_DEFAULTS = Policy()

Count = Annotated[int, Field(ge=0, le=COUNT_MAX)]


class PoolWire(Wire):
    """A part of the cluster with its own rules of entry."""

    tiers: Names = ()
    teams: list[TeamPathText] = Field(default_factory=list)
    spot: bool = False
    price: Thousandths = 1000


class TierWire(Wire):
    """A class of urgency."""

    name: Name
    preempts: bool = False
    preemptible: bool = True
    max_duration: RunLimit = Tier(name=TierName("")).max_duration_ms


class PolicyWire(Wire):
    """How the scheduler decides."""

    order: Annotated[Order, Field(strict=False)] = _DEFAULTS.order
    packing: Annotated[Packing, Field(strict=False)] = _DEFAULTS.packing
    backfill: bool = _DEFAULTS.backfill
    fair_share: bool = _DEFAULTS.fair_share
    hold_depth: Count = _DEFAULTS.hold_depth
    starvation_limit: Duration = _DEFAULTS.starvation_limit_ms
    ageing: PositiveDuration = _DEFAULTS.ageing_ms
    half_life: PositiveDuration = _DEFAULTS.half_life_ms
    preemption: bool = _DEFAULTS.preemption
    turns: bool = _DEFAULTS.turns
    min_runtime: Duration = _DEFAULTS.min_runtime_ms
    preemptions_per_team_hour: Count = _DEFAULTS.preemptions_per_team_hour
    restart_cost: Duration = _DEFAULTS.restart_cost_ms
    stop_grace: Duration = _DEFAULTS.stop_grace_ms
    consolidation: bool = _DEFAULTS.consolidation
    consolidation_gain: Thousandths = _DEFAULTS.consolidation_gain_milli
    elastic: bool = _DEFAULTS.elastic
    throughput: dict[Name, PositiveThousandths] = Field(default_factory=dict)


def policy_part(value: object, problems: Problems, at: Loc) -> Policy:
    """The policy. Settings that are left out are as in the live system."""
    wire = read_part(PolicyWire, value, problems, at)
    if wire is None:
        return _DEFAULTS
    return Policy(
        order=wire.order,
        packing=wire.packing,
        backfill=wire.backfill,
        fair_share=wire.fair_share,
        hold_depth=wire.hold_depth,
        starvation_limit_ms=wire.starvation_limit,
        ageing_ms=wire.ageing,
        half_life_ms=wire.half_life,
        preemption=wire.preemption,
        turns=wire.turns,
        min_runtime_ms=wire.min_runtime,
        preemptions_per_team_hour=wire.preemptions_per_team_hour,
        restart_cost_ms=wire.restart_cost,
        stop_grace_ms=wire.stop_grace,
        consolidation=wire.consolidation,
        consolidation_gain_milli=wire.consolidation_gain,
        elastic=wire.elastic,
        throughput=tuple((GpuType(each), speed) for each, speed in sorted(wire.throughput.items())),
    )


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
        wire = read_part(TierWire, each, problems, (*at, place))
        if wire is not None and wire.name in tiers:
            problems.add((*at, place, "name"), f"tier {wire.name!r} is given twice")
        elif wire is not None:
            tiers[wire.name] = _tier(wire)
    return tuple(tiers.values())


def pools_part(value: object, problems: Problems, at: Loc) -> tuple[Pool, ...]:
    """The pools by name."""
    if not isinstance(value, dict):
        problems.add(at, f"must be a mapping of pool names to pools, not {shown(value)}")
        return ()
    found = (_pool(name, each, problems, (*at, name)) for name, each in value.items())
    return tuple(pool for pool in found if pool is not None)


def _tier(wire: TierWire) -> Tier:
    return Tier(
        name=TierName(wire.name),
        preempts=wire.preempts,
        preemptible=wire.preemptible,
        max_duration_ms=wire.max_duration,
    )


def _pool(name: str, value: object, problems: Problems, at: Loc) -> Pool | None:
    if not is_name(name):
        problems.add(at, f"{shown(name)} is not a name for a pool", "no blanks, commas, slashes or brackets")
    wire = read_part(PoolWire, {} if value is None else value, problems, at)
    if wire is None:
        return None
    return Pool(
        name=PoolName(name),
        tiers=tuple(TierName(tier) for tier in wire.tiers),
        teams=tuple(TeamPath(team) for team in dict.fromkeys(wire.teams)),
        spot=wire.spot,
        price_milli=wire.price,
    )
