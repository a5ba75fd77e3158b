"""All rules, one after another."""

from collections.abc import Iterator

from muster.checker.evictions import eviction_problems
from muster.checker.facts import Facts
from muster.checker.limits import limit_problems
from muster.checker.lists import list_problems
from muster.checker.promises import promise_problems
from muster.checker.reservations import reservation_problems
from muster.checker.room import room_problems
from muster.checker.seats import seat_problems
from muster.model.plan import Plan
from muster.model.scenario import Scenario

RULES = (
    list_problems,
    seat_problems,
    room_problems,
    limit_problems,
    eviction_problems,
    promise_problems,
    reservation_problems,
)


def violations(scenario: Scenario, plan: Plan) -> tuple[str, ...]:
    """What is wrong with a plan for this situation, in words; empty when nothing is wrong."""
    return tuple(_all(Facts(scenario, plan)))


def _all(facts: Facts) -> Iterator[str]:
    known = tuple(facts.unknown_names())
    if known:
        yield from known
        return
    for rule in RULES:
        yield from rule(facts)
