"""What workers on this machine printed, for whoever may read it."""

from pathlib import Path

from muster.backends.local.logs import LogPart, read_log
from muster.model.errors import NotFound
from muster.model.ids import JobId
from muster.worker.segments import log_folder


class LocalOutput:
    """Reads the logs that the supervisors of one home wrote."""

    def __init__(self, home: Path) -> None:
        self._home = home

    def read(self, job: JobId, attempt: int, rank: int, offset: int, limit: int) -> LogPart:
        """Up to `limit` bytes from an offset on; a negative one counts from the end."""
        if not log_folder(self._home, job, attempt, rank).is_dir():
            raise NotFound(f"worker {rank} of {job} has printed nothing in attempt {attempt}")
        return read_log(self._home, job, attempt, rank, offset=offset, limit=limit)
