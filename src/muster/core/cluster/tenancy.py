"""Which uses of a node exclude one another.

A node has *tenants*: every job that uses it is one, a job that wants the node for itself is a sole tenant, and so is
every reservation of the node a tenant of its own kind, which only the jobs that it admits do not refuse. How
many tenants of each kind a node has is one integer with a field of bits for each kind, so that uses add up and can be
taken back in any order. What kinds are there is a mask with one bit for each kind, and so is what a job refuses.
"""

_FIELD_BITS = 20
"""The width of a field: more jobs than this can count are never on one node."""
MOST_TENANTS = (1 << _FIELD_BITS) - 1
"""What is not above it counts ordinary tenants only."""

SHARED = 1
"""In a mask: some job uses the node."""
CLOSED = 2
"""In a mask: a sole tenant uses the node."""


class Tenancy:
    """What a use adds to the tenants of a node, and next to which tenants it cannot be. Never changed once made.

    A plain class that is equal only to itself, because asks are looked up by it: equal tenancies are one object
    (`Setting.tenancy`).
    """

    __slots__ = ("adds", "refuses")

    def __init__(self, *, adds: int, refuses: int) -> None:
        self.adds = adds
        self.refuses = refuses
        """A mask."""


ORDINARY = Tenancy(adds=1, refuses=~SHARED)
SOLE = Tenancy(adds=1 | 1 << _FIELD_BITS, refuses=~0)
UNSEEN = Tenancy(adds=0, refuses=~SHARED)
"""Of a part of a job, where the rest of it makes the job a tenant."""


def tenancy_of(*, exclusive: bool, admitted: int = 0) -> Tenancy:
    """The tenancy of a job that these windows admit."""
    usual = SOLE if exclusive else ORDINARY
    return usual if not admitted else Tenancy(adds=usual.adds, refuses=usual.refuses & ~admitted)


def kind_of_window(number: int) -> tuple[int, int]:
    """The bit in a mask, and what one use adds to the tenants, for the reservation with this number."""
    place = number + 2
    return 1 << place, 1 << (place * _FIELD_BITS)


def kinds_in(tenants: int) -> int:
    """The mask of the kinds of tenants that there are."""
    if tenants <= MOST_TENANTS:
        return SHARED if tenants else 0
    kinds, bit = 0, 1
    while tenants:
        if tenants & MOST_TENANTS:
            kinds |= bit
        tenants >>= _FIELD_BITS
        bit <<= 1
    return kinds
