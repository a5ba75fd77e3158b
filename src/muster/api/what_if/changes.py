"""The rules and the cluster of today -> with the changes that a what-if asks for. Nothing is put in force."""

from collections.abc import Mapping, Sequence
from typing import Any

from muster.api.parsing.merge_patch import patched
from muster.formats.rules.rules import policy_document, pools_document, tiers_document
from muster.formats.rules.team_tree import teams_document
from muster.formats.scenarios.references import read_references
from muster.formats.text.document import Document, Problems
from muster.model.errors import InvalidInput
from muster.model.ids import NodeName
from muster.model.limits import NODES_PER_CLUSTER
from muster.model.node import ClusterSpec, Node
from muster.model.policy import Policy
from muster.model.records import evolve
from muster.model.scenario import Rules
from muster.model.team import Team

FILE = "what-if"


def changed_rules(
    rules: Rules, policy: Policy | None, settings: Mapping[str, Any], teams: Mapping[str, Mapping[str, Any]]
) -> Rules:
    """The rules with another policy, other settings of it, and other quotas; what is not named stays."""
    parts = {
        "tiers": tiers_document(rules.tiers),
        "pools": pools_document(rules.pools) or None,
        "teams": _changed_teams(rules.teams, teams) or None,
        "policy": patched(policy_document(policy or rules.policy), settings),
    }
    problems = Problems(Document(file=FILE, value=parts))
    read = read_references(parts, problems)
    problems.stop_if_any()
    return evolve(rules, teams=read.teams, tiers=read.tiers, pools=read.pools, policy=read.policy)


def _changed_teams(teams: Sequence[Team], changes: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    known = {team.path: team for team in teams}
    tree = teams_document(teams)
    for path, change in changes.items():
        if path not in known:
            raise InvalidInput(f"{FILE}: there is no team {path}; choose from: {', '.join(known) or 'none'}")
        place = _entry(tree, path)
        below = place.pop("teams", {})
        wanted = patched(place, change)
        place.clear()
        place |= {**wanted, "teams": below}
    return tree


def _entry(tree: dict[str, Any], path: str) -> dict[str, Any]:
    first, *below = path.split("/")
    found: dict[str, Any] = tree[first]
    for name in below:
        found = found["teams"][name]
    return found


def with_counts(cluster: ClusterSpec, counts: Mapping[str, int]) -> ClusterSpec:
    """The cluster with so many nodes of the kind of each named node. New ones stand beside those of their kind."""
    kinds = {node.name: _kind(node) for node in cluster.nodes}
    wanted = _by_kind(kinds, counts)
    rest = [node for node in cluster.nodes if kinds[node.name] not in wanted]
    total = len(rest) + sum(wanted.values())
    if not total:
        raise InvalidInput(f"{FILE}: a cluster has at least one node")
    if total > NODES_PER_CLUSTER:
        raise InvalidInput(f"{FILE}: a cluster has at most {NODES_PER_CLUSTER} nodes")
    for kind, count in wanted.items():
        alike = [node for node in cluster.nodes if kinds[node.name] == kind]
        rest += (_numbered(alike, place) for place in range(count))
    return evolve(cluster, nodes=tuple(rest))


def _by_kind(kinds: Mapping[NodeName, Node], counts: Mapping[str, int]) -> dict[Node, int]:
    wanted: dict[Node, int] = {}
    for like, count in counts.items():
        kind = kinds.get(NodeName(like))
        if kind is None:
            raise InvalidInput(f"{FILE}: there is no node {like}")
        if kind in wanted:
            raise InvalidInput(f"{FILE}: {like} is of the same kind as a node before it; name one node of a kind")
        wanted[kind] = count
    return wanted


def _numbered(alike: Sequence[Node], place: int) -> Node:
    if place < len(alike):
        return alike[place]
    return evolve(alike[place % len(alike)], name=NodeName(f"{alike[0].name}-more-{place - len(alike) + 1}"))


def _kind(node: Node) -> Node:
    """What nodes of one kind have in common."""
    return evolve(node, name=NodeName(""), domains=())
