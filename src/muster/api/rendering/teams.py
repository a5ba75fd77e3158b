"""Teams as they are sent, with what they use."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from muster.answers.teams import Team
from muster.api.rendering.times import seconds
from muster.core.doubtful_quotas import quota_doubts
from muster.core.order.quota import average_gpus_nano, remembered, share_nano
from muster.formats.rules.team_tree import TeamWire
from muster.formats.text.units import plain_number
from muster.model import team as model
from muster.model.ids import GpuType, TeamPath
from muster.model.records import asdict
from muster.model.team import ANY_TYPE, ancestors, bounds_of
from muster.views.borrowing import borrowed
from muster.views.job_counts import JobCounts
from muster.views.lending import lent
from muster.views.view import View

NANO = 1_000_000_000
SHARE_DIGITS = 6


def known_teams(view: View, counts: JobCounts) -> dict[TeamPath, model.Team]:
    """The configured teams and the teams of running or waiting jobs, by path."""
    found = {team.path: team for team in view.rules.teams}
    for path in (*counts.team_running, *counts.team_waiting):
        found.setdefault(path, model.Team(path=path))
    return dict(sorted(found.items()))


def remembered_usage(view: View, now_ms: int) -> Counter[TeamPath]:
    """Decayed GPU-milliseconds that count for fair share, of each team with the teams below it."""
    found: Counter[TeamPath] = Counter()
    for path, gpu_ms in remembered(view.usage, view.rules.policy.half_life_ms, now_ms):
        for team in ancestors(path):
            found[team] += gpu_ms
    return found


def warnings_by_team(view: View) -> Mapping[TeamPath, tuple[str, ...]]:
    """What is doubtful about the quota of each team, if anything is."""
    found: dict[TeamPath, tuple[str, ...]] = {}
    for doubt in quota_doubts(view.rules.teams, view.nodes.values()):
        for team in doubt.teams:
            found[team] = (*found.get(team, ()), doubt.message)
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class TeamFigures:
    """What is counted over all teams at once, before any of them is shown."""

    view: View
    counts: JobCounts
    usage: Counter[TeamPath]
    warnings: Mapping[TeamPath, tuple[str, ...]]
    lent: Mapping[TeamPath, Mapping[GpuType, int]]


def team_figures(view: View, counts: JobCounts, now_ms: int) -> TeamFigures:
    """The figures of all teams now."""
    teams = known_teams(view, counts)
    return TeamFigures(
        view=view,
        counts=counts,
        usage=remembered_usage(view, now_ms),
        warnings=warnings_by_team(view),
        lent=lent(teams, {path: _used(counts, path) for path in teams}, counts.gpus_free_milli),
    )


def team_body(team: model.Team, figures: TeamFigures) -> Team:
    """A team in its current state, with what it is configured to have. The teams above it limit what it may ask for."""
    counts, rules = figures.counts, figures.view.rules
    used = _used(counts, team.path)
    average_nano = average_gpus_nano(figures.usage[team.path], rules.policy.half_life_ms)
    bounds = asdict(bounds_of(team.path, {each.path: each for each in rules.teams}))
    return Team(
        path=team.path,
        **(TeamWire.complete(team) | bounds),
        used=_numbers(used),
        borrowed=_numbers(borrowed(team, used)),
        lent=_numbers(figures.lent[team.path]),
        running=counts.team_running[team.path],
        waiting=counts.team_waiting[team.path],
        usage_gpu_s=seconds(figures.usage[team.path]),
        average_gpus=round(average_nano / NANO, SHARE_DIGITS),
        share=round(share_nano(average_nano, used.get(ANY_TYPE, 0), team.weight) / NANO, SHARE_DIGITS),
        warnings=figures.warnings.get(team.path, ()),
    )


def _numbers(amounts: Mapping[GpuType, int]) -> dict[str, float]:
    return {gpu_type: plain_number(milli) for gpu_type, milli in amounts.items()}


def _used(counts: JobCounts, path: TeamPath) -> dict[GpuType, int]:
    amounts = {gpu_type: counts.team_gpus_milli[path, gpu_type] for gpu_type in (ANY_TYPE, *counts.gpus)}
    return {gpu_type: milli for gpu_type, milli in amounts.items() if milli}
