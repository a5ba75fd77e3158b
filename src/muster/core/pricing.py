"""What a job would use up at most, and what that costs."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from muster.model.ids import GpuType, NodeName, PoolName
from muster.model.job import Placement
from muster.model.node import Node
from muster.model.resources import Request
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


def cost(spec: JobSpec, rules: Rules, nodes: Mapping[NodeName, Node], start: Placement = ()) -> Cost:
    """What a job, or an array as a whole, costs where it would start now.

    Of a job that would not start now, in the cheapest pool that it may use and that has GPUs of its types.
    """
    tasks = 1 if spec.array is None else len(spec.array.indices)
    return Cost(
        gpu_milli_ms=tasks * spec.gang_gpu_milli * _duration_ms(spec, rules),
        price_milli=_price_milli(spec, rules, nodes, start) if is_priced(rules) else None,
    )


def _price_milli(spec: JobSpec, rules: Rules, nodes: Mapping[NodeName, Node], start: Placement) -> int:
    prices = {pool.name: pool.price_milli for pool in rules.pools}
    if gpu_milli := sum(each.gpu_milli for each in start):
        paid = sum(prices.get(nodes[each.node].pool, PRICE_MILLI) * each.gpu_milli for each in start)
        return paid // gpu_milli
    known = frozenset((node.pool, node.gpu_type) for node in nodes.values())
    admitting = (
        pool.price_milli
        for pool in rules.pools
        if pool.admits(tier=spec.tier, team=spec.team, can_resume=spec.can_resume)
        and all(_has_gpus_for(role.request, pool.name, known) for role in spec.roles)
    )
    return min(admitting, default=PRICE_MILLI)


def _has_gpus_for(request: Request, pool: PoolName, known: Collection[tuple[PoolName, GpuType]]) -> bool:
    """Whether a pool has nodes of a type that is asked for; of any type when none is."""
    types = [gpu_type for each, gpu_type in known if each == pool]
    return any(not request.gpu_types or gpu_type in request.gpu_types for gpu_type in types)


def _duration_ms(spec: JobSpec, rules: Rules) -> int:
    """How long the job expects to run; if it does not say, how long it may run."""
    limits_ms = {tier.name: tier.max_duration_ms for tier in rules.tiers}
    return spec.expected_duration_ms or spec.max_duration_ms or limits_ms.get(spec.tier, 0)
