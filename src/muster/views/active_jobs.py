"""The jobs and arrays that have not ended, in the order of submission, so that a listing need not sort.

Tasks are not listed; their array is. Entries of jobs that have ended are skipped, and removed once there are many.
"""

from bisect import bisect_left, insort
from collections.abc import Iterator, Sequence

from muster.model.array import ArrayRecord, JobRecord
from muster.model.events import Event, JobSubmitted
from muster.model.ids import JobId
from muster.views.view import View

STALE_MAX = 100
"""If a walk skips more entries of ended jobs than this, the next walk removes all of them first."""


class ActiveJobs:
    """Submissions that may be active, in the order of submission."""

    def __init__(self, view: View) -> None:
        self.version = view.version
        """The version of the newest event that was noted."""
        listed = (record for record in (*view.jobs.values(), *view.arrays.values()) if _is_listed(record))
        self._listed: list[tuple[int, JobId]] = sorted((record.number, record.id) for record in listed)
        self._passed_over = 0
        """How many entries of ended jobs the last walk skipped."""

    def note(self, events: Sequence[tuple[int, Event]], view: View) -> None:
        """Take in events that were written since. The view is as new as the newest of them."""
        for version, event in events:
            self.version = version
            record = view.record(event.job) if isinstance(event, JobSubmitted) else None
            if record is not None and not self._has(record):
                insort(self._listed, (record.number, record.id))

    def newest(self, view: View, before: int | None = None) -> Iterator[JobRecord]:
        """Jobs and arrays that have not ended, newest first, optionally only those submitted before a number."""
        if self._passed_over > STALE_MAX:
            self._listed = [each for each in self._listed if view.record(each[1]) is not None]
        self._passed_over = 0
        end = len(self._listed) if before is None else bisect_left(self._listed, (before, JobId("")))
        for place in range(end - 1, -1, -1):
            record = view.record(self._listed[place][1])
            if record is None:
                self._passed_over += 1
            else:
                yield record

    def _has(self, record: JobRecord) -> bool:
        entry = (record.number, record.id)
        place = bisect_left(self._listed, entry)
        return place < len(self._listed) and self._listed[place] == entry


def _is_listed(record: JobRecord) -> bool:
    return isinstance(record, ArrayRecord) or record.array_parent is None
