"""A promised start never moves later because of a job of its tier or below that was submitted after it."""

from random import Random

from hypothesis import given

from muster.model.records import evolve
from muster.model.scenario import Scenario
from tests.property.apply import carried_out, later, next_event_ms
from tests.property.checks import check_promises_are_kept, planned
from tests.property.effort import examples
from tests.property.situations import SEEDS, situations
from tests.property.work import waits_at_random

CYCLES = 3


@examples(500)
@given(situations(punctual=True), SEEDS)
def test_no_promise_moves_later_for_jobs_submitted_after_it(scenario: Scenario, seed: int) -> None:
    check_promises_over_cycles(scenario, seed)


def check_promises_over_cycles(scenario: Scenario, seed: int) -> None:
    chance = Random(seed)
    for cycle in range(CYCLES):
        before = carried_out(scenario, planned(scenario))
        following_ms = next_event_ms(before) or before.now_ms + 60_000
        now_ms = min(following_ms, before.now_ms + chance.choice((1_000, 1_800_000, 1 << 60)))
        exits = [job.id for job in before.running if chance.random() < 0.2]
        scenario = _with_newcomers(later(before, now_ms, exits), chance, f"x{cycle}")
        check_promises_are_kept(before, scenario)


def _with_newcomers(scenario: Scenario, chance: Random, prefix: str) -> Scenario:
    """New jobs, none of them in a more urgent tier than those that wait."""
    rank = {tier.name: number for number, tier in enumerate(scenario.tiers)}
    most_urgent = min((rank[job.spec.tier] for job in scenario.waiting), default=0)
    new = [
        waits_at_random(chance.getrandbits(32), f"{prefix}{number}", scenario.cluster, scenario.tiers)
        for number in range(chance.randint(0, 4))
    ]
    arrived = [
        evolve(
            job,
            submitted_ms=scenario.now_ms,
            spec=evolve(job.spec, tier=scenario.tiers[max(rank[job.spec.tier], most_urgent)].name),
        )
        for job in new
    ]
    return evolve(scenario, waiting=(*scenario.waiting, *arrived))
