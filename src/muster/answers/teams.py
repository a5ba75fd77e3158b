"""Teams, what each was given and what it uses."""

from dataclasses import dataclass
from typing import Annotated

from muster.answers.base import Answer
from muster.answers.marks import NEEDED, Example, Otherwise


@dataclass(frozen=True, slots=True, kw_only=True)
class Team(Answer):
    """A team, what it was given and what it uses."""

    path: Annotated[str, NEEDED, Example("nlp/pretraining")]
    guaranteed: dict[str, float]
    limit: dict[str, float]
    weight: Annotated[float, Otherwise(1)]
    tiers: tuple[str, ...] | None
    """The tiers that its jobs may use, as far as those above it may; null binds them to none."""
    max_priority: int | None
    """The highest priority that its jobs may have; null is any."""
    allow_unpreemptible: Annotated[bool, Otherwise(True)]
    """Whether its jobs may say that they are not preemptible."""
    used: dict[str, float]
    """GPUs in use by it and the teams below it, by type; `*` is the sum."""
    borrowed: dict[str, float]
    """What of that is above its guarantee."""
    running: int
    """Jobs of it and the teams below it."""
    waiting: int
    usage_gpu_s: float
    """GPU time that fair share remembers; it fades with the half-life."""
