"""What admission rules did to a job, and would have done to earlier ones."""

from dataclasses import dataclass
from typing import Annotated

from muster.answers.base import Answer
from muster.answers.marks import NEEDED, Word
from muster.model.policy import EffectKind


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect(Answer):
    """What one admission rule did to a job."""

    rule: Annotated[str, NEEDED]
    kind: Annotated[str, Word(EffectKind)]
    """It set keys, or it warned."""
    message: str | None
    """What it warned of; null when it set keys."""
    keys: tuple[str, ...]
    """The keys of the job file that it set, such as `checkpoint.every`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TriedEffect(Answer):
    """What one admission rule would have done to a job that was submitted before."""

    job: Annotated[str, NEEDED]
    rule: str
    message: str
    keys: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AdmissionTest(Answer):
    """What admission rules would have done to the jobs that were submitted in a time."""

    checked: int
    """How many jobs they were tried on."""
    denied: tuple[TriedEffect, ...]
    changed: tuple[TriedEffect, ...]
    warned: tuple[TriedEffect, ...]
    more: dict[str, int]
    """How many further jobs of each kind there are that are not named."""
    complete: bool
    """False when there were more jobs than are tried at once, or it took too long: the newest were tried."""
