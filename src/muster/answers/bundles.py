"""Bundles: what the server has of a working directory, and what it knows of the one of a job."""

from dataclasses import dataclass
from typing import Annotated

from muster.answers.base import Answer
from muster.answers.marks import NEEDED


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredBundle(Answer):
    """A bundle that is stored, or what is missing for that."""

    id: Annotated[str, NEEDED]
    missing: tuple[str, ...]
    """Blocks to send first. When there are none, the bundle is stored."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredBlocks(Answer):
    """Blocks that were stored."""

    stored: int


@dataclass(frozen=True, slots=True, kw_only=True)
class JobBundle(Answer):
    """The working directory of a job, as it was when the job was submitted."""

    id: Annotated[str, NEEDED]
    files: int
    bytes: int
    commit: str | None
    """The commit that the files were taken from; null when they were in no repository."""
    branch: str | None
    dirty: bool
    """True when files differed from that commit, or were not part of it."""
    kept: bool
    """False when the files were removed, a month after the last job that used them had ended."""
    diff: str | None
    """The difference to the commit; null when there was none, or it is not kept any more."""
    diff_cut: bool
    """True when the difference was longer than what is kept of it."""
