"""What the server answers, as the client names it. Fields are those of docs/API.md.

What a newer server adds is ignored. But every answer keeps the JSON it was made from in `document`, so nothing that was
sent is out of reach.
"""

from dataclasses import dataclass

from muster.answers.access import AuditEntry, FreshToken, Identity
from muster.answers.base import Answer, Document
from muster.answers.events import Event
from muster.answers.jobs import ArrayPlace as ArrayTask
from muster.answers.jobs import Cost, DryRun, Estimate, Job, Reason, Why, Worker
from muster.answers.jobs import Promise as Hold
from muster.answers.nodes import Node, QuarantinedGang
from muster.answers.nodes import NodeUse as Used
from muster.answers.story import Sentence, Story
from muster.answers.teams import Team


@dataclass(frozen=True, slots=True, kw_only=True)
class Token(FreshToken):
    """A token; its `secret` is known only in the answer that made it."""


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
    "Answer",
    "ArrayTask",
    "AuditEntry",
    "Cost",
    "Document",
    "DryRun",
    "Estimate",
    "Event",
    "Hold",
    "Identity",
    "Job",
    "Log",
    "Node",
    "QuarantinedGang",
    "Reason",
    "Sentence",
    "Story",
    "Team",
    "Token",
    "Used",
    "Why",
    "Worker",
]
