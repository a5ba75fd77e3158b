"""The team tree and its quotas."""

from muster.model.ids import GpuType, TeamPath
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
    """The most it may use, its own and borrowed; types not named are capped only by its ancestors."""
    weight: int = 1000
    """Its part among its siblings, in thousandths."""


def ancestors(path: TeamPath) -> tuple[TeamPath, ...]:
    """The team itself and everything above it, innermost first."""
    parts = path.split("/")
    return tuple(TeamPath("/".join(parts[:depth])) for depth in range(len(parts), 0, -1))
