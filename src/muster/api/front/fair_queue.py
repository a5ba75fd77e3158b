"""Which request is answered next: a limited number of requests is answered at once, shared fairly by the subjects.

Only for the thread of the event loop. Every subject always has a few turns of its own. The other turns are shared, and
the next one goes to the subject that has fewest. So a new subject waits only for a few requests of each other subject,
however many those send.
"""

import asyncio
from collections import Counter, deque

from muster.model.errors import TooMany


class FairQueue:
    """Counts the requests that are being answered, and queues those that wait."""

    def __init__(self, most: int, *, each: int, alone: int, waiting: int) -> None:
        """Set the limits.

        `most` requests of all subjects are answered at once, but always `each` of one subject, and `alone` of a subject
        that has the server to itself. `waiting` requests of one subject may wait.
        """
        self._most = most
        self._alone = alone
        self._each = each
        self._waiting_most = waiting
        self._taken: Counter[str] = Counter()
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}

    async def enter(self, subject: str) -> None:
        """Wait for a turn. Raises when too many requests of the subject already wait."""
        if subject not in self._waiting and self._may(subject):
            self._taken[subject] += 1
            return
        line = self._waiting.setdefault(subject, deque())
        if len(line) >= self._waiting_most:
            raise TooMany(f"{len(line)} requests of {subject} wait already; send fewer at once", retry_s=1)
        place: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        line.append(place)
        try:
            await place
        except asyncio.CancelledError:
            if place.done() and not place.cancelled():
                self.leave(subject)  # It got a turn that it does not use any more.
            raise

    def leave(self, subject: str) -> None:
        """Give a turn back, and give it to the next request."""
        self._taken[subject] -= 1
        if not self._taken[subject]:
            del self._taken[subject]
        while self._waiting:
            following = min(self._waiting, key=lambda each: self._taken[each])
            if not self._may(following):
                return
            self._let_in(following)

    def _let_in(self, subject: str) -> None:
        line = self._waiting.pop(subject)
        place = line.popleft()
        if line:
            self._waiting[subject] = line  # Behind other waiting subjects that have as few turns.
        if not place.done():
            self._taken[subject] += 1
            place.set_result(None)

    def _may(self, subject: str) -> bool:
        others = len(self._taken) - (subject in self._taken) or len(self._waiting) - (subject in self._waiting)
        most = self._most if others else self._alone
        return self._taken[subject] < self._each or self._taken.total() < most
