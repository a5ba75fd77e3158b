"""A real training in jobs of Slurm and in pods, killed in every part of it."""

import pytest

from tests.survival.trial import run_trial


@pytest.mark.engines_only
def test_a_training_in_slurm_that_was_killed_ends_as_if_nothing_had_been() -> None:
    result = run_trial(12, kills=4, steps=600, kinds=("worker", "agent", "supervisor", "node"), where="slurm")
    assert result.problems == []
    assert result.attempts == 4


@pytest.mark.engines_only
def test_a_training_in_pods_that_was_killed_ends_as_if_nothing_had_been() -> None:
    kinds = ("worker", "agent", "supervisor", "node", "pod")
    result = run_trial(18, kills=5, steps=600, kinds=kinds, where="kubernetes")
    assert result.problems == []
    assert result.attempts == 5
