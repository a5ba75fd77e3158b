"""What a replay says about a policy, and the bars that the default policy is held to."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.policy_cases import Case
from muster.estimates.training import Habits
from muster.model.policy import DAY_MS
from muster.policies import find_policy
from muster.sim.measures import measures
from muster.sim.outcome import Replay
from muster.sim.replay import Circumstances, replay

HABITS = Habits(restart_cost_ms=30_000)
LATE_MS = DAY_MS
"""A job that ends this much later than under fifo is late."""
RHO_FACTOR = 1.25
UNFAIR_POINTS = 1.0
GOODPUT_PERCENT = 99.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """One case under one policy."""

    policy: str
    finished: int
    mean_jct_s: float
    preemptions_per_job: float
    worst_rho: float
    """Shares are counted by job, because the case declares no teams."""
    unfair_percent: float
    goodput_percent: float
    late_percent: float | None
    """Jobs that end more than a day later than under fifo; None if fifo was not measured."""
    cpu_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """One case under every policy that was asked for."""

    case: str
    jobs: int
    nodes: int
    load: float
    is_tuned: bool
    known: float
    """The part of its jobs that are also in a tuned case."""
    figures: tuple[Figures, ...]
    bars: tuple[tuple[str, bool], ...]
    """Each bar and whether `muster` holds it; empty unless both `muster` and `las` were measured."""


def measure(case: Case, policies: Sequence[str]) -> Result:
    """Replay a case under each policy."""
    found: dict[str, Figures] = {}
    ends_ms: list[int | None] | None = None
    # Fifo goes first, because the others are compared with when it ends each job.
    for name in sorted(policies, key=lambda policy: policy != "fifo"):
        replayed = replay(case.trace, case.cluster, find_policy(name), Circumstances(habits=HABITS))
        if name == "fifo":
            ends_ms = [outcome.end_ms for outcome in replayed.outcomes]
        found[name] = _figures(replayed, ends_ms)
    return Result(
        case=case.name,
        jobs=len(case.trace.jobs),
        nodes=case.nodes,
        load=round(case.load, 2),
        is_tuned=case.is_tuned,
        known=round(case.known, 2),
        figures=tuple(found[name] for name in policies),
        bars=tuple(bars(found["muster"], found["las"]).items()) if {"muster", "las"} <= found.keys() else (),
    )


def bars(muster: Figures, las: Figures) -> Mapping[str, bool]:
    """Whether each bar holds. A mean over fewer jobs is no better mean, so as many must have finished."""
    return {
        "mean": muster.mean_jct_s <= las.mean_jct_s and muster.finished >= las.finished,
        "rho": muster.worst_rho <= RHO_FACTOR * las.worst_rho,
        "unfair": muster.unfair_percent <= las.unfair_percent + UNFAIR_POINTS,
        "preemptions": muster.preemptions_per_job <= las.preemptions_per_job,
        "goodput": muster.goodput_percent >= GOODPUT_PERCENT,
    }


def late_percent(replayed: Replay, ends_ms: Sequence[int | None]) -> float:
    """The part of the jobs that end more than `LATE_MS` later than another replay ended them, or not at all."""
    late = sum(
        reference is not None and (outcome.end_ms is None or outcome.end_ms > reference + LATE_MS)
        for outcome, reference in zip(replayed.outcomes, ends_ms, strict=True)
    )
    return 100 * late / len(replayed.outcomes)


def _figures(replayed: Replay, ends_ms: Sequence[int | None] | None) -> Figures:
    found: Mapping[str, Any] = measures(replayed)
    return Figures(
        policy=replayed.policy,
        finished=found["finished"],
        mean_jct_s=found["jct_s"]["mean"],
        preemptions_per_job=found["preemptions_per_job"],
        worst_rho=found["rho"]["worst"],
        unfair_percent=round(100 * found["rho"]["unfair_fraction"], 4),
        goodput_percent=round(100 * found["goodput"], 4),
        late_percent=None if ends_ms is None else round(late_percent(replayed, ends_ms), 4),
        cpu_s=found["cpu_s"],
    )
