"""The answers of the server, under the names that the client uses. Their fields are described in docs/API.md.

Fields that a newer server adds are ignored. But every answer keeps the JSON it was built from in `document`, so
everything that was sent can be read.
"""

from dataclasses import dataclass

from muster.answers.access import AuditEntry, FreshToken, Identity, SignInLink
from muster.answers.admission import AdmissionTest, Effect, TriedEffect
from muster.answers.base import Answer, Document
from muster.answers.batch_steps import BatchStep
from muster.answers.bundles import JobBundle
from muster.answers.checkpoints import Checkpoint, Saves
from muster.answers.events import Event
from muster.answers.health import GpuCondition, MeasuredSignal, NodeHealth
from muster.answers.jobs import ArrayPlace as ArrayTask
from muster.answers.jobs import (
    Cost,
    DryRun,
    Estimate,
    Job,
    PastEstimates,
    Reason,
    Remark,
    Stacks,
    WaitingStart,
    Why,
    Worker,
)
from muster.answers.jobs import Promise as Hold
from muster.answers.measures import Measure
from muster.answers.nodes import Node, QuarantinedGang, Reservation
from muster.answers.nodes import NodeUse as Used
from muster.answers.story import Sentence, Story
from muster.answers.teams import Team


@dataclass(frozen=True, slots=True, kw_only=True)
class Token(FreshToken):
    """A token. Its `secret` is set only in the answer to its creation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Log:
    """A piece of what a worker printed."""

    text: bytes
    start: int
    """Where in the log it begins."""
    end: int
    """Where the next piece begins."""
    attempt: int
    complete: bool
    """True when the worker is gone and this is the last piece."""


__all__ = [
    "AdmissionTest",
    "Answer",
    "ArrayTask",
    "AuditEntry",
    "BatchStep",
    "Checkpoint",
    "Cost",
    "Document",
    "DryRun",
    "Effect",
    "Estimate",
    "Event",
    "GpuCondition",
    "Hold",
    "Identity",
    "Job",
    "JobBundle",
    "Log",
    "Measure",
    "MeasuredSignal",
    "Node",
    "NodeHealth",
    "PastEstimates",
    "QuarantinedGang",
    "Reason",
    "Remark",
    "Reservation",
    "Saves",
    "Sentence",
    "SignInLink",
    "Stacks",
    "Story",
    "Team",
    "Token",
    "TriedEffect",
    "Used",
    "WaitingStart",
    "Why",
    "Worker",
]
