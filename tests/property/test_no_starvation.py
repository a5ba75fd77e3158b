"""A big gang under an endless stream of small jobs starts within what the limits and the policy add up to."""

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from muster.model.policy import HOUR_MS, Policy
from muster.model.records import evolve
from muster.model.scenario import Scenario
from muster.model.spec import JobSpec
from muster.model.team import Team
from tests.builders import NOW_MS, a_job, a_scenario, a_team, flat, runs, waits
from tests.property.apply import carried_out, later
from tests.property.checks import planned
from tests.property.effort import examples
from tests.property.situations import SEEDS

STEP_MS = HOUR_MS // 2
LONGEST_HOURS = 3
STARVATION_LIMIT_MS = 4 * HOUR_MS
BOUND_MS = STARVATION_LIMIT_MS + LONGEST_HOURS * HOUR_MS + STEP_MS


@examples(30)
@given(st.integers(1, 4), SEEDS)
def test_a_big_gang_starts_under_a_stream_of_small_jobs(nodes: int, seed: int) -> None:
    check_big_gang_starts(nodes, seed, teams=())


@examples(30)
@given(st.integers(1, 4), SEEDS)
def test_a_big_gang_starts_though_small_jobs_of_its_own_team_keep_the_limit_full(nodes: int, seed: int) -> None:
    check_big_gang_starts(nodes + 1, seed, teams=(a_team("busy", limit={"*": 8 * nodes}),))


def check_big_gang_starts(nodes: int, seed: int, teams: tuple[Team, ...]) -> None:
    """The gang wants all its team may have; small jobs come faster than they can run."""
    chance = Random(seed)
    most = dict(teams[0].limit)[next(iter(dict(teams[0].limit)))] // 8000 if teams else nodes
    scenario = a_scenario(
        flat(nodes),
        teams=teams,
        policy=Policy(starvation_limit_ms=STARVATION_LIMIT_MS, hold_depth=chance.choice((0, 1, 4))),
        running=[
            runs(f"r{node}", _small(chance, 8), [(f"n{node}", range(8))], hours_ago=0.1) for node in range(1, most + 1)
        ],
        waiting=[waits("big", a_job(gpus=8, workers=most, team="busy", hours=2), hours_ago=0)],
    )
    arrivals = 0
    while scenario.now_ms <= NOW_MS + BOUND_MS:
        made = planned(scenario)
        if any(start.job == "big" for start in made.starts):
            return
        scenario = later(carried_out(scenario, made), scenario.now_ms + STEP_MS)
        scenario = _with_more_small_jobs(scenario, chance, arrivals)
        arrivals += 1
    raise AssertionError(f"the big gang still waits after {BOUND_MS // HOUR_MS} hours")


def _with_more_small_jobs(scenario: Scenario, chance: Random, arrival: int) -> Scenario:
    new = [
        evolve(waits(f"s{arrival}-{number}", _small(chance, chance.choice((1, 2, 4)))), submitted_ms=scenario.now_ms)
        for number in range(10)
    ]
    waiting = [job for job in scenario.waiting if job.id == "big"] + new
    return evolve(scenario, waiting=tuple(waiting))


def _small(chance: Random, gpus: int) -> JobSpec:
    return a_job(gpus=gpus, team="busy", hours=chance.randint(1, LONGEST_HOURS), priority=chance.choice((50, 90)))
