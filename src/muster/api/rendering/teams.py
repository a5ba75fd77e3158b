"""Teams as they are sent, with what they use."""

from collections import Counter

from muster.answers.teams import Team
from muster.api.rendering.times import seconds
from muster.core.order.quota import remembered
from muster.formats.rules.team_tree import TeamWire
from muster.formats.text.units import plain_number
from muster.model import team as model
from muster.model.ids import GpuType, TeamPath
from muster.model.records import asdict
from muster.model.team import ANY_TYPE, ancestors, bounds_of
from muster.views.job_counts import JobCounts
from muster.views.view import View


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


def team_body(view: View, team: model.Team, counts: JobCounts, usage: Counter[TeamPath]) -> Team:
    """A team in its current state, with what it is configured to have. The teams above it limit what it may ask for."""
    used = _used(counts, team.path)
    bounds = asdict(bounds_of(team.path, {each.path: each for each in view.rules.teams}))
    return Team(
        path=team.path,
        **(TeamWire.complete(team) | bounds),
        used={gpu_type: plain_number(milli) for gpu_type, milli in used.items()},
        borrowed={gpu_type: plain_number(milli) for gpu_type, milli in _borrowed(team, used).items()},
        running=counts.team_running[team.path],
        waiting=counts.team_waiting[team.path],
        usage_gpu_s=seconds(usage[team.path]),
    )


def _used(counts: JobCounts, path: TeamPath) -> dict[GpuType, int]:
    amounts = {gpu_type: counts.team_gpus_milli[path, gpu_type] for gpu_type in (ANY_TYPE, *counts.gpus)}
    return {gpu_type: milli for gpu_type, milli in amounts.items() if milli}


def _borrowed(team: model.Team, used: dict[GpuType, int]) -> dict[GpuType, int]:
    """Usage above the guarantee, for the types that the guarantee names; all usage when it names none."""
    guaranteed = dict(team.guaranteed)
    covered = {
        gpu_type: milli for gpu_type, milli in used.items() if gpu_type in guaranteed or ANY_TYPE not in guaranteed
    }
    above = {gpu_type: milli - guaranteed.get(gpu_type, 0) for gpu_type, milli in covered.items()}
    if ANY_TYPE not in guaranteed and guaranteed:
        above[ANY_TYPE] = sum(max(milli, 0) for gpu_type, milli in above.items() if gpu_type != ANY_TYPE)
    return {gpu_type: milli for gpu_type, milli in above.items() if milli > 0}
