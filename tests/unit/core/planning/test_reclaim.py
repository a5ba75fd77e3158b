"""What a team lent, it takes back: from those who borrow, and from nobody else."""

from muster.model.ids import TierName
from muster.model.policy import Tier
from muster.model.scenario import Scenario
from muster.model.team import Team
from tests.builders import a_job, a_scenario, a_team, flat, runs, waits
from tests.unit.core.outcomes import evicted, started

ONE_TIER = (Tier(name=TierName("standard")),)
LENDING = [a_team("a", guaranteed={"*": 8}), a_team("b", guaranteed={"*": 8})]


def borrowed(*, own_gpus: int = 8, teams: list[Team] | None = None, tier: str = "standard") -> Scenario:
    """Team b fills both nodes, half of that borrowed; team a wants its guarantee back."""
    return a_scenario(
        flat(2),
        teams=teams or LENDING,
        tiers=ONE_TIER,
        running=[runs(f"b{at}", a_job(gpus=8, team="b", tier=tier), [(f"n{at}", range(8))]) for at in (1, 2)],
        waiting=[waits("w", a_job(gpus=own_gpus, team="a", tier=tier))],
    )


def test_idle_guarantees_are_lent() -> None:
    waiting = [waits(f"b{at}", a_job(gpus=8, team="b")) for at in (1, 2)]
    assert len(started(a_scenario(flat(2), teams=LENDING, waiting=waiting))) == 2


def test_a_team_inside_its_guarantee_takes_borrowed_capacity_back() -> None:
    ((_, preemptor, why),) = evicted(borrowed())
    assert (preemptor, why) == ("w", "reclaim")


def test_a_team_that_would_borrow_itself_takes_nothing_back() -> None:
    assert evicted(borrowed(teams=[a_team("a", guaranteed={"*": 4}), a_team("b", guaranteed={"*": 8})])) == []


def test_a_team_that_uses_only_its_guarantee_loses_nothing() -> None:
    assert evicted(borrowed(teams=[a_team("a", guaranteed={"*": 8}), a_team("b", guaranteed={"*": 16})])) == []


def test_a_borrower_gives_back_no_more_than_it_borrowed() -> None:
    teams = [a_team("a", guaranteed={"*": 16}), a_team("b", guaranteed={"*": 8})]
    scenario = a_scenario(
        flat(2),
        teams=teams,
        tiers=ONE_TIER,
        running=[runs(f"b{at}", a_job(gpus=8, team="b"), [(f"n{at}", range(8))]) for at in (1, 2)],
        waiting=[waits("w", a_job(gpus=8, workers=2, team="a"))],
    )
    assert evicted(scenario) == []


def test_a_sub_team_takes_back_from_its_sibling() -> None:
    teams = [a_team("a", guaranteed={"*": 16}), a_team("a/x", guaranteed={"*": 8}), a_team("a/y", guaranteed={"*": 8})]
    scenario = a_scenario(
        flat(2),
        teams=teams,
        tiers=ONE_TIER,
        running=[runs(f"y{at}", a_job(gpus=8, team="a/y"), [(f"n{at}", range(8))]) for at in (1, 2)],
        waiting=[waits("w", a_job(gpus=8, team="a/x"))],
    )
    assert [why for _, _, why in evicted(scenario)] == ["reclaim"]


def test_nobody_reclaims_from_a_higher_tier() -> None:
    scenario = a_scenario(
        flat(1),
        teams=LENDING,
        running=[runs("b1", a_job(gpus=8, team="b", tier="standard"), [("n1", range(8))])],
        waiting=[waits("w", a_job(gpus=8, team="a", tier="exploratory"))],
    )
    assert evicted(scenario) == []
