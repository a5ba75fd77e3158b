"""Equal input, equal output: under any hash seed, in any order of lists, and however the snapshot came about."""

import os
import pickle
import subprocess
import sys
from pathlib import Path
from random import Random

from hypothesis import given, settings

from muster.core.snapshot import Snapshot
from muster.model.records import evolve
from muster.model.scenario import Scenario
from tests.property.checks import (
    check_order_of_lists_decides_nothing,
    check_rebuilding_changes_nothing,
)
from tests.property.edits import EDITS, edit
from tests.property.effort import examples
from tests.property.situations import SEEDS, situations

ROOT = Path(__file__).parents[2]
HASH_SEEDS = ("0", "1", "4242")


@examples(300)
@given(situations(), SEEDS)
def test_the_order_in_which_nodes_and_jobs_are_listed_decides_nothing(scenario: Scenario, seed: int) -> None:
    check_order_of_lists_decides_nothing(scenario, shuffled(scenario, seed))


def shuffled(scenario: Scenario, seed: int) -> Scenario:
    chance = Random(seed)
    nodes = chance.sample(scenario.cluster.nodes, len(scenario.cluster.nodes))
    return evolve(
        scenario,
        cluster=evolve(scenario.cluster, nodes=tuple(nodes)),
        running=tuple(chance.sample(scenario.running, len(scenario.running))),
        waiting=tuple(chance.sample(scenario.waiting, len(scenario.waiting))),
    )


@examples(300)
@given(situations(), SEEDS)
def test_a_snapshot_edited_event_by_event_plans_like_one_made_anew(scenario: Scenario, seed: int) -> None:
    check_edits_leave_no_trace(scenario, seed)


def check_edits_leave_no_trace(scenario: Scenario, seed: int) -> None:
    chance = Random(seed)
    snapshot = Snapshot.of(scenario)
    for number in range(EDITS):
        edit(snapshot, scenario, chance, f"x{number}")
        scenario = evolve(scenario, now_ms=scenario.now_ms + chance.choice((0, 60_000, 600_000)))
        if chance.random() < 0.5:
            check_rebuilding_changes_nothing(snapshot, scenario.now_ms)
    check_rebuilding_changes_nothing(snapshot, scenario.now_ms)


def test_equal_input_gives_equal_bytes_under_different_hash_seeds() -> None:
    scenarios = scenarios_for_hashing()
    first, *others = [printed_plans(scenarios, seed) for seed in HASH_SEEDS]
    assert first
    assert all(other == first for other in others)


def scenarios_for_hashing() -> bytes:
    """A few dozen situations, on their way to another process."""
    drawn: list[Scenario] = []

    @settings(max_examples=40, database=None, derandomize=True)
    @given(situations())
    def collect(scenario: Scenario) -> None:
        drawn.append(scenario)

    collect()
    return pickle.dumps(drawn)


def printed_plans(scenarios: bytes, hash_seed: str, *options: str) -> bytes:
    """The plans as another process prints them."""
    command = [sys.executable, "-m", "tests.property.printed_plans", *options]
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
    return subprocess.run(command, input=scenarios, cwd=ROOT, env=environment, check=True, capture_output=True).stdout
