"""Rules as a server keeps them: what is not allowed to a team is forbidden.

In a scenario, a team that says nothing may use every tier and have jobs that are not preemptible. On a server with
teams, it may use all tiers but the highest, and its jobs are preemptible. Missing values are filled in where rules are
read, so that all later code sees only values that an operator wrote or could have written.
"""

from collections.abc import Sequence

from muster.model.ids import TeamPath, TierName
from muster.model.policy import Tier
from muster.model.records import evolve
from muster.model.scenario import Rules
from muster.model.team import Team, ancestors, bounds_of


def closed(rules: Rules) -> Rules:
    """The rules with every permission denied to teams that is not granted explicitly."""
    return evolve(rules, teams=closed_teams(rules.teams, rules.tiers))


def closed_teams(teams: Sequence[Team], tiers: Sequence[Tier]) -> tuple[Team, ...]:
    """The teams, each with the tiers that it may use, and whether its jobs may be not preemptible."""
    known: dict[TeamPath, Team] = {}
    for team in sorted(teams, key=lambda team: team.path.count("/")):
        above = bounds_of(team.path, known)
        usual = tuple(tier for tier in usual_tiers(tiers) if above.tiers is None or tier in above.tiers)
        known[team.path] = evolve(
            team,
            tiers=usual if team.tiers is None else team.tiers,
            allow_unpreemptible=bool(team.allow_unpreemptible),
        )
    return tuple(known[team.path] for team in teams)


def usual_tiers(tiers: Sequence[Tier]) -> tuple[TierName, ...]:
    """The tiers of a team that says nothing: all but the highest, or the only one there is."""
    names = tuple(tier.name for tier in tiers)
    return names[1:] or names


def with_tiers(rules: Rules, tiers: tuple[Tier, ...]) -> Rules:
    """The rules with other tiers. A team that could use all but the highest tier still can afterwards."""
    before, after = usual_tiers(rules.tiers), usual_tiers(tiers)
    teams = tuple(evolve(team, tiers=after) if team.tiers == before else team for team in rules.teams)
    return evolve(rules, tiers=tiers, teams=teams)


def beyond_those_above(team: Team, teams: Sequence[Team]) -> tuple[str, str] | None:
    """The key with which a team asks for more than a team above it has, and the problem; None when it does not."""
    known = {other.path: other for other in teams if other.path != team.path}
    above = bounds_of(team.path, known)
    parents = [path for path in ancestors(team.path)[1:] if path in known]
    if not parents:
        return None
    more = [tier for tier in team.tiers or () if above.tiers is not None and tier not in above.tiers]
    if more:
        return (
            "tiers",
            f"team {team.path!r} may use tier {more[0]!r}, and a team above it, {parents[0]!r} first, may not",
        )
    if team.max_priority is not None and above.max_priority is not None and team.max_priority > above.max_priority:
        return "max_priority", f"team {team.path!r} has {team.max_priority}, and a team above it {above.max_priority}"
    if team.allow_unpreemptible and not above.allow_unpreemptible:
        return (
            "allow_unpreemptible",
            f"team {team.path!r} allows it, and a team above it, {parents[0]!r} first, does not",
        )
    return None
