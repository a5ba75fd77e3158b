"""Usage stays within the limit of every team and every team above it."""

from collections.abc import Iterator

from muster.checker.facts import Facts


def limit_problems(facts: Facts) -> Iterator[str]:
    """Teams that this plan takes above a limit, or further above."""
    present = [stay for stay in facts.stays() if not stay.is_promised]
    for team in facts.scenario.teams:
        before = facts.usage(team.path, (stay for stay in present if not stay.is_new))
        after = facts.usage(team.path, present)
        for gpu_type, limit_milli in team.limit:
            if after[gpu_type] > max(limit_milli, before[gpu_type]):
                yield f"team {team.path} uses {after[gpu_type]} of {gpu_type}, and its limit is {limit_milli}"
