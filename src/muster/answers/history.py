"""What was used and wanted over time. All lists have one number for each step of time, the oldest first."""

from dataclasses import dataclass

from muster.answers.base import Answer
from muster.answers.marks import Time

Sums = tuple[float, ...]
"""One number for each step of time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolHistory(Answer):
    """The GPUs of one pool over time."""

    gpu_s: Sums
    """GPU seconds that there were, in service or not."""
    out_gpu_s: Sums
    """Those of GPUs that took no new work: bad ones, and those of nodes that take none. Jobs may still have held
    some of them, as on a node that is being drained."""
    used_gpu_s: dict[str, Sums]
    """Those in use, by tier."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TierHistory(Answer):
    """The queue of one tier over time."""

    waiting_job_s: Sums
    """Seconds that jobs waited. Over `covered_s`, it is how many waited on average."""
    starts: tuple[int, ...]
    """Jobs that started for the first time."""
    waited_s: Sums
    """How long these had waited, together."""
    longest_wait_s: Sums
    """The longest that one of them had waited."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TeamHistory(Answer):
    """What one team, with the teams below it, used and wanted over time."""

    used_gpu_s: Sums
    borrowed_gpu_s: Sums
    """What of it was above its guarantee."""
    waiting_job_s: Sums
    """Seconds that its jobs waited."""
    cost: Sums | None
    """GPU hours times the price of their pool; null when no pool has a price of its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class History(Answer):
    """What was used and wanted over time."""

    start: Time
    """When the first step begins."""
    step_s: int
    """How long each step is."""
    covered_s: Sums
    """How much of each step is known: of the last one, what has passed of it."""
    pools: dict[str, PoolHistory]
    tiers: dict[str, TierHistory]
    """Most urgent first."""
    teams: dict[str, TeamHistory]
    """By path. Small teams of a time with very many share the name `(others)`."""
