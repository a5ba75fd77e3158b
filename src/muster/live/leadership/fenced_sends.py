"""Commands leave only under a valid lease."""

from muster.backends.base import Backend
from muster.live.leadership.lease_keeper import Lease
from muster.model.events import ObservedEvent
from muster.model.instructions import Command


class FencedSends:
    """A backend as the engine sees it.

    A command that is refused here is in the log, so the engine that next starts from the log sends it: this one, once
    its lease is valid again, or that of the next leader.
    """

    def __init__(self, backend: Backend, lease: Lease) -> None:
        self._backend = backend
        self._lease = lease

    def send(self, command: Command) -> None:
        """Pass a command on. Raises `Superseded` or `Unavailable` without a valid lease."""
        self._lease.check()
        self._backend.send(command)

    def poll(self) -> tuple[ObservedEvent, ...]:
        """What was observed since the last call."""
        return self._backend.poll()
