"""What the engine can look up about jobs that have ended and left its state: they are in the archive."""

from muster.core.lifecycle.arrays import tasks_of
from muster.model.array import ArrayRecord, JobRecord
from muster.model.ids import JobId
from muster.model.job import Job
from muster.store.base import JobArchive, KeyedRequest


class Past:
    """Ended jobs. Without an archive no job ever leaves the state, and nothing is found here."""

    def __init__(self, archive: JobArchive | None = None) -> None:
        self._archive = archive

    @property
    def is_kept(self) -> bool:
        """True when jobs that have ended may leave the state."""
        return self._archive is not None

    def find(self, job: JobId) -> JobRecord | None:
        """A job, a task or an array."""
        return None if self._archive is None else self._archive.find((job,)).get(job)

    def known(self, jobs: tuple[JobId, ...]) -> frozenset[JobId]:
        """Which of these jobs there are."""
        return frozenset(() if self._archive is None else self._archive.find(jobs))

    def tasks(self, array: ArrayRecord) -> list[Job]:
        """The records of all tasks of an array."""
        found = {} if self._archive is None else self._archive.find(tasks_of(array))
        return [record for record in found.values() if isinstance(record, Job)]

    def keyed(self, by: str, key: str) -> KeyedRequest | None:
        """The job that was submitted under a key."""
        return None if self._archive is None else self._archive.keyed(by, key)
