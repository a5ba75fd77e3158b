"""The team tree: what is used, guaranteed, limited and borrowed, and how fair share remembers."""

import pytest

from muster.core.cluster.gang import Demand
from muster.core.order.quota import Ledger
from muster.model.ids import GpuType, TeamPath
from muster.model.policy import DAY_MS, HOUR_MS
from muster.model.team import ANY_TYPE, Team
from tests.builders import NOW_MS, a_team
from tests.property.held import held

A, X, Y, B = TeamPath("a"), TeamPath("a/x"), TeamPath("a/y"), TeamPath("b")


def gpus(count: int, kind: str = "h100") -> Demand:
    return tuple(sorted(((GpuType(kind), count * 1000), (ANY_TYPE, count * 1000))))


def a_ledger(*teams: Team, half_life_ms: int = 7 * DAY_MS) -> Ledger:
    return Ledger(teams, half_life_ms)


def test_what_a_team_uses_counts_for_everything_above_it() -> None:
    ledger = a_ledger()
    ledger.charge(X, gpus(3))
    ledger.charge(Y, gpus(2, "a100"))
    assert [ledger.used_milli(team) for team in (X, Y, A, B)] == [3000, 2000, 5000, 0]
    assert ledger.used_milli(A, GpuType("a100")) == 2000
    ledger.charge(X, gpus(3), sign=-1)
    assert ledger.used_milli(A) == 2000


def test_a_fork_does_not_charge_its_origin() -> None:
    ledger = a_ledger()
    fork = ledger.fork()
    fork.charge(A, gpus(8))
    assert (fork.used_milli(A), ledger.used_milli(A)) == (8000, 0)


def test_the_innermost_limit_that_would_break_is_named() -> None:
    ledger = a_ledger(a_team("a", limit={"*": 8}), a_team("a/x", limit={"h100": 4}))
    assert ledger.breach(X, gpus(4)) is None
    breach = ledger.breach(X, gpus(5))
    assert breach is not None
    assert (breach.team, breach.gpu_type, breach.limit_milli, breach.wanted_milli) == ("a/x", "h100", 4000, 5000)


def test_siblings_share_the_limit_above_them() -> None:
    ledger = a_ledger(a_team("a", limit={"*": 8}))
    ledger.charge(Y, gpus(6))
    breach = ledger.breach(X, gpus(3))
    assert breach is not None
    assert (breach.team, breach.used_milli) == ("a", 6000)


def test_a_limit_of_one_type_does_not_limit_another() -> None:
    assert a_ledger(a_team("a", limit={"h100": 1})).breach(A, gpus(8, "a100")) is None


def test_a_team_that_was_not_declared_is_not_limited_and_guaranteed_nothing() -> None:
    ledger = a_ledger()
    assert ledger.breach(A, gpus(1_000_000)) is None
    assert not ledger.within_guarantee(A, gpus(1))
    assert ledger.is_borrowing(A, gpus(1))


def test_a_team_is_over_its_limit_when_that_was_lowered() -> None:
    ledger = a_ledger(a_team("a", limit={"*": 4}))
    ledger.charge(X, gpus(4))
    assert (ledger.is_over_limit(X), ledger.over_limit()) == (False, ())
    ledger.charge(X, gpus(1))
    assert (ledger.is_over_limit(X), ledger.over_limit()) == (True, (A,))


@pytest.mark.parametrize(
    ("guaranteed", "demand", "inside"),
    [
        ({"*": 8}, gpus(4), True),
        ({"*": 8}, gpus(5), False),
        ({"h100": 8}, gpus(4), True),
        ({"h100": 8}, gpus(4, "a100"), False),
        ({"h100": 8, "a100": 2}, gpus(2, "a100"), True),
        ({"*": 12, "h100": 6}, gpus(4), False),
    ],
)
def test_a_guarantee_covers_what_it_names(guaranteed: dict[str, int], demand: Demand, inside: bool) -> None:
    ledger = a_ledger(a_team("a", guaranteed=guaranteed))
    ledger.charge(A, gpus(4))
    assert ledger.within_guarantee(A, demand) is inside


def test_a_team_borrows_what_it_uses_beyond_its_guarantee() -> None:
    ledger = a_ledger(a_team("a", guaranteed={"h100": 4}))
    ledger.charge(A, gpus(4))
    assert not ledger.is_borrowing(A, gpus(1))
    ledger.charge(A, gpus(1))
    assert ledger.is_borrowing(A, gpus(1))


def test_two_teams_part_where_their_paths_do() -> None:
    ledger = a_ledger()
    assert ledger.branches(X, Y) == (X, Y)
    assert ledger.branches(X, B) == (A, B)
    assert ledger.branches(X, X) is None


def test_a_team_and_its_sub_team_part_below_the_outer_one() -> None:
    assert a_ledger().branches(A, X) == (TeamPath("a/."), X)


def test_the_share_of_a_team_is_what_it_uses_over_its_weight() -> None:
    ledger = a_ledger(a_team("a", weight=2), a_team("b", weight=1))
    ledger.charge(A, gpus(8))
    ledger.charge(B, gpus(8))
    assert 2 * ledger.share(A, NOW_MS) == ledger.share(B, NOW_MS) > 0


def test_what_was_used_is_remembered_and_halved_in_every_half_life() -> None:
    ledger = a_ledger(half_life_ms=DAY_MS)
    ledger.remember(X, 1024 * HOUR_MS, NOW_MS)
    now, later = ledger.share(A, NOW_MS), ledger.share(A, NOW_MS + DAY_MS)
    assert abs(now - 2 * later) <= 2 * 10**6
    assert ledger.share(X, NOW_MS) == now
    assert ledger.remembered(NOW_MS + 2 * DAY_MS) == ((X, 256 * HOUR_MS),)


def test_steady_use_counts_for_as_much_in_the_past_as_now() -> None:
    """One GPU for very long is remembered as one GPU on average."""
    ledger = a_ledger(half_life_ms=DAY_MS)
    for day in range(40):
        for hour in range(24):
            ledger.remember(A, HOUR_MS, day * DAY_MS + hour * HOUR_MS)
    average_milli = ledger.share(A, 40 * DAY_MS) // 1_000_000
    assert 950 <= average_milli <= 1050


def test_what_is_remembered_at_different_times_is_on_one_scale() -> None:
    ledger = a_ledger(half_life_ms=DAY_MS)
    ledger.remember(A, 8 * HOUR_MS, NOW_MS)
    ledger.remember(B, 4 * HOUR_MS, NOW_MS + DAY_MS)
    assert dict(ledger.remembered(NOW_MS + DAY_MS)) == {A: 4 * HOUR_MS, B: 4 * HOUR_MS}


def test_asking_which_teams_are_above_another_changes_nothing_that_is_counted() -> None:
    ledger = Ledger((), 1)
    before = held(ledger)
    assert ledger.chain(TeamPath("a/b"))[1:] == ("a/b", "a")
    assert held(ledger) == before
