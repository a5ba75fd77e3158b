"""Promised starts: at each of them the GPUs and the quota are free, whatever else was started or promised."""

from collections.abc import Iterator

from muster.checker.facts import Facts
from muster.checker.limits import limit_uses
from muster.checker.room import overfull
from muster.model.plan import Promise


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
    own = [stay for stay in there if stay.is_promised and stay.job == promise.job]
    for use, share in zip(limit_uses(facts, there), limit_uses(facts, own), strict=True):
        if share.used_milli and use.used_milli > use.limit_milli:
            yield f"team {use.team} would use {use.used_milli} of {use.gpu_type}, and its limit is {use.limit_milli}"
