"""Pages of jobs, newest first."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice

from muster.api.lookup import is_over
from muster.engine.state import State
from muster.live.control_plane import ControlPlane
from muster.model.ids import JobId
from muster.model.limits import JOBS_SCANNED, WATCHER_PAGE_EVENTS
from muster.views.job_index import JobIndex, Place


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A page of jobs, and where the next one begins."""

    jobs: tuple[JobId, ...]
    next: Place | None


class JobList:
    """Walks through jobs in the order of their submission. Only for the thread of the event loop."""

    def __init__(self, control: ControlPlane) -> None:
        self._control = control
        self._index = self._made()

    def page(
        self, state: State, wanted: Callable[[JobId], bool], *, active: bool, before: Place | None, limit: int
    ) -> Found:
        """Up to `limit` jobs that are wanted, from the newest before a place on."""
        self._catch_up()
        if active:
            return _taken(self._index.newest_active(lambda job: is_over(state, job), before), wanted, limit)
        return _taken(self._index.newest(before), wanted, limit)

    def _made(self) -> JobIndex:
        version = self._control.feed.version
        return JobIndex(version, list(self._control.state.users))

    def _catch_up(self) -> None:
        """Know of everything that was answered before now: who has submitted a job finds it in the list."""
        while (events := self._control.feed.after(self._index.version, WATCHER_PAGE_EVENTS)) != ():
            if events is None:
                self._index = self._made()
            else:
                self._index.note(events)


def _taken(walk: Iterator[tuple[Place, JobId]], wanted: Callable[[JobId], bool], limit: int) -> Found:
    found: list[JobId] = []
    last: Place = 0
    for place, job in islice(walk, JOBS_SCANNED):
        last = place
        if wanted(job):
            found.append(job)
        if len(found) == limit:
            break
    return Found(jobs=tuple(found), next=None if next(walk, None) is None else last)
