"""The `teams` part of a file by itself: of a file with nothing else, of a cluster file, or of a scenario.

It is written as in a scenario; whatever else the file holds is left to others.
"""

from pathlib import Path

from muster.formats.cluster_file import cluster_from_text, find_cluster, is_size
from muster.formats.document import Document, Problems, read_document
from muster.formats.team_tree import team_tree
from muster.model.node import ClusterSpec
from muster.model.team import Team

PART = "teams"


def read_teams(source: str | Path) -> tuple[Team, ...]:
    """The teams in a file, parents before their children; a file without a `teams` part is refused."""
    document = read_document(source)
    problems = Problems(document)
    teams = find_teams(document, problems)
    if teams is None:
        problems.add((), f"there is no {PART} part", f"{PART}: {{name: {{weight: 2}}, …}}")
    problems.stop_if_any()
    return teams or ()


def read_cluster_and_teams(source: str | Path) -> tuple[ClusterSpec, tuple[Team, ...]]:
    """The cluster that `75x8` or a file describes, and the teams that the file may name beside it."""
    if is_size(source):
        return cluster_from_text(str(source)), ()
    document = read_document(source)
    return cluster_and_teams(document, Problems(document))


def cluster_and_teams(document: Document, problems: Problems) -> tuple[ClusterSpec, tuple[Team, ...]]:
    """The same from a document that was read."""
    cluster = find_cluster(document, problems)
    teams = find_teams(document, problems)
    problems.stop_if_any()
    return cluster, teams or ()


def find_teams(document: Document, problems: Problems) -> tuple[Team, ...] | None:
    """The teams of a document, or None where it has no such part; what is wrong with them is noted."""
    value = document.value
    if not isinstance(value, dict):
        return None
    if value.get(PART) is not None:
        return team_tree(value[PART], problems, (PART,))
    if PART not in value:
        problems.note_misspelt(PART)
    return None
