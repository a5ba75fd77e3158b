"""What teams lend adds up to what is borrowed against their guarantees, and is never more than they leave unused."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from math import gcd

from hypothesis import given, settings
from hypothesis import strategies as st

from muster.model.ids import GpuType, TeamPath
from muster.model.resources import GPU_MILLI
from muster.model.team import Team, ancestors
from muster.views.borrowing import borrowed
from muster.views.lending import apportioned, lent

H100 = GpuType("h100")
PATHS = tuple(map(TeamPath, ("a", "a/x", "a/x/deep", "a/y", "b", "b/z", "c", "d")))


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """Teams of a cluster with one kind of GPU, and what is used and free."""

    teams: Mapping[TeamPath, Team]
    used: Mapping[TeamPath, Mapping[GpuType, int]]
    free: int

    def guaranteed(self, path: TeamPath) -> int:
        return dict(self.teams[path].guaranteed).get(H100, 0)

    def unused(self, path: TeamPath) -> int:
        return max(0, self.guaranteed(path) - self.used[path].get(H100, 0))

    def lent(self) -> dict[TeamPath, int]:
        found = lent(self.teams, self.used, {H100: self.free})
        return {path: amounts.get(H100, 0) for path, amounts in found.items()}


@st.composite
def situations(draw: st.DrawFn, paths: tuple[TeamPath, ...] = PATHS) -> Situation:
    """Jobs of any team, whole GPUs and parts of them; a cluster that has room for all of it or more."""
    sizes = st.one_of(st.integers(0, 12).map(lambda count: 1000 * count), st.integers(0, 5000))
    own = {path: draw(sizes) for path in paths}
    below: Counter[TeamPath] = Counter()
    for path, milli in own.items():
        for team in ancestors(path):
            below[team] += milli
    guarantees = {path: draw(st.none() | st.integers(0, 16).map(lambda count: 1000 * count)) for path in paths}
    teams = {
        path: Team(path=path, guaranteed=() if milli is None else ((H100, milli),))
        for path, milli in guarantees.items()
    }
    return Situation(teams=teams, used={path: {H100: below[path]} for path in paths}, free=draw(sizes))


@settings(max_examples=500, deadline=None, derandomize=True)
@given(found=situations())
def test_no_team_lends_more_than_it_leaves_unused(found: Situation) -> None:
    for path, milli in found.lent().items():
        assert 0 <= milli <= found.unused(path)


@settings(max_examples=500, deadline=None, derandomize=True)
@given(found=situations(tuple(path for path in PATHS if "/" not in path)))
def test_what_all_lend_is_what_is_borrowed_against_guarantees(found: Situation) -> None:
    unused = sum(map(found.unused, found.teams))
    taken = sum(borrowed(team, found.used[path]).get(H100, 0) for path, team in found.teams.items())
    assert sum(found.lent().values()) == min(taken, max(0, unused - found.free))


@settings(max_examples=500, deadline=None, derandomize=True)
@given(found=situations())
def test_what_is_neither_used_nor_lent_of_a_guarantee_is_free_for_it(found: Situation) -> None:
    """So long as the cluster has the GPUs that it guarantees, and teams hand on no more than they have."""
    top = [path for path in found.teams if "/" not in path]
    capacity = found.free + sum(found.used[path].get(H100, 0) for path in top)
    children = {path: [each for each in found.teams if ancestors(each)[1:2] == (path,)] for path in found.teams}
    is_covered = sum(map(found.guaranteed, top)) <= capacity and all(
        sum(map(found.guaranteed, below)) <= found.guaranteed(path) for path, below in children.items() if below
    )
    lending = found.lent()
    for siblings in (top, *children.values()) if is_covered else ():
        assert sum(found.unused(path) - lending[path] for path in siblings) <= found.free


@settings(max_examples=500, deadline=None, derandomize=True)
@given(weights=st.lists(st.integers(0, 20_000), max_size=8), part=st.floats(0, 1))
def test_parts_add_up_and_are_within_one_unit_of_their_proportion(weights: list[int], part: float) -> None:
    total = int(part * sum(weights))
    parts = apportioned(total, weights)
    assert sum(parts) == total
    assert all(each <= weight for each, weight in zip(parts, weights, strict=True))
    unit = gcd(GPU_MILLI, total, *weights)
    for each, weight in zip(parts, weights, strict=True):
        assert abs(each * sum(weights) - total * weight) < unit * sum(weights) or weight == each == 0


@settings(max_examples=200, deadline=None, derandomize=True)
@given(found=situations())
def test_the_order_of_teams_does_not_matter(found: Situation) -> None:
    turned = Situation(teams=dict(reversed(list(found.teams.items()))), used=found.used, free=found.free)
    assert turned.lent() == found.lent()
