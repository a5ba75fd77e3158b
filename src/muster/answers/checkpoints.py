"""Checkpoints: what a job has saved, where, and whether it is intact."""

from dataclasses import dataclass
from typing import Annotated

from muster.answers.base import Answer
from muster.answers.marks import NEEDED, Time


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint(Answer):
    """One saved state of a job."""

    step: Annotated[int, NEEDED]
    at: Time | None
    """When it was saved; null when only its files are known."""
    bytes: int
    ranks: int
    """How many ranks saved a part of it, or will."""
    complete: bool
    """True when the parts of all ranks are there."""
    verified: bool | None
    """Whether its files agree with their checksums; null when nobody has looked."""
    where: tuple[str, ...]
    """`hot`: on the disks of nodes. `durable`: at the path in the job file."""
    path: str
    """Its folder below the path in the job file."""
    problem: str | None
    """Why it cannot be restored, if that is known."""
    unread: str | None
    """Why its storage could not be looked at, so that this is only what Muster knows of it; null when that is fine."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Saves(Answer):
    """How often a job saves itself."""

    every_s: float
    because: str
    """Why just this often."""
    upload_problem: str | None
    """Why its newest checkpoint is not in durable storage yet; null when nothing is wrong."""
