"""Teams with their quotas and what they use."""

from dataclasses import dataclass
from typing import Annotated

from muster.answers.base import Answer
from muster.answers.marks import NEEDED, Example, Otherwise


@dataclass(frozen=True, slots=True, kw_only=True)
class Team(Answer):
    """A team, its quota and what it uses."""

    path: Annotated[str, NEEDED, Example("nlp/pretraining")]
    guaranteed: dict[str, float]
    limit: dict[str, float]
    weight: Annotated[float, Otherwise(1)]
    tiers: tuple[str, ...] | None
    """The tiers that its jobs may use, limited by the teams above it; null means all tiers."""
    max_priority: int | None
    """The highest priority that its jobs may have; null means any."""
    allow_unpreemptible: Annotated[bool, Otherwise(True)]
    """Whether its jobs may be marked as not preemptible."""
    used: dict[str, float]
    """GPUs in use by the team and the teams below it, by type; `*` is the sum over all types."""
    borrowed: dict[str, float]
    """The part of `used` that is above its guarantee."""
    lent: dict[str, float]
    """What others use of its guarantee, by the types that it names: the team would have to reclaim it. What is
    guaranteed, not used and not lent is free now. The teams of one parent lend together what is borrowed against their
    guarantees, each in proportion to what it does not use."""
    running: int
    """Running jobs of the team and the teams below it."""
    waiting: int
    usage_gpu_s: float
    """GPU time that counts for fair share, in GPU seconds; it decays with the half-life of the policy."""
    average_gpus: Annotated[float, Otherwise(0)]
    """The same as a number of GPUs: what the team used on average, with old use counting less."""
    share: Annotated[float, Otherwise(0)]
    """What fair share compares: `average_gpus` and GPUs in use now, over its weight. The lowest goes first."""
    warnings: tuple[str, ...]
    """What is doubtful about its quota, such as a guarantee above what the cluster has."""
