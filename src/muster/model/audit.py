"""Who did what: one entry for everything that somebody asked for."""

from muster.model.records import Record


class AuditEntry(Record, frozen=True, kw_only=True):
    """One thing that somebody did, or was not allowed to do."""

    at_ms: int
    by: str
    """The name on the token, or `muster` for what the control plane did by itself."""
    action: str
    """What was done, as a permission is named: `jobs.submit`, `nodes.change`."""
    subject: str
    """The job, node, team or token it was done to."""
    detail: tuple[tuple[str, str], ...] = ()
    """What it was changed to, and whatever else a reader will want to know."""
    reason: str = ""
    """Why, in the words of who did it."""
