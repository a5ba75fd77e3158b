"""The parts of a scenario that jobs refer to: cluster, tiers, teams, pools and policy, and the checks between them."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import TypeVar

from muster.formats.parts.wire import closest
from muster.formats.rules.cluster_file import cluster_part
from muster.formats.rules.rules import policy_part, pools_part, tiers_part
from muster.formats.rules.team_tree import team_tree
from muster.formats.text.document import Problems
from muster.formats.text.yaml_text import Loc
from muster.model.ids import DEFAULT_POOL, NODE_LEVEL, LevelName, TeamPath, TierName
from muster.model.node import ClusterSpec, Node
from muster.model.policy import DEFAULT_TIERS, Policy, Pool, Tier
from muster.model.spec import JobSpec
from muster.model.team import Team

PartT = TypeVar("PartT")

_TIERS: tuple[Tier, ...] = DEFAULT_TIERS
_NO_TEAMS: tuple[Team, ...] = ()
_NO_POOLS: tuple[Pool, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class References:
    """What was read, and what may be referred to.

    A `known_…` is None when nothing is checked against it. Either everything is allowed, or that part of the file is
    itself wrong. Then problems of the jobs would only hide the real mistake.
    """

    cluster: ClusterSpec
    tiers: tuple[Tier, ...]
    teams: tuple[Team, ...]
    pools: tuple[Pool, ...]
    policy: Policy
    known_nodes: Mapping[str, Node] | None
    known_levels: Collection[LevelName] | None
    known_tiers: Collection[TierName] | None
    known_teams: Collection[TeamPath] | None

    def check_team(self, path: str, problems: Problems, at: Loc) -> None:
        """Note a team that is not in the tree."""
        if self.known_teams is not None and path not in self.known_teams:
            problems.add(at, f"there is no team {path!r}", closest(path, self.known_teams))

    def check_job(self, spec: JobSpec, problems: Problems, at: Loc, *, names_tier: bool) -> None:
        """Note everything that a job refers to and that does not exist, except its team."""
        if self.known_tiers is not None and spec.tier not in self.known_tiers:
            problem = f"there is no tier {spec.tier!r}"
            problem += "" if names_tier else ", which is that of a job that names none"
            problems.add((*at, "tier"), problem, closest(spec.tier, self.known_tiers))
        if self.known_levels is None:
            return
        for key, level in (("within", spec.topology.within), ("prefer", spec.topology.prefer)):
            if level is not None and level not in self.known_levels:
                problem = f"{level!r} is not a level of the cluster"
                problems.add((*at, "topology", key), problem, closest(level, self.known_levels))


def read_references(parts: Mapping[str, object], problems: Problems) -> References:
    """All parts, as far as they can be read. What is wrong is noted."""
    cluster, cluster_sound = _part(parts, "cluster", ClusterSpec(), cluster_part, problems)
    tiers, tiers_sound = _part(parts, "tiers", _TIERS, tiers_part, problems)
    teams, teams_sound = _part(parts, "teams", _NO_TEAMS, team_tree, problems)
    pools, pools_sound = _part(parts, "pools", _NO_POOLS, pools_part, problems)
    policy, _ = _part(parts, "policy", Policy(), policy_part, problems)
    references = References(
        cluster=cluster,
        tiers=tiers,
        teams=teams,
        pools=_with_default_pool(pools, cluster),
        policy=policy,
        known_nodes={node.name: node for node in cluster.nodes} if cluster_sound and "cluster" in parts else None,
        known_levels=(*cluster.levels, NODE_LEVEL) if cluster_sound and "cluster" in parts else None,
        known_tiers=tuple(tier.name for tier in tiers) if tiers_sound else None,
        known_teams=dict.fromkeys(team.path for team in teams).keys() if teams and teams_sound else None,
    )
    if pools and pools_sound:
        _check_pools(references, pools, parts, problems)
    if teams and teams_sound:
        _check_teams(references, problems)
    return references


def _part(
    parts: Mapping[str, object],
    key: str,
    default: PartT,
    read: Callable[[object, Problems, Loc], PartT],
    problems: Problems,
) -> tuple[PartT, bool]:
    """One part of the file, and whether it could be read without a problem."""
    if parts.get(key) is None:
        return default, True
    before = problems.count
    return read(parts[key], problems, (key,)), problems.count == before


def _check_pools(
    references: References, pools: tuple[Pool, ...], parts: Mapping[str, object], problems: Problems
) -> None:
    for pool in pools:
        for tier in pool.tiers:
            if references.known_tiers is not None and tier not in references.known_tiers:
                hint = closest(tier, references.known_tiers)
                problems.add(("pools", pool.name, "tiers"), f"there is no tier {tier!r}", hint)
        for place, team in enumerate(pool.teams):
            references.check_team(team, problems, ("pools", pool.name, "teams", place))
    known = [pool.name for pool in pools]
    cluster = parts.get("cluster")
    entries = cluster.get("nodes") if isinstance(cluster, dict) and references.known_nodes is not None else None
    for place, entry in enumerate(entries or []):
        named = entry.get("pool")
        if named is not None and str(named) not in known:
            at = ("cluster", "nodes", place, "pool")
            problems.add(at, f"there is no pool {str(named)!r}", closest(str(named), known))


def _check_teams(references: References, problems: Problems) -> None:
    """Note tiers that teams may use and that do not exist."""
    for team in references.teams:
        for tier in team.tiers or ():
            if references.known_tiers is not None and tier not in references.known_tiers:
                hint = closest(tier, references.known_tiers)
                problems.add((*team_at(team.path), "tiers"), f"there is no tier {tier!r}", hint)


def team_at(path: TeamPath) -> Loc:
    """Where a team stands in a file."""
    return ("teams", *"/teams/".join(path.split("/")).split("/"))


def _with_default_pool(pools: tuple[Pool, ...], cluster: ClusterSpec) -> tuple[Pool, ...]:
    """Nodes that name no pool are in the default pool, which need not be configured."""
    named = [pool.name for pool in pools]
    if not pools or DEFAULT_POOL in named or all(node.pool != DEFAULT_POOL for node in cluster.nodes):
        return pools
    return (*pools, Pool(name=DEFAULT_POOL))
