"""Whose turn it is: requests are answered so many at once, shared fairly by those who ask.

Only for the thread of the event loop. A subject always has a few turns of its own; the rest belong to everybody, and
the next goes to whoever has fewest. So a newcomer is answered behind a few requests of each neighbour, however many
those neighbours send.
"""

import asyncio
from collections import Counter, deque

from muster.model.errors import TooMany


class FairQueue:
    """Counts the requests that are being answered, and lines up those that wait."""

    def __init__(self, most: int, *, each: int, alone: int, waiting: int) -> None:
        """So many of all subjects, of each at least so many; and so many of one that has the server to itself."""
        self._most = most
        self._alone = alone
        self._each = each
        self._waiting_most = waiting
        self._taken: Counter[str] = Counter()
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}

    async def enter(self, subject: str) -> None:
        """Wait for a turn; raises when too many requests of the subject wait already."""
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
                self.leave(subject)  # It was let in, and is not there any more.
            raise

    def leave(self, subject: str) -> None:
        """Give a turn back, and let in whoever is next."""
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
            self._waiting[subject] = line  # Behind the others that wait and have as few.
        if not place.done():
            self._taken[subject] += 1
            place.set_result(None)

    def _may(self, subject: str) -> bool:
        others = len(self._taken) - (subject in self._taken) or len(self._waiting) - (subject in self._waiting)
        most = self._most if others else self._alone
        return self._taken[subject] < self._each or self._taken.total() < most
