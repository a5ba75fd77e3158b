"""One attempt to lead: a new epoch begins together with its lease, in the transaction that names the nodes' owner."""

from typing import Protocol

from muster.live.leadership.lease_keeper import LeaseKeeper, steady_ms
from muster.model.errors import Superseded, Unavailable
from muster.model.machines.lease import LeaseHolder, LeaseRecord
from muster.model.machines.ownership import Leadership, Owner


class LeasedCluster(Protocol):
    """What a shared database remembers about the owner of the nodes that it governs."""

    def owner(self) -> Owner | None:
        """The owner of the nodes; None when no control plane has led it yet."""
        ...

    def former(self) -> Owner | None:
        """The owner before, until it is recorded that what its nodes ran has ended."""
        ...

    def leadership(self) -> Leadership:
        """The newest leadership."""
        ...

    def lead(
        self,
        owner: Owner,
        *,
        above_epoch: int = 0,
        take_over: bool = False,
        holder: LeaseHolder | None = None,
        seen: LeaseRecord | None = None,
    ) -> Leadership:
        """Begin an epoch with a lease. Raises `Superseded` when the lease is not as it was seen."""
        ...


class Term:
    """The record of a cluster for a control plane that shares it, with the lease of its epoch."""

    def __init__(self, cluster: LeasedCluster, keeper: LeaseKeeper, own: LeaseHolder, seen: LeaseRecord) -> None:
        self._cluster = cluster
        self.keeper = keeper
        self._own = own
        self._seen = seen
        self.owner = cluster.owner
        self.former = cluster.former
        self.leadership = cluster.leadership

    def lead(self, owner: Owner, *, above_epoch: int = 0, take_over: bool = False) -> Leadership:
        """Begin an epoch, and renew its lease from now on."""
        asked_ms = steady_ms()
        try:
            leadership = self._cluster.lead(
                owner, above_epoch=above_epoch, take_over=take_over, holder=self._own, seen=self._seen
            )
        except Unavailable as error:
            # Without a lease that is written down nothing may be led, whatever else could be done without it.
            raise Superseded(f"the lease could not be taken: {error}") from error
        self.keeper.begin(leadership.epoch, asked_ms)
        return leadership
