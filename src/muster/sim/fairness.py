"""Finish-time fairness: how long a job took compared with having its fair share to itself all the time.

    rho = completion / (run * max(1, gpus / share))

Where GPU types differ, the share is one of every type, so alone on it the job would run at the average of their speeds.

The share of a job at a moment is the cluster's GPUs, divided between the teams that have jobs by their weights, and
inside the team between its jobs; of the whole life of the job the average counts. A job is active from its submission
to its end. A rho above 1 means that the job would have been better off alone on its share (Themis, Sia).

Only jobs that finished have a rho.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from muster.core.order.entitlements import Entitlements
from muster.model.ids import TeamPath
from muster.model.job import JobState
from muster.model.team import Team
from muster.model.trace import TraceJob
from muster.sim.outcome import GpusByType, JobOutcome, Replay
from muster.sim.timeline import is_rejected

TOLERANCE = 1e-9
"""By how much rho may exceed 1 through rounding alone."""

EVERYBODY = TeamPath("")
"""The one team of all jobs when teams do not count."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fairness:
    """How the jobs of a replay fared against their shares."""

    worst: float
    unfair_fraction: float
    """The part of the finished jobs with a rho above 1."""


def fairness(replay: Replay, weights: Mapping[TeamPath, int] | None = None) -> Fairness:
    """The worst rho and how many are unfair. With weights (thousandths) teams count, without them only jobs do."""
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
    run_ms = outcome.job.run_ms / _mean_speed(outcome.job, gpus_by_type)
    ideal_ms = run_ms * max(1.0, outcome.job.gpu_milli / share_milli)
    return completion_ms / ideal_ms if ideal_ms else float(completion_ms)


def _mean_speed(job: TraceJob, gpus_by_type: GpusByType) -> float:
    """How fast a job is on a share of all types that it accepts, relative to the one that its run time is from."""
    if not job.run_ms_by_type:
        return 1.0
    run_ms = dict(job.run_ms_by_type)
    accepted = [(kind, gpus) for kind, gpus in gpus_by_type if not job.gpu_types or kind in job.gpu_types]
    speeds = sum(gpus * job.run_ms / (run_ms.get(kind, job.run_ms) or 1) for kind, gpus in accepted)
    return speeds / sum(gpus for _, gpus in accepted) if speeds else 1.0


def _mean_shares(
    outcomes: Sequence[JobOutcome], capacity_milli: int, weights: Mapping[TeamPath, int] | None
) -> list[float | None]:
    """GPU thousandths that each finished job was due on average, by the integral that the scheduler goes by."""
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
    """Beginnings and ends of the jobs' lives in the order of time; who begins and ends in one moment begins first."""
    changes = [(outcome.job.submit_ms, 1, place) for place, outcome in enumerate(outcomes) if not is_rejected(outcome)]
    changes += [(outcome.end_ms, -1, place) for place, outcome in enumerate(outcomes) if outcome.end_ms is not None]
    changes.sort(key=lambda change: (change[0], -change[1], change[2]))
    return changes
