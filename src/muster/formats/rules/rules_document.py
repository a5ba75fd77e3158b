"""Rules -> the `teams`, `tiers`, `pools` and `policy` parts of a scenario as plain values.

Reading them again gives the same rules.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from muster.formats.text.units import duration_text, plain_number
from muster.model.policy import Policy, Pool, Tier
from muster.model.team import Quota, Team

Part = dict[str, Any]


def tiers_document(tiers: Iterable[Tier]) -> list[Part]:
    """The tiers, most urgent first."""
    return [
        {
            "name": tier.name,
            "preempts": tier.preempts,
            "preemptible": tier.preemptible,
            "max_duration": duration_text(tier.max_duration_ms),
        }
        for tier in tiers
    ]


def pools_document(pools: Iterable[Pool]) -> Part:
    """The pools by name."""
    return {
        pool.name: {
            "tiers": list(pool.tiers),
            "teams": list(pool.teams),
            "spot": pool.spot,
            "price": plain_number(pool.price_milli),
        }
        for pool in pools
    }


def policy_document(policy: Policy) -> Part:
    """The policy with all of its settings."""
    return {
        "order": policy.order.value,
        "packing": policy.packing.value,
        "backfill": policy.backfill,
        "fair_share": policy.fair_share,
        "hold_depth": policy.hold_depth,
        "starvation_limit": duration_text(policy.starvation_limit_ms),
        "ageing": duration_text(policy.ageing_ms),
        "half_life": duration_text(policy.half_life_ms),
        "preemption": policy.preemption,
        "turns": policy.turns,
        "min_runtime": duration_text(policy.min_runtime_ms),
        "preemptions_per_team_hour": policy.preemptions_per_team_hour,
        "restart_cost": duration_text(policy.restart_cost_ms),
        "stop_grace": duration_text(policy.stop_grace_ms),
        "consolidation": policy.consolidation,
        "consolidation_gain": plain_number(policy.consolidation_gain_milli),
        "elastic": policy.elastic,
        "throughput": {gpu_type: plain_number(speed) for gpu_type, speed in policy.throughput},
    }


def teams_document(teams: Sequence[Team]) -> Part:
    """The team tree. A parent that is not among the teams becomes an entry without quotas."""
    root: Part = {}
    for team in teams:
        entry = _entry(root, team.path)
        entry |= {
            "guaranteed": quota_document(team.guaranteed),
            "limit": quota_document(team.limit),
            "weight": plain_number(team.weight),
        } | bounds_document(team)
    return root


def bounds_document(team: Team) -> Part:
    """What a team's jobs may ask for, as far as the team itself says."""
    bounds = {
        "tiers": None if team.tiers is None else list(team.tiers),
        "max_priority": team.max_priority,
        "allow_unpreemptible": team.allow_unpreemptible,
    }
    return {key: value for key, value in bounds.items() if value is not None}


def quota_document(quota: Quota) -> dict[str, int | float]:
    """GPUs by type."""
    return {gpu_type: plain_number(milli) for gpu_type, milli in quota}


def _entry(root: Part, path: str) -> Part:
    """The entry of a team in the tree, made if it is missing."""
    level, entry = root, root
    for name in path.split("/"):
        entry = level.setdefault(name, {})
        level = entry.setdefault("teams", {})
    return entry
