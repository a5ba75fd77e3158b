"""A standby that watches the lease, and says when it may be taken."""

from collections.abc import Callable
from typing import Protocol

from muster.core.lease import LeaseWatch
from muster.live.leadership.lease_keeper import steady_ms
from muster.model.errors import MusterError
from muster.model.machines.lease import LeaseHolder, LeaseRecord
from muster.processes import is_same


class WatchedLease(Protocol):
    """The lease in the database, as a standby uses it."""

    def read(self) -> LeaseRecord:
        """The lease as it is now."""
        ...

    def want(self, holder: str) -> None:
        """Ask the leader to hand over to this control plane."""
        ...


class Candidacy:
    """One standby's wait for its turn."""

    def __init__(
        self,
        store: WatchedLease,
        own: LeaseHolder,
        *,
        asks_for_it: bool = False,
        rests_ms: int = 0,
        now_ms: Callable[[], int] = steady_ms,
    ) -> None:
        """`asks_for_it` has the present leader hand over. A standby that could not lead rests before it tries again."""
        self._store = store
        self.own = own
        self._asks_for_it = asks_for_it
        self._now_ms = now_ms
        self._watch = LeaseWatch(own.id)
        self._rests_until_ms = now_ms() + rests_ms
        self.seen = LeaseRecord()
        """The lease when it was last looked at."""

    @property
    def leader(self) -> LeaseHolder | None:
        """The control plane that leads, as far as it is known."""
        return self.seen.holder

    def look(self) -> bool:
        """True when the lease may be taken, as it was seen now. Raises what keeps the database from answering."""
        try:
            self.seen = self._store.read()
        except MusterError:
            # What keeps this one from reading may keep the leader from renewing: wait anew once it is over.
            self._watch.forget()
            raise
        holder = self.seen.holder
        is_gone = holder is not None and _is_gone(holder, self.own)
        is_free = self._watch.look(self.seen, self._now_ms(), is_dead=is_gone)
        return is_free and self._now_ms() >= self._rests_until_ms

    def ask(self) -> None:
        """Ask the leader to hand over, if that is wanted. Once is enough: the database remembers it."""
        if self._asks_for_it and self.seen.holder is not None:
            self._store.want(self.own.id)
            self._asks_for_it = False


def _is_gone(holder: LeaseHolder, own: LeaseHolder) -> bool:
    """True when the holder was a process of this machine that has ended: then nobody need wait for its lease."""
    is_here = bool(own.machine) and (holder.machine, holder.host) == (own.machine, own.host)
    return is_here and not is_same(holder.pid, holder.start_ticks)
