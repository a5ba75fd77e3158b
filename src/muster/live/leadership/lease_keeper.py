"""Renews the lease of a leader on a thread of its own, and says whether the leader may act.

Between two renewals only the clock is asked, so the question costs nothing. The clock counts time asleep: a process
that was stopped finds its lease over before it does anything else.
"""

import logging
import time
from collections.abc import Callable
from threading import Event, Thread
from typing import Protocol

from muster.core.lease import HeldLease
from muster.model.errors import MusterError, Superseded, Unavailable
from muster.model.machines.lease import LEASE_RENEW_MS, LeaseRecord

RETRY_MS = 250
"""Pause after a renewal that failed."""

_log = logging.getLogger("muster.live")


def steady_ms() -> int:
    """The time on a clock that is never set and counts time asleep."""
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME) // 1_000_000


class Lease(Protocol):
    """Whether this control plane may act as the leader."""

    @property
    def is_valid(self) -> bool:
        """True while no other control plane may have begun to lead."""
        ...

    def check(self) -> None:
        """Raise `Superseded` when another leads, and `Unavailable` when one may."""
        ...


class Unshared:
    """The lease of a control plane that shares its database with no other: the lock on the database is enough."""

    is_valid = True

    def check(self) -> None:
        """Never raises."""


class LeaseStore(Protocol):
    """The lease in the database."""

    def read(self) -> LeaseRecord:
        """The lease as it is now."""
        ...

    def renew(self, epoch: int) -> LeaseRecord:
        """Show that this epoch's leader is there. Raises `Superseded` when another epoch has begun."""
        ...

    def give_up(self, epoch: int) -> None:
        """Let another control plane lead at once, if this epoch is still the present one."""
        ...


class LeaseKeeper:
    """The lease of one epoch."""

    def __init__(
        self, store: LeaseStore, own_id: str, on_over: Callable[[], None], *, now_ms: Callable[[], int] = steady_ms
    ) -> None:
        """`on_over` is called once, on the keeper's thread: the lease is lost, or another asked for it."""
        self._store = store
        self._own_id = own_id
        self._on_over = on_over
        self._now_ms = now_ms
        self._epoch = 0
        self._held: HeldLease | None = None
        self._is_told = False
        self._stopping = Event()
        self._thread: Thread | None = None
        self.is_working: Callable[[], bool] = lambda: True
        """False when the writer cannot work: then the lease runs out, so that another control plane takes over."""

    def begin(self, epoch: int, asked_ms: int) -> None:
        """The lease of this epoch was taken, by a request that was sent at `asked_ms`. Renew it from now on."""
        self._epoch, self._held = epoch, HeldLease(asked_ms)
        self._thread = Thread(target=self._run, name="lease", daemon=True)
        self._thread.start()

    @property
    def is_valid(self) -> bool:
        """True while no other control plane may have begun to lead."""
        return self._held is not None and self._held.is_valid(self._now_ms())

    def check(self) -> None:
        """Raise `Superseded` when another leads, and `Unavailable` when one may."""
        if self._held is not None and self._held.is_lost:
            raise Superseded(f"another control plane leads; this one led in epoch {self._epoch}")
        if not self.is_valid:
            raise Unavailable(
                f"the lease of epoch {self._epoch} could not be renewed in time: another control plane may lead now",
                brief="the lease of the leader has run out",
            )

    def end(self) -> None:
        """Renew no more, and let another control plane lead at once."""
        self._stopping.set()
        if self._thread is not None:
            self._thread.join()
        if self._held is None or self._held.is_lost:
            return
        self._held.lose()
        try:
            self._store.give_up(self._epoch)
        except MusterError as error:
            _log.warning("the lease could not be given up; it runs out", extra={"cause": str(error)})

    def renew(self) -> bool:
        """Renew once. False when that failed and may work soon."""
        assert self._held is not None
        asked_ms = self._now_ms()
        try:
            record = self._store.renew(self._epoch) if self.is_working() else self._store.read()
            if record.epoch != self._epoch:
                raise Superseded(f"epoch {record.epoch} has begun")
        except Superseded as error:
            _log.warning("another control plane leads", extra={"epoch": self._epoch, "cause": str(error)})
            self._held.lose()
            self._tell()
        except MusterError as error:
            _log.warning("the lease could not be renewed", extra={"epoch": self._epoch, "cause": str(error)})
            return False
        else:
            if self.is_working():
                self._held.renewed(asked_ms)
            if record.wanted_by not in ("", self._own_id):
                _log.info("another control plane asked for the lease", extra={"epoch": self._epoch})
                self._tell()
        return True

    def _run(self) -> None:
        pause_ms = LEASE_RENEW_MS
        while not self._stopping.wait(pause_ms / 1000):
            pause_ms = LEASE_RENEW_MS if self.renew() else RETRY_MS
            if self._held is None or self._held.is_lost:
                return

    def _tell(self) -> None:
        if not self._is_told:
            self._is_told = True
            self._on_over()
