"""Who yields: nobody in vain, nobody for somebody who yielded himself, and everybody to a team's guarantee."""

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from muster.model.policy import Policy
from muster.model.scenario import Scenario
from tests.builders import a_job, a_scenario, a_team, flat, runs, waits
from tests.property.apply import carried_out, later
from tests.property.checks import check_no_victim_is_superfluous, check_preemption_comes_to_rest, planned
from tests.property.effort import examples
from tests.property.situations import SEEDS, situations

ROUNDS = 6


@examples(600)
@given(situations(policy=Policy()))
def test_no_victim_is_superfluous(scenario: Scenario) -> None:
    check_no_victim_is_superfluous(scenario)


@examples(200)
@given(situations(policy=Policy()))
def test_a_requeued_victim_causes_no_further_preemption_and_there_is_no_cycle(scenario: Scenario) -> None:
    check_preemption_comes_to_rest(scenario)


@examples(200)
@given(st.integers(1, 4), SEEDS)
def test_a_team_inside_its_guarantee_gets_it_back(nodes: int, seed: int) -> None:
    check_guarantee_comes_back(nodes, seed)


def check_guarantee_comes_back(nodes: int, seed: int) -> None:
    """The cluster is full of what a team borrowed; the owner wants its guarantee and has it within a few rounds."""
    chance = Random(seed)
    owed = chance.randint(1, 8 * nodes)
    running = []
    for node in range(1, nodes + 1):
        at = 0
        while at < 8:
            size = min(chance.choice((1, 2, 4, 8)), 8 - at)
            spec = a_job(gpus=size, team="borrower", checkpoint=chance.random() < 0.5)
            running.append(runs(f"r{node}-{at}", spec, [(f"n{node}", range(at, at + size))]))
            at += size
    gpus = chance.choice([size for size in (1, 2, 4, 8) if size <= owed])
    owner = a_job(gpus=gpus, workers=owed // gpus, team="owner")
    scenario = a_scenario(
        flat(nodes),
        teams=[a_team("owner", guaranteed={"*": owed}), a_team("borrower", guaranteed={"*": 8 * nodes - owed})],
        running=running,
        waiting=[waits("claim", owner)],
    )
    for _ in range(ROUNDS):
        made = planned(scenario)
        if any(start.job == "claim" for start in made.starts):
            return
        scenario = later(carried_out(scenario, made), scenario.now_ms + 120_000)
    raise AssertionError(f"{owed} GPUs are guaranteed and did not come back")
