"""What workers on this machine printed, for whoever may read it."""

import os
import re
from pathlib import Path

from muster.backends.local.logs import LogPart, read_log
from muster.home import Home
from muster.model.errors import NotFound
from muster.model.ids import JobId
from muster.worker.segments import log_folder

_NUMBERED = re.compile(r"job-(\d+)\b")


class LocalOutput:
    """Reads the logs that the supervisors of one home wrote."""

    def __init__(self, home: Path) -> None:
        self._home = home

    def read(self, job: JobId, attempt: int, rank: int, offset: int, limit: int) -> LogPart:
        """Up to `limit` bytes from an offset on; a negative one counts from the end."""
        if not log_folder(self._home, job, attempt, rank).is_dir():
            raise NotFound(f"worker {rank} of {job} has printed nothing in attempt {attempt}")
        return read_log(self._home, job, attempt, rank, offset=offset, limit=limit)


def highest_number(home: Path) -> int:
    """The highest number of a job that ever ran under this home, as far as its output is still there.

    A database that was restored from a copy, or made anew, does not know of the jobs that came after. Were their
    numbers given out again, the nodes would take a new job for an old one that has ended.
    """
    logs = Home(home).logs
    found = (_NUMBERED.match(name) for name in os.listdir(logs)) if logs.is_dir() else ()
    return max((int(match[1]) for match in found if match is not None), default=0)
