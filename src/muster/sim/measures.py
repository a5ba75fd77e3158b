"""The figures of a replay: the object that `muster simulate -o json` prints for each policy.

Percentiles are by nearest rank: the p99 is the smallest value that at least 99 per cent of all values do not exceed.
`jct_s` and `total_wait_s` count jobs that finished, other waits count jobs that started. `utilisation` and
`fragmentation` cover the time from the first submission to the last, in which the policy had work to choose from.
Everything else covers the whole replay. A figure without any value is None, because the mean of nothing is not 0; only
`fragmentation` is 0 when nothing was free.

Jobs that ask for nothing are in `jobs`, `finished` and `without_resources` and in no other figure. No policy decides
about them, so they would only make all policies look better and more alike.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from muster.model.job import JobState
from muster.model.team import Team
from muster.model.trace import RUN_MS_MIN
from muster.sim.fairness import Fairness, fairness
from muster.sim.outcome import JobOutcome, Replay
from muster.sim.overload_figures import overload_figures
from muster.sim.timeline import is_rejected

SECOND_MS = 1000


def measures(replay: Replay, teams: Sequence[Team] = ()) -> dict[str, Any]:
    """All figures of one replay as plain values. With teams, `rho` divides shares by their weights, else by job."""
    outcomes = replay.outcomes
    finished = [outcome for outcome in outcomes if outcome.state is JobState.SUCCEEDED]
    started = [outcome for outcome in outcomes if outcome.first_start_ms is not None]
    weights = {team.path: team.weight for team in teams}
    rho_by_jobs = _fairness_values(fairness(replay), len(finished))
    rho_by_teams = _fairness_values(fairness(replay, weights), len(finished))
    return {
        "policy": replay.policy,
        "trace": replay.trace,
        "jobs": len(outcomes) + replay.without_resources,
        **endings(outcomes, replay.without_resources),
        "jct_s": distribution(outcome.completion_ms for outcome in finished),
        "first_wait_s": distribution(outcome.first_wait_ms for outcome in started),
        "total_wait_s": distribution(outcome.total_wait_ms for outcome in finished),
        "wait_by_tier_s": _waits_by(started, lambda outcome: outcome.job.tier),
        "wait_by_team_s": _waits_by(started, lambda outcome: outcome.job.team),
        "makespan_s": _seconds(makespan_ms(outcomes)),
        "utilisation": utilisation(replay),
        **_costs(replay, started),
        "fragmentation": fragmentation(replay),
        "rho": rho_by_teams if weights else rho_by_jobs,
        "rho_by_weights": {"jobs": rho_by_jobs, "teams": rho_by_teams},
        "overload": overload_figures(replay),
        "cycles": replay.cycles,
        "cpu_s": round(replay.cpu_s, 3),
        "log_hash": replay.log_hash,
    }


def endings(outcomes: Sequence[JobOutcome], without_resources: int = 0) -> dict[str, int]:
    """How many jobs ended in each way. The first four add up to all jobs; the others are parts of them.

    Unfinished jobs reached their limit, crashed too often, or still waited when nothing could happen any more. Jobs
    `without_resources` have finished. So have those of `zero_length`, unless faults stopped them.
    """
    states = Counter(outcome.state for outcome in outcomes)
    rejected = sum(is_rejected(outcome) for outcome in outcomes)
    finished, cancelled = states[JobState.SUCCEEDED], states[JobState.CANCELLED]
    return {
        "finished": finished + without_resources,
        "cancelled": cancelled,
        "unfinished": len(outcomes) - finished - cancelled - rejected,
        "rejected": rejected,
        "timed_out": states[JobState.TIMED_OUT],
        "failed": states[JobState.FAILED] - rejected,
        "without_resources": without_resources,
        "zero_length": sum(outcome.job.run_ms <= RUN_MS_MIN for outcome in outcomes),
    }


def distribution(values_ms: Iterable[int | None]) -> dict[str, float | None]:
    """Mean, median and 99th percentile in seconds."""
    values = sorted(value for value in values_ms if value is not None)
    if not values:
        return {"mean": None, "p50": None, "p99": None}
    return {
        "mean": round(sum(values) / len(values) / SECOND_MS, 3),
        "p50": nearest_rank(values, 50) / SECOND_MS,
        "p99": nearest_rank(values, 99) / SECOND_MS,
    }


def nearest_rank(in_order: Sequence[int], percent: int) -> int:
    """The smallest value that at least `percent` per cent of the values do not exceed."""
    rank = -(-len(in_order) * percent // 100)
    return in_order[max(rank, 1) - 1]


def makespan_ms(outcomes: Sequence[JobOutcome]) -> int | None:
    """From the first submission to the last end."""
    ends = [outcome.end_ms for outcome in outcomes if outcome.end_ms is not None]
    return max(ends) - outcomes[0].job.submit_ms if ends else None


def _span(replay: Replay, first: int = 0) -> tuple[int, int]:
    """From the submission of one job to the last. If all of these come at once, to the end of the last stint."""
    begin_ms, end_ms = replay.outcomes[first].job.submit_ms, replay.outcomes[-1].job.submit_ms
    if begin_ms == end_ms:
        ends = (stint.end_ms for outcome in replay.outcomes for stint in outcome.stints)
        end_ms = max(ends, default=begin_ms)
    return begin_ms, end_ms


def utilisation(replay: Replay, first: int = 0) -> float | None:
    """Allocated GPU time over all GPU time while jobs were submitted, from the job at place `first` on."""
    begin_ms, end_ms = _span(replay, first)
    available = replay.capacity_milli * (end_ms - begin_ms)
    allocated = sum(
        stint.gpu_milli * (min(stint.end_ms, end_ms) - max(stint.start_ms, begin_ms))
        for outcome in replay.outcomes
        for stint in outcome.stints
        if stint.start_ms < end_ms and stint.end_ms > begin_ms
    )
    return _share(allocated, available)


def fragmentation(replay: Replay) -> float:
    """The expected part of the free GPU time that jobs could not use, while jobs were submitted."""
    begin_ms, end_ms = _span(replay)
    free = fragments = 0.0
    for sample, after in zip(replay.samples, replay.samples[1:], strict=False):
        if begin_ms <= sample.at_ms < end_ms:
            free_gpu_time = (sample.usable_milli - sample.used_milli) * (min(after.at_ms, end_ms) - sample.at_ms)
            free += free_gpu_time
            fragments += free_gpu_time * sample.fragmentation
    return _share(fragments, free) or 0.0


def _costs(replay: Replay, started: Sequence[JobOutcome]) -> dict[str, Any]:
    """What stopping, saving and faults have cost."""
    outcomes = replay.outcomes
    allocated = sum(
        stint.gpu_milli * (stint.end_ms - stint.start_ms) for outcome in outcomes for stint in outcome.stints
    )
    allocated_gpu_ms = allocated / 1000
    useful = sum(outcome.useful_gpu_ms for outcome in outcomes)
    lost = sum(outcome.lost_gpu_ms for outcome in outcomes)
    preemptions = sum(outcome.preemptions for outcome in outcomes)
    lifetimes = sum(_lifetime_gpu_ms(outcome) for outcome in started)
    return {
        "preemptions": preemptions,
        "preemptions_per_job": round(preemptions / len(outcomes), 6),
        "faults": sum(outcome.faults for outcome in outcomes),
        "lost_gpu_s": lost / SECOND_MS,
        "lost_fraction": _share(lost, allocated_gpu_ms),
        "saving_gpu_s": sum(outcome.saving_gpu_ms for outcome in outcomes) / SECOND_MS,
        "slowed_gpu_s": sum(outcome.slowed_gpu_ms for outcome in outcomes) / SECOND_MS,
        "goodput": _share(useful, allocated_gpu_ms),
        "effective_training_time": _share(useful, lifetimes),
    }


def _lifetime_gpu_ms(outcome: JobOutcome) -> float:
    """GPU time from the first start to the end, with or without GPUs in between, as Meta and ByteDance count it."""
    if outcome.end_ms is None or outcome.first_start_ms is None:
        return 0.0
    return (outcome.end_ms - outcome.first_start_ms) * outcome.job.gpu_milli / 1000


def _waits_by(started: Sequence[JobOutcome], group: Callable[[JobOutcome], str]) -> dict[str, dict[str, float | None]]:
    waits: dict[str, list[int | None]] = {}
    for outcome in started:
        waits.setdefault(group(outcome), []).append(outcome.first_wait_ms)
    return {name: distribution(waits[name]) for name in sorted(waits)}


def _fairness_values(fairness: Fairness, finished: int) -> dict[str, float | None]:
    """The values, or None if no job finished: only finished jobs have a rho."""
    if not finished:
        return {"worst": None, "unfair_fraction": None}
    return {"worst": round(fairness.worst, 6), "unfair_fraction": round(fairness.unfair_fraction, 6)}


def _share(part: float, whole: float) -> float | None:
    return round(part / whole, 6) if whole else None


def _seconds(time_ms: int | None) -> float | None:
    return None if time_ms is None else time_ms / SECOND_MS
