"""What of a team's guarantee others use, so that the team would have to reclaim it.

Where GPUs are free, what a team is guaranteed and does not use is not lent: it can start there at once. So the teams
of one parent lend together what is missing of their unused guarantees among the free GPUs, and never more than is
borrowed. That sum is divided in proportion to the unused guarantees, and the parts add up to it exactly.
"""

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from math import gcd

from muster.model.ids import GpuType, TeamPath
from muster.model.resources import GPU_MILLI
from muster.model.team import ANY_TYPE, Team, ancestors
from muster.views.borrowing import borrowed

Amounts = Mapping[GpuType, int]
"""GPU thousandths by type; `ANY_TYPE` is the sum over all types."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Supply:
    """What is there for the teams of one parent."""

    free: int
    """GPU thousandths on which they could start without a reclaim."""
    lent: int
    """What the parent lends to teams beside it, which comes out of the guarantees of the teams below it."""


def lent(
    teams: Mapping[TeamPath, Team], used: Mapping[TeamPath, Amounts], free: Amounts
) -> dict[TeamPath, dict[GpuType, int]]:
    """What each team lends, by the types that its guarantee names. `used` counts a team with the teams below it."""
    found: dict[TeamPath, dict[GpuType, int]] = {path: {} for path in teams}
    named = sorted({gpu_type for team in teams.values() for gpu_type, _ in team.guaranteed})
    for gpu_type in named:
        lending = _Lending(gpu_type, teams, used)
        lending.divide(TeamPath(""), _Supply(free=free.get(gpu_type, 0), lent=0))
        for path, milli in lending.lent.items():
            found[path][gpu_type] = milli
    return found


class _Lending:
    """What is lent of one type."""

    def __init__(self, gpu_type: GpuType, teams: Mapping[TeamPath, Team], used: Mapping[TeamPath, Amounts]) -> None:
        self._type = gpu_type
        self._teams = teams
        self._used = used
        self._below: dict[str, list[TeamPath]] = {}
        for path in sorted(teams):
            self._below.setdefault(_parent(path, teams), []).append(path)
        self.lent: dict[TeamPath, int] = {}
        """Teams that lend nothing are left out."""

    def divide(self, parent: TeamPath, supply: _Supply) -> None:
        """Find what each team below `parent` lends, and each team below those."""
        siblings = self._below.get(parent, [])
        unused = [self._unused(path) for path in siblings]
        missing = max(0, sum(unused) - supply.free)
        parts = apportioned(min(missing, self._borrowed_below(parent) + supply.lent), unused)
        for_all = max(0, supply.free - sum(unused))
        for path, own, part in zip(siblings, unused, parts, strict=True):
            if part:
                self.lent[path] = part
            self.divide(path, _Supply(free=own - part + for_all, lent=part))

    def _unused(self, path: TeamPath) -> int:
        guaranteed = dict(self._teams[path].guaranteed).get(self._type, 0)
        return max(0, guaranteed - self._used_by(path))

    def _borrowed_below(self, parent: TeamPath) -> int:
        """What the teams below a team borrow, and its own jobs, which have no guarantee of their own."""
        siblings = self._below.get(parent, [])
        own = self._used_by(parent) - sum(map(self._used_by, siblings)) if parent else 0
        return max(0, own) + sum(map(self._borrowed, siblings))

    def _borrowed(self, path: TeamPath) -> int:
        """What a team borrows of the type. A guarantee of any type may be exceeded with GPUs of this one."""
        above = borrowed(self._teams[path], self._used.get(path, {}))
        if self._type in above or self._type in dict(self._teams[path].guaranteed):
            return above.get(self._type, 0)
        return min(above.get(ANY_TYPE, 0), self._used_by(path))

    def _used_by(self, path: TeamPath) -> int:
        return self._used.get(path, {}).get(self._type, 0)


def apportioned(total: int, weights: Sequence[int]) -> list[int]:
    """The total divided in proportion to the weights, by largest remainder; of equal remainders the first counts more.

    No part exceeds its weight when the total does not exceed their sum. Whole GPUs are not divided.
    """
    whole = sum(weights)
    if not total or not whole:
        return [0] * len(weights)
    unit = gcd(GPU_MILLI, total, *weights)
    quotas = [divmod(total // unit * weight, whole) for weight in weights]
    left = total // unit - sum(quotient for quotient, _ in quotas)
    by_remainder = sorted(range(len(quotas)), key=lambda place: (-quotas[place][1], place))
    raised = frozenset(by_remainder[:left])
    return [unit * (quotient + (place in raised)) for place, (quotient, _) in enumerate(quotas)]


def _parent(path: TeamPath, known: Container[TeamPath]) -> str:
    """The nearest team above that is known, or nothing."""
    return next((each for each in ancestors(path)[1:] if each in known), "")
