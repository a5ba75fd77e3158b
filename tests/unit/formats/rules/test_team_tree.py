from typing import Any

import pytest

from muster.formats.rules.team_tree import teams_document
from muster.model.team import Team
from tests.unit.formats.scenarios.builders import scenario, scenario_errors


def test_teams_are_listed_parents_first_with_their_paths() -> None:
    teams = {"nlp": {"guaranteed": {"h100": 64}, "limit": {"*": 128}, "weight": 2, "teams": {"eval": None}}, "cv": {}}
    assert scenario(teams=teams).teams == (
        Team(path="nlp", guaranteed=(("h100", 64_000),), limit=(("*", 128_000),), weight=2000),  # type: ignore[arg-type]
        Team(path="nlp/eval"),  # type: ignore[arg-type]
        Team(path="cv"),  # type: ignore[arg-type]
    )


@pytest.mark.parametrize(
    "teams",
    [
        {"a": {"guaranteed": {"h100": 8}, "limit": {"h100": 8}, "teams": {"b": {"guaranteed": {"h100": 8}}}}},
        {"a": {"limit": {"h100": 8}, "teams": {"b": {"limit": {"h100": 99}}}}},
        {"a": {"guaranteed": {"h100": 8}, "teams": {"b": {"guaranteed": {"a100": 99}}}}},
        {"a": {"guaranteed": {"h100": 0.5}, "limit": {"*": 0.5}}},
    ],
)
def test_a_tree_whose_promises_can_be_kept_is_accepted(teams: Any) -> None:
    assert scenario_errors(teams=teams) == []


@pytest.mark.parametrize(
    ("teams", "expected"),
    [
        (
            {"a": {"guaranteed": {"h100": 9}, "limit": {"h100": 8}}},
            "teams.a.guaranteed: team 'a' is guaranteed 9 h100, above its limit of 8 h100",
        ),
        (
            {"a": {"guaranteed": {"h100": 5, "a100": 5}, "limit": {"*": 8}}},
            "teams.a.guaranteed: team 'a' is guaranteed 10 GPUs, above its limit of 8 GPUs",
        ),
        (
            {"a": {"guaranteed": {"h100": 8}, "teams": {n: {"guaranteed": {"h100": 5}} for n in "bc"}}},
            "teams.a.teams: the teams below 'a' are guaranteed 10 h100 together, and it only 8 h100",
        ),
        (
            {"a": {"limit": {"h100": 8}, "teams": {n: {"guaranteed": {"h100": 5}} for n in "bc"}}},
            "teams.a.teams: the teams below 'a' are guaranteed 10 h100, above its limit of 8 h100",
        ),
        (
            {"a": {"guaranteed": {"*": 8}, "teams": {"b": {"guaranteed": {"h100": 5}}, "c": {"guaranteed": {"*": 5}}}}},
            "teams.a.teams: the teams below 'a' are guaranteed 10 GPUs together, and it only 8 GPUs",
        ),
        (
            {"a": {"limit": {"h100": 8}, "teams": {"b": {"teams": {"c": {"guaranteed": {"h100": 9}}}}}}},
            "teams.a.teams: the teams below 'a' are guaranteed 9 h100, above its limit",
        ),
        ({"a": {"guarantee": {"h100": 9}}}, "teams.a.guarantee: unknown key (did you mean 'guaranteed'?)"),
        ({"a": {"guaranteed": {"h100": -1}}}, "teams.a.guaranteed.h100: must be a number that is not negative"),
        ({"a": {"guaranteed": 64}}, "teams.a.guaranteed: must be a mapping"),
        ({"a": {"weight": 0}}, "teams.a.weight: must be above zero"),
        ({"a/b": {}}, "teams.a/b: 'a/b' is not a name for a team"),
        ({"a": {"teams": []}}, "teams.a.teams: must be a mapping"),
        (["a"], "teams: must be a mapping of team names to teams, not a list"),
    ],
)
def test_a_tree_that_cannot_be_is_refused(teams: Any, expected: str) -> None:
    errors = scenario_errors(teams=teams)
    assert any(error.startswith(expected) for error in errors), errors


@pytest.mark.parametrize("name", [".", "..", "*", "(own)", "(others)", "-", "/"])
def test_names_that_mean_something_else_are_not_for_teams(name: str) -> None:
    trees: list[dict[str, Any]] = [{name: {}}, {"nlp": {"teams": {name: {}}}}]
    for teams in trees:
        assert any("is not a name for a team" in error for error in scenario_errors(teams=teams))


@pytest.mark.parametrize("name", ["nlp", "7b", "_old", "Übersetzung", "a.b"])
def test_other_names_are_for_teams(name: str) -> None:
    assert scenario_errors(teams={name: {}}) == []


def test_a_tree_is_bounded_in_depth() -> None:
    teams: dict[str, Any] = {}
    for _ in range(9):
        teams = {"a": {"teams": teams}}
    assert "more than 8 levels of teams" in scenario_errors(teams=teams)[0]


def test_what_jobs_may_ask_for_is_read_and_written_and_otherwise_left_open() -> None:
    teams = {"nlp": {"tiers": ["standard"], "max_priority": 60, "allow_unpreemptible": False}, "cv": {}}
    read = scenario(teams=teams).teams
    assert [(team.tiers, team.max_priority, team.allow_unpreemptible) for team in read] == [
        (("standard",), 60, False),
        (None, None, None),
    ]
    assert scenario(teams=teams_document(read)).teams == read
