"""What a training measures of itself: its loss, whatever else it hands over, and how fast its ranks are."""

from dataclasses import dataclass
from typing import Annotated

from muster.answers.base import Answer
from muster.answers.marks import NEEDED, Time


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure(Answer):
    """The values of one step."""

    attempt: int
    at: Time
    step: Annotated[int, NEEDED]
    values: dict[str, float]
    """By name, such as `loss`."""
    no_numbers: tuple[str, ...] = ()
    """What was measured and is no number, such as a loss that has become infinite."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RankPace(Answer):
    """How far one rank of a running training is, and how long its steps take."""

    rank: Annotated[int, NEEDED]
    """The rank of the framework: one for each process."""
    worker: int
    """The rank of the worker that the process belongs to."""
    node: str
    step: int
    last_step_at: Time | None
    step_s: float | None
    """The median of its last steps; null before the first. In synchronous training all ranks have about the same."""
    busy_s: float | None
    """How long the rank was busy itself in such a step, without waiting for others; null when that is not measured."""
    saving: bool
    """True while it saves a checkpoint."""
    slowdown: float | None
    """Its own busy time over that of its peers, if it stays slower than they are; else null."""
