from pathlib import Path

import pytest

from muster.formats.rules.part_files import read_cluster_and_teams, read_teams
from muster.formats.text.document import InvalidDocument

TEAMS = "teams: {nlp: {weight: 2, teams: {eval: {}}}, cv: }\n"


def written(folder: Path, text: str) -> Path:
    path = folder / "f.yaml"
    path.write_text(text, "utf-8")
    return path


@pytest.mark.parametrize("others", ["", "nodes: [{count: 2, gpus: 8}]\n", "cluster: 2x8\nwaiting: nonsense\n"])
def test_teams_are_found_whatever_stands_beside_them(tmp_path: Path, others: str) -> None:
    teams = read_teams(written(tmp_path, others + TEAMS))
    assert [(team.path, team.weight) for team in teams] == [("nlp", 2000), ("nlp/eval", 1000), ("cv", 1000)]


@pytest.mark.parametrize("cluster", ["nodes: [{count: 2, gpus: 8}]\nnote: x\n", "cluster: 2x8\n"])
def test_a_cluster_may_bring_its_teams(tmp_path: Path, cluster: str) -> None:
    spec, teams = read_cluster_and_teams(written(tmp_path, cluster + TEAMS))
    assert (len(spec.nodes), len(teams)) == (2, 3)
    assert read_cluster_and_teams(written(tmp_path, cluster)) == (spec, ())


def test_a_cluster_in_one_word_has_no_teams() -> None:
    spec, teams = read_cluster_and_teams("3x8")
    assert (len(spec.nodes), teams) == (3, ())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("nodes: []", "there is no teams part"),
        ("[a]", "there is no teams part"),
        ("team: {a: {}}", r"f.yaml:1: team: unknown key \(did you mean 'teams'\?\)"),
        ("teams: {a: {weight: 0}}", r"f.yaml:1: teams.a.weight: must be above zero"),
    ],
)
def test_a_file_without_sound_teams_is_refused(tmp_path: Path, text: str, expected: str) -> None:
    with pytest.raises(InvalidDocument, match=expected):
        read_teams(written(tmp_path, text))


def test_what_is_wrong_with_both_is_said_at_once(tmp_path: Path) -> None:
    with pytest.raises(InvalidDocument) as raised:
        read_cluster_and_teams(written(tmp_path, "nodes: [{name: a, gpus: 99}]\nteems: {}\n"))
    assert [error.path for error in raised.value.errors] == ["nodes[0].gpus", "teems"]
