"""What a job would use up at most, and what that costs."""

from collections.abc import Collection
from dataclasses import dataclass

from muster.model.ids import PoolName
from muster.model.scenario import Rules
from muster.model.spec import JobSpec

PRICE_MILLI = 1000
"""Price of a GPU hour, in thousandths, where no operator has set one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """GPU time, and what an hour of it costs."""

    gpu_milli_ms: int
    """Thousandths of a GPU times milliseconds."""
    price_milli: int | None
    """Price of a GPU hour, in thousandths; None when no pool has a price of its own."""


def is_priced(rules: Rules) -> bool:
    """Whether an operator has set the price of a pool."""
    return any(pool.price_milli != PRICE_MILLI for pool in rules.pools)


def cost(spec: JobSpec, rules: Rules, pools: Collection[PoolName]) -> Cost:
    """What a job, or an array as a whole, costs in the cheapest of the cluster's pools that it may use."""
    tasks = 1 if spec.array is None else len(spec.array.indices)
    admitting = (
        pool
        for pool in rules.pools
        if pool.name in pools and pool.admits(tier=spec.tier, team=spec.team, can_resume=spec.can_resume)
    )
    cheapest_milli = min((pool.price_milli for pool in admitting), default=PRICE_MILLI)
    return Cost(
        gpu_milli_ms=tasks * spec.gang_gpu_milli * _duration_ms(spec, rules),
        price_milli=cheapest_milli if is_priced(rules) else None,
    )


def _duration_ms(spec: JobSpec, rules: Rules) -> int:
    """How long the job expects to run; if it does not say, how long it may run."""
    limits_ms = {tier.name: tier.max_duration_ms for tier in rules.tiers}
    return spec.expected_duration_ms or spec.max_duration_ms or limits_ms.get(spec.tier, 0)
