"""How a job got into its state."""

from dataclasses import dataclass
from typing import Annotated

from muster.answers.base import Answer
from muster.answers.jobs import State
from muster.answers.marks import NEEDED, Example, Otherwise, Time


@dataclass(frozen=True, slots=True, kw_only=True)
class Sentence(Answer):
    """One thing that happened to a job."""

    at: Time
    kind: Annotated[str, Example("job_started")]
    """The kind of the event."""
    state: State | None
    """The state of the job after the event; null for an array."""
    text: Annotated[str, Example("starts on n[1-2] with 16 GPUs")]
    """What happened, and its effect on the job."""
    times: Annotated[int, Otherwise(1)]
    """How many times in a row it happened; `at` is the last time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Story(Answer):
    """How a job got into its state, oldest first."""

    job: Annotated[str, NEEDED]
    state: State
    """The state of the job now."""
    sentences: tuple[Sentence, ...]
    left_out: int
    """How many sentences after the first are left out because there are too many."""
