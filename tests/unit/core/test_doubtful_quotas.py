"""Quotas that operators are warned of."""

import pytest

from muster.core.doubtful_quotas import quota_doubts
from muster.model.team import Team
from tests.builders import a_node, a_team

NODES = (a_node("n1", gpus=8, gpu_type="h100"), a_node("n2", gpus=8, gpu_type="a100"), a_node("cpu", gpus=0))


@pytest.mark.parametrize(
    ("teams", "messages"),
    [
        ([a_team("nlp", guaranteed={"h100": 8}), a_team("cv", guaranteed={"a100": 8}, limit={"*": 16})], []),
        (
            [a_team("nlp", guaranteed={"h100": 16})],
            ["team nlp is guaranteed 16 h100, and the cluster has 8 h100"],
        ),
        (
            [a_team("nlp", guaranteed={"b200": 1}, limit={"b200": 2})],
            [
                "team nlp is guaranteed 1 b200, and no node has a GPU of that type (there are: a100, h100)",
                "team nlp has a limit of 2 b200, and no node has a GPU of that type (there are: a100, h100)",
            ],
        ),
        (
            [a_team("nlp", guaranteed={"h100": 6}), a_team("cv", guaranteed={"h100": 4})],
            ["teams are guaranteed 10 h100 together, and the cluster has 8 h100"],
        ),
        (
            [a_team("nlp/a", guaranteed={"h100": 6, "a100": 6}), a_team("cv", guaranteed={"*": 8})],
            ["teams are guaranteed 20 GPUs together, and the cluster has 16 GPUs"],
        ),
        (
            [a_team("nlp", limit={"h100": 4}), a_team("nlp/a", limit={"h100": 8, "*": 8})],
            ["team nlp/a may use 8 h100, and team nlp above it only 4 h100, which is what counts"],
        ),
    ],
)
def test_what_cannot_be_kept_is_said(teams: list[Team], messages: list[str]) -> None:
    assert [doubt.message for doubt in quota_doubts(teams, NODES)] == messages


def test_types_mean_nothing_where_gpus_have_none() -> None:
    (doubt,) = quota_doubts([a_team("nlp", guaranteed={"h100": 8})], [a_node("n1", gpus=8, gpu_type="")])
    assert doubt.message == "team nlp is guaranteed 8 h100, and the GPUs of the nodes have no type"
    assert doubt.teams == ("nlp",)
