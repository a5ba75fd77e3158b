"""The figures of a part of a replay by which settings are compared.

Waiting is all the time in which a job had no GPUs, also after it was preempted: a setting that starts all jobs at once
and stops them at once must not look good.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from muster.model.errors import InvalidInput
from muster.model.job import JobState
from muster.model.policy import Tier
from muster.model.team import Team
from muster.sim.fairness import TOLERANCE, rhos
from muster.sim.measures import endings, nearest_rank, utilisation
from muster.sim.outcome import JobOutcome, Replay

SECOND_MS = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupWait:
    """How long the jobs of one tier or team waited."""

    name: str
    jobs: int
    wait_mean_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """How the jobs of one part of a replay did. Means and percentiles are of the jobs that finished."""

    jobs: int
    unfinished: int
    completion_mean_s: float
    wait_mean_s: float
    wait_p99_s: float
    rho_worst: float
    unfair: float
    """The part of the jobs with a rho above 1."""
    preemptions_per_job: float
    utilisation: float
    tiers: tuple[GroupWait, ...] = ()
    """The most urgent first."""
    teams: tuple[GroupWait, ...] = ()
    """By name."""
    log_hash: str = ""
    """Of the whole replay. With equal hashes the same was decided."""


def score_of(made: Replay, *, teams: Sequence[Team], tiers: Sequence[Tier], first: int = 0) -> Score:
    """The figures of the jobs from place `first` of the replay on. The jobs before them are only the circumstances."""
    part = made.outcomes[first:]
    done = [outcome for outcome in part if outcome.state is JobState.SUCCEEDED]
    if not done:
        raise InvalidInput(
            f"no job of this part of {made.trace} finishes on this cluster, so settings cannot be compared"
        )
    rho = _rhos(made, teams, first)
    completions_ms = [outcome.completion_ms or 0 for outcome in done]
    waits_ms = sorted(_wait_ms(outcome) for outcome in done)
    return Score(
        jobs=len(part),
        unfinished=endings(part)["unfinished"],
        completion_mean_s=_mean_s(completions_ms),
        wait_mean_s=_mean_s(waits_ms),
        wait_p99_s=nearest_rank(waits_ms, 99) / SECOND_MS,
        rho_worst=round(max(rho), 6),
        unfair=round(sum(value > 1 + TOLERANCE for value in rho) / len(rho), 6),
        preemptions_per_job=round(sum(outcome.preemptions for outcome in part) / len(part), 6),
        utilisation=utilisation(made, first) or 0.0,
        tiers=_groups(done, (tier.name for tier in tiers), lambda outcome: outcome.job.tier),
        teams=_groups(done, sorted({outcome.job.team for outcome in done}), lambda outcome: outcome.job.team),
        log_hash=made.log_hash,
    )


def _rhos(made: Replay, teams: Sequence[Team], first: int) -> list[float]:
    """The rho of the finished jobs of the part. Shares are counted among all jobs of the replay."""
    values = iter(rhos(made, {team.path: team.weight for team in teams} if teams else None))
    found = [
        (place, next(values)) for place, outcome in enumerate(made.outcomes) if outcome.state is JobState.SUCCEEDED
    ]
    return [value for place, value in found if place >= first]


def _groups(
    done: Sequence[JobOutcome], names: Iterable[str], group: Callable[[JobOutcome], str]
) -> tuple[GroupWait, ...]:
    """One entry for each name that has jobs, in the order of the names."""
    waits_ms: dict[str, list[int]] = {}
    for outcome in done:
        waits_ms.setdefault(group(outcome), []).append(_wait_ms(outcome))
    return tuple(
        GroupWait(name=name, jobs=len(waits_ms[name]), wait_mean_s=_mean_s(waits_ms[name]))
        for name in names
        if name in waits_ms
    )


def _wait_ms(outcome: JobOutcome) -> int:
    return outcome.total_wait_ms or 0


def _mean_s(values_ms: Sequence[int]) -> float:
    return round(sum(values_ms) / len(values_ms) / SECOND_MS, 3)
