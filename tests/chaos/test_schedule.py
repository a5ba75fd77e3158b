"""A trial follows from its number, and every kind of fault has its turn, alone and in pairs."""

import json
from pathlib import Path

import pytest

from tests.chaos.__main__ import read_results, summary
from tests.chaos.faults import KINDS
from tests.chaos.schedule import plan

FOLDER = Path("folder")
SEEDS = range(1, 121)
"""About as many trials as five hundred faults take."""


def test_the_same_number_is_the_same_trial() -> None:
    assert plan(17, FOLDER) == plan(17, FOLDER)
    assert plan(17, FOLDER) != plan(18, FOLDER)


def test_every_kind_strikes_alone_and_in_pairs_on_both_databases() -> None:
    plans = [plan(seed, FOLDER) for seed in SEEDS]
    blows = [blow for planned in plans for blow in planned.blows]
    possible = {name for name, kind in KINDS.items() if any(kind.suits(database) for database in kind.databases)}
    assert {blow.kind for blow in blows if blow.is_paired} == possible
    assert {blow.kind for blow in blows if not blow.is_paired} == possible
    assert {planned.database for planned in plans} == {"sqlite", "postgresql"}
    assert len(blows) > 500


def test_history_is_rewritten_once_in_a_trial_at_most() -> None:
    assert all(sum(kind.rewrites for kind in plan(seed, FOLDER).kinds) <= 1 for seed in SEEDS)


@pytest.mark.parametrize("only", [("control-kill",), ("database-kill", "worker-kill")])
def test_some_kinds_can_be_chosen(only: tuple[str, ...]) -> None:
    planned = [plan(seed, FOLDER, only=only) for seed in range(1, 20)]
    assert {blow.kind for each in planned for blow in each.blows} == set(only)


def test_a_line_that_was_cut_off_is_left_out_of_the_sum(tmp_path: Path) -> None:
    whole = {"seed": 3, "seconds": 60, "faults": [{"kind": "control-kill", "is_paired": True}], "violations": []}
    results = tmp_path / "results"
    results.write_text(json.dumps(whole) + '\n{"seed": 4, "sec')
    assert read_results(results) == [whole]
    told = summary([whole, {**whole, "seed": 5, "violations": [{"rule": "lost", "told": "one"}]}])
    assert "2 trials (seeds 3 to 5), 2 faults" in told
    assert "1 promises broken" in told
    assert "lost" in told
