"""A real training on each engine, killed in every part of it."""

import pytest

from tests.survival.trial import run_trial

KINDS = {
    "kubernetes": ("worker", "agent", "supervisor", "node", "pod"),
    "ray": ("worker", "agent", "supervisor", "node", "keeper", "raylet"),
    "slurm": ("worker", "agent", "supervisor", "node"),
}
RESTARTS = {"kubernetes": 4, "ray": 3, "slurm": 3}
"""How many of them a training does not go on through."""


@pytest.mark.parametrize("where", KINDS)
@pytest.mark.engines_only
def test_a_training_on_an_engine_that_was_killed_ends_as_if_nothing_had_been(where: str) -> None:
    kinds = KINDS[where]
    result = run_trial(18, kills=len(kinds), steps=600, kinds=kinds, where=where)
    assert result.problems == []
    assert result.attempts == 1 + RESTARTS[where]
