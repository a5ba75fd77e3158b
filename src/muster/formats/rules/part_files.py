"""The `teams` or the `policy` part of a file by itself: in a file of its own, in a scenario, or in a configuration.

Either is written as in a scenario. The other parts of the file are not looked at.
"""

from pathlib import Path

from muster.formats.rules.cluster_file import cluster_from_text, find_cluster, is_size
from muster.formats.rules.rules import policy_part
from muster.formats.rules.team_tree import team_tree
from muster.formats.text.document import Document, Problems, read_document
from muster.model.node import ClusterSpec
from muster.model.policy import Policy
from muster.model.team import Team

TEAMS, POLICY = "teams", "policy"


def read_teams(source: str | Path) -> tuple[Team, ...]:
    """The teams in a file, parents before their children. A file without a `teams` part is refused."""
    document = read_document(source)
    problems = Problems(document)
    teams = find_teams(document, problems)
    if teams is None:
        problems.add((), f"there is no {TEAMS} part", f"{TEAMS}: {{name: {{weight: 2}}, …}}")
    problems.stop_if_any()
    return teams or ()


def read_cluster_and_teams(source: str | Path) -> tuple[ClusterSpec, tuple[Team, ...]]:
    """The cluster that `75x8` or a file describes, and the teams that the file may name beside it."""
    if is_size(source):
        return cluster_from_text(str(source)), ()
    document = read_document(source)
    return cluster_and_teams(document, Problems(document))


def cluster_and_teams(document: Document, problems: Problems) -> tuple[ClusterSpec, tuple[Team, ...]]:
    """The same from a document that is already read."""
    cluster = find_cluster(document, problems)
    teams = find_teams(document, problems)
    problems.stop_if_any()
    return cluster, teams or ()


def find_teams(document: Document, problems: Problems) -> tuple[Team, ...] | None:
    """The teams of a document, or None if it has no `teams` part. What is wrong with them is noted."""
    value = document.value
    if not isinstance(value, dict):
        return None
    if value.get(TEAMS) is not None:
        return team_tree(value[TEAMS], problems, (TEAMS,))
    if TEAMS not in value:
        problems.note_misspelt(TEAMS)
    return None


def read_policy(source: str | Path) -> Policy:
    """The policy in a file. A file without a `policy` part is refused."""
    document = read_document(source)
    problems = Problems(document)
    value = document.value.get(POLICY) if isinstance(document.value, dict) else None
    if value is None:
        problems.note_misspelt(POLICY)
        problems.add((), f"there is no {POLICY} part", f"{POLICY}: {{turns: false, …}}, or [{POLICY}] in TOML")
    policy = Policy() if value is None else policy_part(value, problems, (POLICY,))
    problems.stop_if_any()
    return policy
