"""Nodes that are set aside for a while: for a team, for a user, or for nobody while they are worked on."""

from muster.model.ids import NodeName, TeamPath
from muster.model.records import Record
from muster.model.team import ancestors

RESERVATIONS = 64
"""How many reservations there may be at once. Each one costs a bit of what is known of every node."""


class Reservation(Record, frozen=True, kw_only=True):
    """Some nodes, a window of time, and who may use the nodes in it.

    A job that may not use them starts there only if its limit ends before the window. A job that runs there when the
    window opens, because it started before the reservation was made, is told to leave then.
    """

    name: str
    nodes: tuple[NodeName, ...]
    from_ms: int
    to_ms: int
    """The window is over at this time."""
    team: TeamPath = TeamPath("")
    """Jobs of this team and the teams below it may use the nodes; empty: no team may."""
    user: str = ""
    """Jobs that this user submitted may use the nodes; empty: no user may."""
    because: str = ""

    def admits(self, team: TeamPath, user: str) -> bool:
        """True when a job of this team and user may use the nodes while they are reserved."""
        return (bool(self.team) and self.team in ancestors(team)) or (bool(self.user) and self.user == user)

    def meets(self, from_ms: int, to_ms: int) -> bool:
        """True when the window and this time have a moment in common."""
        return self.from_ms < to_ms and from_ms < self.to_ms

    @property
    def holder(self) -> str:
        """For whom the nodes are set aside, in words."""
        if self.team:
            return f"team {self.team}"
        return f"user {self.user}" if self.user else "nobody"


class ReservationSet(Record, frozen=True, kw_only=True):
    """Nodes are set aside from now on, or a reservation of the same name is another one from now on."""

    at_ms: int
    reservation: Reservation
    by: str = ""


class ReservationRemoved(Record, frozen=True, kw_only=True):
    """A reservation is over, or was taken back."""

    at_ms: int
    name: str
    because: str = ""
    by: str = ""


ReservationEvent = ReservationSet | ReservationRemoved
"""Nodes are set aside, or no longer."""
