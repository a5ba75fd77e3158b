"""Usage stays within the limit of every team and every team above it, now and at every promised start."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from muster.checker.facts import Facts, Stay
from muster.model.ids import GpuType, TeamPath


class LimitUse(NamedTuple):
    """How much of a limit some stays use, in GPU thousandths."""

    team: TeamPath
    gpu_type: GpuType
    limit_milli: int
    used_milli: int


def limit_uses(facts: Facts, stays: Iterable[Stay]) -> list[LimitUse]:
    """Every limit, always in the same order, with what these stays use of it."""
    present = tuple(stays)
    return [
        LimitUse(team.path, gpu_type, limit_milli, facts.usage(team.path, present)[gpu_type])
        for team in facts.scenario.teams
        for gpu_type, limit_milli in team.limit
    ]


def limit_problems(facts: Facts) -> Iterator[str]:
    """Teams that this plan takes above a limit, or further above."""
    present = [stay for stay in facts.stays() if not stay.is_promised]
    earlier = limit_uses(facts, (stay for stay in present if not stay.is_new))
    for before, after in zip(earlier, limit_uses(facts, present), strict=True):
        if after.used_milli > max(after.limit_milli, before.used_milli):
            yield f"team {after.team} uses {after.used_milli} of {after.gpu_type}, and its limit is {after.limit_milli}"
