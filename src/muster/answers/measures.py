"""What a training measures of itself: its loss, and whatever else it hands over."""

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
