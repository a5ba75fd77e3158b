"""The team tree: its quotas, and what the jobs of a team may ask for."""

from collections.abc import Mapping

from muster.model.ids import GpuType, TeamPath, TierName
from muster.model.records import Record

ANY_TYPE = GpuType("*")
"""In a quota: the sum over all GPU types."""

Quota = tuple[tuple[GpuType, int], ...]
"""GPU thousandths per type, sorted by type."""


class Team(Record, frozen=True, kw_only=True):
    """One team. Its parent is named by its path."""

    path: TeamPath
    guaranteed: Quota = ()
    """What it can always get back; empty means that all it uses is borrowed."""
    limit: Quota = ()
    """The most it may use, guaranteed and borrowed. Types not named are limited only by its ancestors."""
    weight: int = 1000
    """Its weight among its siblings, in thousandths."""
    tiers: tuple[TierName, ...] | None = None
    """The tiers that its jobs may use; None means no bound. A server never leaves it at None."""
    max_priority: int | None = None
    """The highest priority that its jobs may have; None means no bound."""
    allow_unpreemptible: bool | None = None
    """Whether its jobs may be not preemptible. None sets no bound, False forbids it. A server never leaves it at
    None."""


def ancestors(path: TeamPath) -> tuple[TeamPath, ...]:
    """The team itself and everything above it, innermost first."""
    parts = path.split("/")
    return tuple(TeamPath("/".join(parts[:depth])) for depth in range(len(parts), 0, -1))


class Bounds(Record, frozen=True, kw_only=True):
    """What the jobs of a team may ask for, by its own rules and the rules of all teams above it."""

    tiers: tuple[TierName, ...] | None = None
    max_priority: int | None = None
    allow_unpreemptible: bool = True


def bounds_of(path: TeamPath, teams: Mapping[TeamPath, Team]) -> Bounds:
    """The narrowest of what a team and each team above it allow. No team can give more than it has."""
    tiers: tuple[TierName, ...] | None = None
    priorities: list[int] = []
    allows_unpreemptible = True
    for team in (teams[each] for each in ancestors(path) if each in teams):
        if team.tiers is not None:
            tiers = team.tiers if tiers is None else tuple(tier for tier in tiers if tier in team.tiers)
        if team.max_priority is not None:
            priorities.append(team.max_priority)
        allows_unpreemptible = allows_unpreemptible and team.allow_unpreemptible is not False
    return Bounds(tiers=tiers, max_priority=min(priorities, default=None), allow_unpreemptible=allows_unpreemptible)
