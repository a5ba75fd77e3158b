"""Promised starts: at each of them the GPUs and the quota are there, whatever else was started or promised."""

from collections.abc import Iterator

from muster.checker.facts import Facts
from muster.checker.room import overfull
from muster.model.plan import Hold
from muster.model.team import ancestors


def promise_problems(facts: Facts) -> Iterator[str]:
    """Promises that cannot all be kept together, by the limits of everything that runs."""
    for hold in facts.plan.holds:
        yield from (f"hold of {hold.job}: {problem}" for problem in _one(facts, hold))


def _one(facts: Facts, hold: Hold) -> Iterator[str]:
    if hold.start_ms < facts.now_ms:
        yield "its start is in the past"
    there = [stay for stay in facts.stays() if stay.covers(hold.start_ms)]
    for name in hold.nodes:
        yield from overfull(facts.nodes[name], there)
    for path in ancestors(facts.spec(hold.job).team):
        team = facts.teams.get(path)
        usage = facts.usage(path, there)
        for gpu_type, limit_milli in () if team is None else team.limit:
            if usage[gpu_type] > limit_milli and facts.demand(facts.spec(hold.job), hold.workers)[gpu_type]:
                yield f"team {path} would use {usage[gpu_type]} of {gpu_type}, and its limit is {limit_milli}"
