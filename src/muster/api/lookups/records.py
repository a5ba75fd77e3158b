"""Finding jobs: active jobs are in the view, and ended jobs in the archive."""

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from muster.live.leadership.reading import Readable
from muster.model.array import ArrayRecord, JobRecord
from muster.model.errors import NotFound, TooMany, Unavailable
from muster.model.ids import JobId
from muster.model.job import Job
from muster.model.limits import ARCHIVE_QUESTIONS, ARCHIVE_S, ARCHIVE_THREADS
from muster.store.base import JobArchive

T = TypeVar("T")


class Records:
    """Looks jobs up. The archive is read on separate threads, so that nothing else waits when it does not answer."""

    def __init__(self, control: Readable, archive: JobArchive) -> None:
        self._control = control
        self._archive = archive
        self._threads = ThreadPoolExecutor(ARCHIVE_THREADS, thread_name_prefix="archive")
        self._waiting = 0

    def close(self) -> None:
        """Stop reading the archive."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def find(self, job: JobId) -> JobRecord | None:
        """A job, a task or an array; None when it does not exist."""
        return (await self.find_all((job,))).get(job)

    async def find_all(self, jobs: Sequence[JobId]) -> dict[JobId, JobRecord]:
        """The records of these jobs, as far as they exist."""
        view = self._control.view
        alive = {job: record for job in jobs if (record := view.record(job)) is not None}
        missing = [job for job in jobs if job not in alive]
        return alive | await self.ask(lambda archive: archive.find(missing)) if missing else alive

    async def ask(self, question: Callable[[JobArchive], T]) -> T:
        """The answer of the archive to a question. Raises `Unavailable` when it does not come in time."""
        if (silence := self._control.silence) is not None:
            raise silence
        if self._waiting >= ARCHIVE_QUESTIONS:
            raise TooMany(f"{self._waiting} questions about ended jobs wait already; ask again in a moment")
        self._waiting += 1
        answer = asyncio.get_running_loop().run_in_executor(self._threads, question, self._archive)
        answer.add_done_callback(self._answered)
        try:
            return await asyncio.wait_for(asyncio.shield(answer), ARCHIVE_S)
        except TimeoutError:
            message = f"the store has not answered for {ARCHIVE_S:.0f} s; ask again later"
            raise Unavailable(message, brief="the store does not answer") from None

    def _answered(self, answer: "asyncio.Future[T]") -> None:
        self._waiting -= 1
        if not answer.cancelled():
            answer.exception()  # marks it as retrieved, also when no caller waits for it any more


def single(record: JobRecord) -> Job:
    """The record of one job or task. Raises `NotFound` for an array."""
    if isinstance(record, ArrayRecord):
        raise NotFound(f"{record.id} is an array: name one of its tasks, such as {record.id}.0")
    return record
