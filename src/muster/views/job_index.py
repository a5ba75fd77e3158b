"""Which jobs there are, by submission: what a listing walks, newest first, without sorting anything.

Arrays are in it once; their tasks are not. Nothing is ever taken out of the list of all; the list of active ones drops
those that have ended when it comes across them.
"""

from collections.abc import Callable, Iterator, Sequence

from muster.model.events import Event, JobSubmitted
from muster.model.ids import JobId

Place = int
"""Where a job stands among all submissions, counted from 0; it never changes."""


STALE_MAX = 100
"""Ended jobs that may stay among the active ones before they are cleared away."""


class JobIndex:
    """Every submission in order, and those of them that may still be active."""

    def __init__(self, version: int, submitted: Sequence[JobId]) -> None:
        self.version = version
        """Of the newest event that was noted."""
        self._submitted: list[JobId] = list(submitted)
        self._known = set(submitted)
        self._active: list[Place] = list(range(len(submitted)))
        self._passed_over = len(submitted)
        """Jobs that the last walk found to be over."""

    def note(self, events: Sequence[tuple[int, Event]]) -> None:
        """Take in what was written since."""
        for version, event in events:
            self.version = version
            if isinstance(event, JobSubmitted) and event.job not in self._known:
                self._known.add(event.job)
                self._active.append(len(self._submitted))
                self._submitted.append(event.job)

    def newest(self, before: Place | None = None) -> Iterator[tuple[Place, JobId]]:
        """All submissions from the newest on, or from the newest before a place."""
        last = len(self._submitted) if before is None else min(before, len(self._submitted))
        return ((place, self._submitted[place]) for place in range(last - 1, -1, -1))

    def newest_active(
        self, is_over: Callable[[JobId], bool], before: Place | None = None
    ) -> Iterator[tuple[Place, JobId]]:
        """The same without those that are over."""
        if self._passed_over > STALE_MAX:
            self._active = [place for place in self._active if not is_over(self._submitted[place])]
        self._passed_over = 0
        for place in reversed(self._active):
            if before is not None and place >= before:
                continue
            if is_over(self._submitted[place]):
                self._passed_over += 1
            else:
                yield place, self._submitted[place]
