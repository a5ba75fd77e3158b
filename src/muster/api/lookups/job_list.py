"""Pages of jobs, newest first. Lists of active jobs come from the view, all other lists from the archive."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice

from muster.api.lookups.records import Records
from muster.live.leadership.reading import Readable
from muster.model.array import JobRecord
from muster.model.client_limits import PAGE_SPEC_CHARS
from muster.model.limits import DOCUMENTS_KEPT, JOBS_SCANNED, WATCHER_PAGE_EVENTS
from muster.model.spec import JobSpec
from muster.store.base import JobFilter
from muster.views.active_jobs import ActiveJobs
from muster.views.view import View


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A page of jobs, and where the next page begins."""

    jobs: tuple[JobRecord, ...]
    next: int | None


class JobList:
    """Walks through jobs in the order of their submission. Only for the thread of the event loop."""

    def __init__(self, control: Readable, records: Records) -> None:
        self._control = control
        self._records = records
        self._active = ActiveJobs(control.view)

    def active(
        self, wanted: Callable[[JobRecord], bool], *, before: int | None, limit: int, is_brief: bool = False
    ) -> Found:
        """Up to `limit` active jobs that are wanted.

        There are fewer when their files are long, or when few of `JOBS_SCANNED` jobs match.
        """
        walk = self._active.newest(self._caught_up(), before)
        room, found = PageRoom(limit, is_brief=is_brief), []
        last = 0
        for job in islice(walk, JOBS_SCANNED):
            last = job.number
            if wanted(job):
                found.append(job)
                if not room.take(job):
                    break
        return Found(jobs=tuple(found), next=None if next(walk, None) is None else last)

    async def any(self, filters: JobFilter, *, before: int | None, limit: int, is_brief: bool = False) -> Found:
        """Up to `limit` jobs out of all jobs that ever existed; fewer when their files are long."""
        page = await self._records.ask(lambda archive: archive.page(filters, limit=limit, before=before))
        fitting = fit(page.jobs, limit, is_brief=is_brief)
        is_cut = len(fitting) < len(page.jobs)
        return Found(jobs=fitting, next=fitting[-1].number if is_cut else page.next)

    def _caught_up(self) -> View:
        """The view, after the list has caught up with it: a user who has submitted a job finds it in the list."""
        view = self._control.view
        while (events := self._control.feed.after(self._active.version, WATCHER_PAGE_EVENTS)) != ():
            if events is None:
                self._active = ActiveJobs(view)
                break
            self._active.note([(version, published.event) for version, published in events], view)
        return view


class PageRoom:
    """The room on a page: a number of jobs, and a total length of their job files, unless the page leaves them out."""

    def __init__(self, limit: int, *, is_brief: bool = False) -> None:
        self._jobs = limit
        self._is_brief = is_brief
        self._chars = PAGE_SPEC_CHARS

    def take(self, job: JobRecord) -> bool:
        """Put a job on the page; False when the page is then full. The first job always fits."""
        self._jobs -= 1
        if not self._is_brief:
            self._chars -= spec_chars(job.spec)
        return self._jobs > 0 and self._chars > 0


def fit(jobs: Iterable[JobRecord], limit: int, *, is_brief: bool = False) -> tuple[JobRecord, ...]:
    """As many of the jobs as fit on a page."""
    room, found = PageRoom(limit, is_brief=is_brief), []
    for job in jobs:
        found.append(job)
        if not room.take(job):
            break
    return tuple(found)


@lru_cache(maxsize=DOCUMENTS_KEPT)
def spec_chars(spec: JobSpec) -> int:
    """The approximate length of a job file, without writing it out."""
    pairs = (*spec.env, *spec.tags)
    return (
        len(spec.setup)
        + sum(len(role.run) for role in spec.roles)
        + sum(len(key) + len(value) for key, value in pairs)
        + sum(map(len, spec.secrets))
        + sum(len(each.job) for each in spec.depends_on)
    )
