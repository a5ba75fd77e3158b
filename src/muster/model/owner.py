"""Whose nodes a database governs."""

from muster.model.records import Record


class Owner(Record, frozen=True, kw_only=True):
    """The home whose supervisors run what the database says. Every control plane of one cluster has the same owner."""

    machine: str
    """Names the machine for good."""
    home: str
    """The folder there."""
    host: str = ""
    """What people call the machine."""

    def is_same(self, other: "Owner") -> bool:
        """True when both mean the same home; a machine may have been renamed."""
        return (self.machine, self.home) == (other.machine, other.home)

    def __str__(self) -> str:
        return f"{self.home} on {self.host or self.machine}"
