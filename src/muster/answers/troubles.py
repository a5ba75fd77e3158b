"""What needs attention: nodes, GPUs and jobs with which something is wrong."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated

from muster.answers.base import Answer
from muster.answers.marks import NEEDED, Time, Word


class TroubleKind(StrEnum):
    """What is wrong."""

    NODE = "node"
    """A node is not ready."""
    GPUS = "gpus"
    """GPUs of a node that is ready are out of service."""
    QUARANTINE = "quarantine"
    """GPUs are used by a gang that the server has not started."""
    STRAGGLER = "straggler"
    """A rank of a training is slower than the others."""
    HANG = "hang"
    """No rank of a training makes a step."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trouble(Answer):
    """One thing that is wrong."""

    kind: Annotated[str, NEEDED, Word(TroubleKind)]
    what: str
    """In a few words, such as `node draining`."""
    why: str
    """What is known about it."""
    node: str | None
    """Where it is, unless it concerns a whole job."""
    state: str | None
    """The state of a node that is not ready."""
    job: str | None
    name: str | None
    """The name of the job."""
    since: Time | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Troubles(Answer):
    """What needs attention now, and how much of it there is."""

    items: tuple[Trouble, ...]
    total: int
    """All of them, also those that are not listed."""
