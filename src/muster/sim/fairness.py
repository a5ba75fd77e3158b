"""Finish-time fairness: how long a job took compared with a run alone on its fair share of the cluster.

    rho = completion / (run * max(1, gpus / share))

Where GPU types differ, the share is a share of every type. Alone on it the job would run at the average speed of the
types that it accepts.

The share of a job at a moment: the cluster's GPUs are divided by weight between the teams that have jobs, and then
equally between the jobs of the team. What counts is the average share over the whole life of the job, from its
submission to its end. A rho above 1 means that the job would have been better off alone on its share (Themis, Sia).

Only jobs that finished have a rho.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from muster.core.order.entitlements import Entitlements
from muster.model.ids import TeamPath
from muster.model.job import JobState
from muster.model.team import Team
from muster.sim.outcome import JobOutcome, Replay
from muster.sim.speeds import GpusByType, mean_speed
from muster.sim.timeline import is_rejected

TOLERANCE = 1e-9
"""By how much rho may exceed 1 through rounding alone."""

EVERYBODY = TeamPath("")
"""The team of all jobs when teams do not count."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fairness:
    """How the jobs of a replay did compared with their shares."""

    worst: float
    unfair_fraction: float
    """The part of the finished jobs with a rho above 1."""


def fairness(replay: Replay, weights: Mapping[TeamPath, int] | None = None) -> Fairness:
    """The worst rho, and how many jobs are unfair. With weights (thousandths) teams count, else only jobs."""
    values = rhos(replay, weights)
    if not values:
        return Fairness(worst=0.0, unfair_fraction=0.0)
    unfair = sum(value > 1 + TOLERANCE for value in values)
    return Fairness(worst=max(values), unfair_fraction=unfair / len(values))


def rhos(replay: Replay, weights: Mapping[TeamPath, int] | None = None) -> list[float]:
    """The rho of every job that finished, in the order of the trace."""
    shares = _mean_shares(replay.outcomes, replay.capacity_milli, weights)
    return [
        _rho(outcome, share, replay.gpus_by_type)
        for outcome, share in zip(replay.outcomes, shares, strict=True)
        if share is not None
    ]


def _rho(outcome: JobOutcome, share_milli: float, gpus_by_type: GpusByType) -> float:
    completion_ms = outcome.completion_ms or 0
    run_ms = outcome.job.run_ms / mean_speed(outcome.job, gpus_by_type)
    ideal_ms = run_ms * max(1.0, outcome.job.gpu_milli / share_milli)
    return completion_ms / ideal_ms if ideal_ms else float(completion_ms)


def _mean_shares(
    outcomes: Sequence[JobOutcome], capacity_milli: int, weights: Mapping[TeamPath, int] | None
) -> list[float | None]:
    """The average due share of each finished job in GPU thousandths, by the integral that the scheduler uses."""
    teams = tuple(Team(path=path, weight=weight) for path, weight in (weights or {}).items())
    entitlements = Entitlements(teams, capacity_milli)
    shares: list[float | None] = [None] * len(outcomes)
    for at_ms, by, place in _changes(outcomes):
        outcome = outcomes[place]
        job = outcome.job.id
        if by > 0:
            entitlements.join(job, EVERYBODY if weights is None else outcome.job.team, at_ms)
            continue
        life_ms = outcome.completion_ms
        if outcome.state is JobState.SUCCEEDED and life_ms is not None:
            shares[place] = entitlements.due_milli_ms(job, at_ms) / life_ms if life_ms else float(capacity_milli)
        entitlements.leave(job, at_ms)
    return shares


def _changes(outcomes: Sequence[JobOutcome]) -> list[tuple[int, int, int]]:
    """Submissions (+1) and ends (-1) of jobs in the order of time. At one moment submissions come first."""
    changes = [(outcome.job.submit_ms, 1, place) for place, outcome in enumerate(outcomes) if not is_rejected(outcome)]
    changes += [(outcome.end_ms, -1, place) for place, outcome in enumerate(outcomes) if outcome.end_ms is not None]
    changes.sort(key=lambda change: (change[0], -change[1], change[2]))
    return changes
