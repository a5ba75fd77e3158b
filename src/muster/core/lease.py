"""When a leader may act, and when another control plane may take its place.

Both sides measure with their own clock, which counts time asleep and is never set. The leader counts from the moment
before it asked for a renewal. The others count from the moment after they saw it. So whatever the delays between
them, the leader stops at least `LEASE_MARGIN_MS` before another may begin, as long as their clocks run equally fast.

This keeps leaders from overlapping. It is not what makes writes and commands safe: the database and the nodes refuse
an older epoch, whatever a clock says.
"""

from muster.model.machines.lease import HEIR_MS, LEASE_MARGIN_MS, LEASE_MS, LeaseRecord


class HeldLease:
    """The leader's side."""

    def __init__(self, asked_ms: int) -> None:
        """The lease was taken by a request that was sent at `asked_ms`."""
        self._until_ms = asked_ms + LEASE_MS - LEASE_MARGIN_MS
        self.is_lost = False
        """True once it is known that another epoch began. It never becomes valid again."""

    def renewed(self, asked_ms: int) -> None:
        """A renewal succeeded that was asked for at `asked_ms`."""
        self._until_ms = max(self._until_ms, asked_ms + LEASE_MS - LEASE_MARGIN_MS)

    def lose(self) -> None:
        """Another epoch began, or the lease was given up."""
        self.is_lost = True

    def is_valid(self, now_ms: int) -> bool:
        """True while no other control plane may have begun to lead."""
        return not self.is_lost and now_ms < self._until_ms


class LeaseWatch:
    """The side of a control plane that stands by."""

    def __init__(self, own_id: str) -> None:
        self._own_id = own_id
        self._seen: tuple[int, int, str] | None = None
        self._since_ms = 0
        """When what was seen was seen first."""

    def forget(self) -> None:
        """The lease could not be read. Perhaps it could not be renewed either, so the wait begins anew."""
        self._seen = None

    def look(self, record: LeaseRecord, now_ms: int, *, is_dead: bool = False) -> bool:
        """True when the lease may be taken now. `is_dead` says that the holder's process is known to be gone.

        `now_ms` is when the record had arrived.
        """
        seen = (record.epoch, record.beat, "" if record.holder is None else record.holder.id)
        if seen != self._seen:
            self._seen, self._since_ms = seen, now_ms
        waited_ms = now_ms - self._since_ms
        if record.holder is None or is_dead:
            return self._is_own_turn(record, waited_ms)
        return waited_ms >= LEASE_MS

    def _is_own_turn(self, record: LeaseRecord, waited_ms: int) -> bool:
        """A lease that nobody holds goes to the one that asked for it, unless that one does not come."""
        return record.wanted_by in ("", self._own_id) or waited_ms >= HEIR_MS
