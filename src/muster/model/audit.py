"""Who did what, for those who must be able to prove it."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditEntry:
    """One act of a person or a program, allowed or refused."""

    at_ms: int
    by: str
    action: str
    """The permission it needed, such as `jobs.cancel`."""
    subject: str
    """What it was done to: a job, a node, a team, a token."""
    detail: tuple[tuple[str, str], ...] = ()
    """What else is worth knowing; never a secret."""
    reason: str = ""
    """What they said it was for."""
