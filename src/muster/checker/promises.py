"""Promised starts: at each of them the GPUs and the quota are free, whatever else was started or promised."""

from collections.abc import Iterator

from muster.checker.facts import Facts
from muster.checker.room import overfull
from muster.model.plan import Promise
from muster.model.team import ancestors


def promise_problems(facts: Facts) -> Iterator[str]:
    """Promises that cannot all be kept together, by the limits of everything that runs."""
    for promise in facts.plan.promises:
        yield from (f"hold of {promise.job}: {problem}" for problem in _one(facts, promise))


def _one(facts: Facts, promise: Promise) -> Iterator[str]:
    if promise.start_ms < facts.now_ms:
        yield "its start is in the past"
    there = [stay for stay in facts.stays() if stay.covers(promise.start_ms)]
    for name in promise.nodes:
        yield from overfull(facts.nodes[name], there)
    for path in ancestors(facts.spec(promise.job).team):
        team = facts.teams.get(path)
        usage = facts.usage(path, there)
        for gpu_type, limit_milli in () if team is None else team.limit:
            if usage[gpu_type] > limit_milli and facts.demand(facts.spec(promise.job), promise.workers)[gpu_type]:
                yield f"team {path} would use {usage[gpu_type]} of {gpu_type}, and its limit is {limit_milli}"
