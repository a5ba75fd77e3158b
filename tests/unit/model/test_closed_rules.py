"""On a server a team may not do what it was not allowed; in a scenario it may."""

from typing import Any

import pytest

from muster.model.closed_rules import beyond_those_above, closed, closed_teams, with_tiers
from muster.model.ids import TeamPath, TierName
from muster.model.policy import DEFAULT_TIERS, Tier
from muster.model.scenario import Rules
from muster.model.team import Bounds, Team, bounds_of
from tests.builders import a_team

USUAL = ("standard", "exploratory")
TWO = (Tier(name=TierName("gold")), Tier(name=TierName("silver")))


def by_path(*teams: Team) -> dict[TeamPath, Team]:
    return {team.path: team for team in teams}


def test_a_team_that_says_nothing_has_all_tiers_but_the_highest_and_preemptible_jobs() -> None:
    (team,) = closed_teams([a_team("nlp")], DEFAULT_TIERS)
    assert (team.tiers, team.allow_unpreemptible, team.max_priority) == (USUAL, False, None)
    (only,) = closed_teams([a_team("nlp")], TWO[:1])
    assert only.tiers == ("gold",)


def test_what_a_team_says_stays_and_those_below_have_no_more() -> None:
    teams = closed_teams(
        [a_team("nlp/pre"), a_team("nlp", tiers=("exploratory",)), a_team("ops", tiers=("production",))], DEFAULT_TIERS
    )
    assert [team.path for team in teams] == ["nlp/pre", "nlp", "ops"]
    assert [team.tiers for team in teams] == [("exploratory",), ("exploratory",), ("production",)]


def test_closing_twice_changes_nothing_and_no_teams_are_no_bounds() -> None:
    rules = Rules(teams=(a_team("nlp", max_priority=5), a_team("nlp/pre", allow_unpreemptible=True)))
    assert closed(closed(rules)) == closed(rules)
    assert closed(Rules()) == Rules()


def test_the_narrowest_of_all_above_counts() -> None:
    teams = by_path(
        a_team("a", tiers=("production", "standard"), max_priority=60, allow_unpreemptible=True),
        a_team("a/b", tiers=("exploratory", "standard"), max_priority=80),
        a_team("a/b/c", allow_unpreemptible=False),
    )
    assert bounds_of(TeamPath("a/b/c"), teams) == Bounds(
        tiers=(TierName("standard"),), max_priority=60, allow_unpreemptible=False
    )
    assert bounds_of(TeamPath("a/b"), teams).allow_unpreemptible
    assert bounds_of(TeamPath("elsewhere"), teams) == Bounds()


def test_other_tiers_leave_a_team_all_but_the_highest_and_what_it_named() -> None:
    rules = closed(Rules(teams=(a_team("nlp"), a_team("ops", tiers=("production",)))))
    assert [team.tiers for team in with_tiers(rules, TWO).teams] == [("silver",), ("production",)]


@pytest.mark.parametrize(
    ("more", "key"),
    [
        ({"tiers": ("production",)}, "tiers"),
        ({"max_priority": 61}, "max_priority"),
        ({"allow_unpreemptible": True}, "allow_unpreemptible"),
        ({"tiers": ("standard",), "max_priority": 60, "allow_unpreemptible": False}, None),
    ],
)
def test_more_than_those_above_have_is_found(more: dict[str, Any], key: str | None) -> None:
    above = a_team("nlp", tiers=USUAL, max_priority=60, allow_unpreemptible=False)
    team = a_team("nlp/pre", **more)
    found = beyond_those_above(team, [above, team])
    assert (None if found is None else found[0]) == key
    assert beyond_those_above(above, [above, team]) is None
