"""Whose commands nodes obey: one database's, and of its control planes the newest one's."""

from muster.model.records import Record


class Leadership(Record, frozen=True, kw_only=True):
    """What a control plane shows to everything it commands. An older epoch of the same cluster is refused."""

    cluster: str = ""
    """Names the database for good. A copy of it has the same name."""
    epoch: int = 0
    """Counts the control planes that have led this cluster, so that one that was replaced can do nothing."""
    takes_over: bool = False
    """True when nodes that obeyed another database are to obey this one from now on."""
