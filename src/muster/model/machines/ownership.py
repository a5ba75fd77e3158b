"""Which home's nodes a database governs, and whose commands nodes obey: those of its newest control plane."""

from muster.model.records import Record


class Leadership(Record, frozen=True, kw_only=True):
    """What a control plane presents to the nodes it commands. Nodes refuse an older epoch of the same cluster."""

    cluster: str = ""
    """The permanent name of the database. A copy of it has the same name."""
    epoch: int = 0
    """Counts the control planes that have led this cluster, so that one that was replaced can do nothing."""
    takes_over: bool = False
    """True when nodes that obeyed another database must obey this one from now on."""


class Owner(Record, frozen=True, kw_only=True):
    """The home whose supervisors run what the database says. Every control plane of one cluster has the same owner."""

    machine: str
    """The permanent name of the machine."""
    home: str
    """The folder there."""
    host: str = ""
    """What people call the machine."""

    def is_same(self, other: "Owner") -> bool:
        """True when both mean the same home; a machine may have been renamed."""
        return (self.machine, self.home) == (other.machine, other.home)

    def __str__(self) -> str:
        return f"{self.home} on {self.host or self.machine}"
