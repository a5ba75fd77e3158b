"""Who did what: one entry for every audited request."""

from muster.model.records import Record


class AuditEntry(Record, frozen=True, kw_only=True):
    """One action that a person or program took, or was not allowed to take."""

    at_ms: int
    by: str
    """The name that the token acts as (`Token.acts_as`), or `engine` for what the control plane did by itself."""
    action: str
    """What was done, as a permission is named: `jobs.submit`, `nodes.change`."""
    subject: str
    """The job, node, team or token that the action was about."""
    detail: tuple[tuple[str, str], ...] = ()
    """What it was changed to, and other facts that a reader will want to know."""
    reason: str = ""
    """Why, in the words of the person who did it."""
