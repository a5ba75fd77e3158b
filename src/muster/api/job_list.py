"""Pages of jobs, newest first."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice

from muster.api.lookup import is_over, spec_of
from muster.engine.state import State
from muster.live.control_plane import ControlPlane
from muster.model.client_limits import PAGE_SPEC_CHARS
from muster.model.ids import JobId
from muster.model.limits import DOCUMENTS_KEPT, JOBS_SCANNED, WATCHER_PAGE_EVENTS
from muster.model.spec import JobSpec
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
        """Up to `limit` jobs that are wanted, from the newest before a place on; fewer where their files are long."""
        self._catch_up()
        room = Room(state, limit)
        if active:
            return _taken(self._index.newest_active(lambda job: is_over(state, job), before), wanted, room)
        return _taken(self._index.newest(before), wanted, room)

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


class Room:
    """What fits on a page: so many jobs, with so much of job files in all."""

    def __init__(self, state: State, limit: int) -> None:
        self._state = state
        self._jobs = limit
        self._chars = PAGE_SPEC_CHARS

    def take(self, job: JobId) -> bool:
        """Put a job on the page; False when it is full now. The first always fits."""
        spec = spec_of(self._state, job)
        self._jobs -= 1
        self._chars -= 0 if spec is None else spec_chars(spec)
        return self._jobs > 0 and self._chars > 0


@lru_cache(maxsize=DOCUMENTS_KEPT)
def spec_chars(spec: JobSpec) -> int:
    """How long a job file is, without writing it out."""
    pairs = (*spec.env, *spec.tags)
    return (
        len(spec.setup)
        + sum(len(role.run) for role in spec.roles)
        + sum(len(key) + len(value) for key, value in pairs)
        + sum(map(len, spec.secrets))
        + sum(len(each.job) for each in spec.depends_on)
    )


def _taken(walk: Iterator[tuple[Place, JobId]], wanted: Callable[[JobId], bool], room: Room) -> Found:
    found: list[JobId] = []
    last: Place = 0
    for place, job in islice(walk, JOBS_SCANNED):
        last = place
        if wanted(job):
            found.append(job)
            if not room.take(job):
                break
    return Found(jobs=tuple(found), next=None if next(walk, None) is None else last)
