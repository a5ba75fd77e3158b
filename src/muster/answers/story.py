"""How a job got where it is."""

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
    """The kind of event that it tells of."""
    state: State | None
    """Of the job afterwards; null for an array."""
    text: Annotated[str, Example("starts on n[1-2] with 16 GPUs")]
    """What happened and what came of it."""
    times: Annotated[int, Otherwise(1)]
    """How often it happened in a row; `at` is the last time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Story(Answer):
    """How a job got where it is, oldest first."""

    job: Annotated[str, NEEDED]
    state: State
    """As it is now."""
    sentences: tuple[Sentence, ...]
    left_out: int
    """Sentences that are left out behind the first, where there are very many."""
