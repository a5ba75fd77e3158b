"""Preemption: no victim in vain, none for a job that was preempted itself, and all borrowers for a guarantee."""

from random import Random
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from muster.checker import violations
from muster.model.ids import TierName
from muster.model.job import WaitingJob
from muster.model.policy import MINUTE_MS, Policy
from muster.model.records import evolve
from muster.model.scenario import Scenario
from tests.builders import a_job, a_scenario, a_team, flat, runs, waits
from tests.property.apply import carried_out, later
from tests.property.checks import check_no_victim_is_superfluous, check_preemption_comes_to_rest, planned
from tests.property.effort import examples
from tests.property.situations import SEEDS, situations

ROUNDS = 6
TIERS = tuple(map(TierName, ("production", "standard", "exploratory")))
STREAM_ROUNDS = 24
STREAM_STEP_MS = 4 * MINUTE_MS


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
    """The cluster is full of what a team borrowed; the owner wants its guarantee and has it within a few rounds.

    It does not matter which tiers the borrower chose, nor which of its jobs are not preemptible.
    """
    chance = Random(seed)
    owed = chance.randint(1, 8 * nodes)
    running = []
    for node in range(1, nodes + 1):
        at = 0
        while at < 8:
            size = min(chance.choice((1, 2, 4, 8)), 8 - at)
            spec = a_job(gpus=size, team="borrower", checkpoint=chance.random() < 0.5, **_rank(chance))
            running.append(runs(f"r{node}-{at}", spec, [(f"n{node}", range(at, at + size))]))
            at += size
    gpus = chance.choice([size for size in (1, 2, 4, 8) if size <= owed])
    owner = a_job(gpus=gpus, workers=owed // gpus, team="owner", tier=_rank(chance)["tier"])
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


def _rank(chance: Random) -> dict[str, Any]:
    tier = chance.choice(("production", "standard", "exploratory"))
    return {"tier": tier, "preemptible": chance.random() < 0.5}


@example(1, 95).via("short urgent jobs took every GPU that came free, and could not be told to leave")
@examples(100)
@given(st.integers(1, 3), SEEDS)
def test_a_stream_of_urgent_jobs_keeps_no_team_from_its_guarantee(nodes: int, seed: int) -> None:
    check_guarantee_survives_a_stream(nodes, seed)


def check_guarantee_survives_a_stream(nodes: int, seed: int) -> None:
    """Another team fills the cluster again and again with urgent jobs; the owner gets its guarantee and keeps it.

    It has it within the minimum run time, the longest grace period and a round of each, whatever the others are.
    """
    chance = Random(seed)
    owed, tier = chance.randint(1, 8 * nodes - 1), _rank(chance)["tier"]
    taken = 8 * nodes - owed
    teams = [
        a_team("owner", guaranteed={"*": owed}, tiers=TIERS),
        a_team("taker", guaranteed={"*": taken}, tiers=TIERS),
    ]
    wanted = tuple(waits(f"w{at}", a_job(team="owner", tier=tier)) for at in range(owed))
    scenario = a_scenario(flat(nodes), teams=teams, waiting=_stream(chance, nodes, 0), policy=Policy())
    for number in range(STREAM_ROUNDS):
        if number == 1:
            scenario = evolve(scenario, waiting=(*scenario.waiting, *wanted))
        made = planned(scenario)
        assert not violations(scenario, made)
        scenario = later(carried_out(scenario, made), scenario.now_ms + STREAM_STEP_MS)
        stream = _stream(chance, nodes, number + 1)
        scenario = evolve(scenario, waiting=tuple(job for job in scenario.waiting if job.id[0] == "w") + stream)
        if number >= STREAM_ROUNDS // 2:
            has = sum(job.spec.team == "owner" and job.leaving_by_ms is None for job in scenario.running)
            assert has == owed, f"round {number}: {has} of the {owed} GPUs that are guaranteed"


def _stream(chance: Random, nodes: int, number: int) -> tuple[WaitingJob, ...]:
    """Enough fresh jobs to fill the cluster, some of which end before they could be told to leave."""
    specs = [a_job(team="taker", hours=chance.choice((0.1, 0.15, 24)), **_rank(chance)) for _ in range(8 * nodes)]
    return tuple(waits(f"s{number}-{at}", spec, hours_ago=0) for at, spec in enumerate(specs))
