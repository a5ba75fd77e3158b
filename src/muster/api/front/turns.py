"""The turn of a request: it begins at the entrance, and ends when the request no longer needs the event loop.

That is when its answer begins, so that a stream of minutes does not keep others waiting, or when it waits for the
writer. The writer makes all requests that wait for it durable with one write. If they kept their turns, there would be
only as many of them as there are turns, and the next ones would wait for the disk although nothing is left to do.
"""

from contextvars import ContextVar

from muster.api.front.fair_queue import FairQueue


class Turn:
    """A turn of a subject. It ends once, however often it is told to."""

    def __init__(self, turns: FairQueue, subject: str) -> None:
        """The subject has entered."""
        self._turns = turns
        self.subject = subject
        self._has_ended = False

    def end(self) -> None:
        """Let the next request in."""
        if not self._has_ended:
            self._has_ended = True
            self._turns.leave(self.subject)


PRESENT: ContextVar[Turn | None] = ContextVar("present_turn", default=None)
"""The turn of the request that is answered by this task. None where no request is answered."""
