"""Reservations as planning sees them: uses of whole nodes that exclude every job that is not admitted.

A window is taken away from what is free in the same way as a promise is, from its beginning on. It uses nothing of a
node, so that the jobs that it admits find all of it.
"""

from muster.core.cluster.node_use import Footprint, NodeUse
from muster.core.cluster.tenancy import Tenancy, kind_of_window
from muster.core.cluster.tree import Tree
from muster.model.ids import TeamPath
from muster.model.machines.reservation import Reservation


class ReservedWindow:
    """One reservation on the nodes of one tree."""

    __slots__ = ("footprint", "kind", "nodes", "reservation")

    def __init__(self, number: int, reservation: Reservation, tree: Tree) -> None:
        self.reservation = reservation
        self.kind, adds = kind_of_window(number)
        """Its bit in a mask of tenants."""
        known = [tree.index_of[name] for name in reservation.nodes if name in tree.index_of]
        self.nodes: dict[int, None] = dict.fromkeys(sorted(known))
        held = Tenancy(adds=adds, refuses=0)
        self.footprint: Footprint = tuple([NodeUse(node, (), 0, 0, 0, held) for node in self.nodes])
        """What it takes away from the nodes."""

    def shuts_out(self, refuses: int, node: int, from_ms: int, to_ms: int) -> bool:
        """True when a job that refuses these tenants cannot be on a node for this time."""
        return bool(refuses & self.kind) and node in self.nodes and self.reservation.meets(from_ms, to_ms)


def admitted_kinds(windows: tuple[ReservedWindow, ...], team: TeamPath, user: str) -> int:
    """The mask of the windows that admit a job."""
    kinds = 0
    for window in windows:
        if window.reservation.admits(team, user):
            kinds |= window.kind
    return kinds
