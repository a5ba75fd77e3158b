"""A scenario file -> `Scenario`.

Each part is read by itself and checked against the others, so that one run shows everything that is wrong.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

from muster.formats.parts.wire import read_part
from muster.formats.scenarios.references import References, read_references
from muster.formats.scenarios.reservations import reservations_part
from muster.formats.scenarios.scenario_jobs import ScenarioJobs
from muster.formats.scenarios.scenario_wire import ScenarioWire
from muster.formats.text.document import Document, Problems, read_document
from muster.model.ids import TeamPath
from muster.model.scenario import Scenario
from muster.model.spec import DEFAULT_TEAM
from muster.model.team import Team


def read_scenario(source: str | Path) -> Scenario:
    """The scenario in a file, or on standard input when the name is `-`."""
    return scenario_from_document(read_document(source))


def scenario_from_document(document: Document) -> Scenario:
    """The scenario in a document, checked as a whole."""
    problems = Problems(document)
    wire = read_part(ScenarioWire, document.value, problems, ())
    parts = document.value if isinstance(document.value, dict) else {}
    references = read_references(parts, problems)
    jobs = ScenarioJobs(references, None if wire is None else wire.now, problems)
    running = jobs.running(_items(parts, "running"))
    waiting = jobs.waiting(_items(parts, "waiting"), running)
    holds = jobs.promises(_items(parts, "holds"), waiting)
    reservations = reservations_part(_items(parts, "reservations"), references, problems)
    usage = {} if wire is None else wire.usage
    preemptions = {} if wire is None else wire.recent_preemptions
    _check_teams(references, {"usage": usage, "recent_preemptions": preemptions}, problems)
    problems.stop_if_any()
    assert wire is not None  # It is missing only after a problem was noted.
    return Scenario(
        now_ms=wire.now,
        cluster=references.cluster,
        pools=references.pools,
        teams=_teams(references, jobs),
        tiers=references.tiers,
        policy=references.policy,
        usage=_by_team(usage),
        recent_preemptions=_by_team(preemptions),
        running=running,
        waiting=waiting,
        promises=holds,
        reservations=reservations,
    )


def _items(parts: Mapping[str, object], key: str) -> Sequence[object]:
    """The entries of a list. A value that is not a list has been noted already."""
    value = parts.get(key)
    return value if isinstance(value, list) else ()


def _check_teams(references: References, amounts: Mapping[str, Mapping[str, int]], problems: Problems) -> None:
    for key, by_team in amounts.items():
        for path in by_team:
            if path != DEFAULT_TEAM:
                references.check_team(path, problems, (key, path))


def _by_team(amounts: Mapping[str, int]) -> tuple[tuple[TeamPath, int], ...]:
    return tuple((TeamPath(path), amount) for path, amount in sorted(amounts.items()))


def _teams(references: References, jobs: ScenarioJobs) -> tuple[Team, ...]:
    """The team tree, with the default team if a job that names no team needs it."""
    missing = references.known_teams is not None and DEFAULT_TEAM not in references.known_teams
    return (*references.teams, Team(path=DEFAULT_TEAM)) if missing and jobs.uses_default_team else references.teams
