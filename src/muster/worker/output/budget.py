"""How much output of workers may be on the disk: by job, by node, and by what is free of the disk.

`Segments` bounds the output of each worker. Here the output of all workers of one supervisor is bounded together. It is
checked as it is written, because a fast printer fills a disk between two checks by the clock. The worker that keeps the
most loses its oldest output first, and its log says so. The disk may be shared: by several nodes of one machine, their
ended workers, the database, checkpoints. So each node has a part of what all nodes may have together. When the disk is
nearly full, workers lose output down to a tail, whatever filled the disk.
"""

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from weakref import WeakKeyDictionary

from muster.home import Home
from muster.model.ids import JobId
from muster.model.node_limits import (
    LOG_SEGMENT_BYTES,
    LOG_TAIL_BYTES,
    LOGS_CHECK_BYTES,
    LOGS_DISK_PART,
    LOGS_FREE_BYTES,
    LOGS_FREE_PART,
    LOGS_JOB_BYTES,
)
from muster.worker.output.segments import Segments, log_folder

JOB_NOTE = b"\n[muster: older output was dropped, this job printed more than is kept of one]\n"
NODE_NOTE = b"\n[muster: older output was dropped, the workers of this node printed more than is kept]\n"
DISK_NOTE = b"\n[muster: older output was dropped, the disk is nearly full]\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Disk:
    """How large a disk is, and how much Muster may still write to it."""

    total_bytes: int
    free_bytes: int

    @property
    def floor_bytes(self) -> int:
        """The space that output must leave free for the log of events, whatever jobs print."""
        return min(self.total_bytes // LOGS_FREE_PART, LOGS_FREE_BYTES)

    @property
    def is_tight(self) -> bool:
        """True when less is free than output must leave."""
        return self.free_bytes < self.floor_bytes


def disk_of(folder: Path) -> Disk | None:
    """The disk that a folder is on; None when there is no folder yet."""
    try:
        found = os.statvfs(folder)
    except OSError:
        return None
    return Disk(total_bytes=found.f_blocks * found.f_frsize, free_bytes=found.f_bavail * found.f_frsize)


class OutputBudget:
    """The output of all workers that one supervisor runs."""

    def __init__(
        self,
        home: Path,
        *,
        job_bytes: int = LOGS_JOB_BYTES,
        look: Callable[[Path], Disk | None] = disk_of,
    ) -> None:
        self._home = home
        self._job_bytes = job_bytes
        self._look = look
        self._rows: WeakKeyDictionary[Segments, JobId] = WeakKeyDictionary()
        """Outputs that are still written, with the job of each."""
        self._noted: WeakKeyDictionary[Segments, dict[bytes, int]] = WeakKeyDictionary()
        """For each output, the offset of each note that says why older output was dropped."""
        self._is_looking = False
        self._unseen_bytes = 0
        self._check_bytes = 0
        """How much is written until the next check; the first check is at once."""
        self._segment_bytes = LOG_SEGMENT_BYTES

    def segments(self, job: JobId, attempt: int, rank: int) -> Segments:
        """The output of a worker. The caller writes to it from now on, and closes it in the end."""
        row = Segments(
            log_folder(self._home, job, attempt, rank),
            segment_bytes=self._segment_bytes,
            written=self._written,
            closed=self._closed,
        )
        self._rows[row] = job
        return row

    def note(self, job: JobId, attempt: int, rank: int, text: bytes) -> None:
        """Add a line of Muster to the output of a worker that has no process."""
        log = self.segments(job, attempt, rank)
        log.write(text)
        log.close()

    def _closed(self, row: Segments) -> None:
        self._rows.pop(row, None)

    def _written(self, count: int) -> None:
        self._unseen_bytes += count
        if self._unseen_bytes < self._check_bytes or self._is_looking:
            return
        self._unseen_bytes = 0
        disk = self._look(Home(self._home).logs)
        if disk is not None:
            self._is_looking = True
            try:
                self._make_room(disk)
            finally:
                self._is_looking = False

    def _make_room(self, disk: Disk) -> None:
        # Few enough checks to cost nothing, and several before the space that is kept free is used up.
        self._check_bytes = min(LOGS_CHECK_BYTES, disk.floor_bytes // 8)
        self._segment_bytes = LOG_TAIL_BYTES if disk.is_tight else LOG_SEGMENT_BYTES
        by_job: dict[JobId, list[Segments]] = {}
        for row, job in self._rows.items():
            by_job.setdefault(job, []).append(row)
        for rows in by_job.values():
            self._drop(rows, _kept_bytes(rows) - self._job_bytes, JOB_NOTE)
        everybody = tuple(self._rows)
        self._drop(everybody, _kept_bytes(everybody) - disk.total_bytes // LOGS_DISK_PART // self._nodes(), NODE_NOTE)
        for row in everybody:
            row.segment_bytes = self._segment_bytes
            if disk.is_tight:
                row.cut(LOG_TAIL_BYTES)
        self._drop(everybody, disk.floor_bytes - disk.free_bytes, DISK_NOTE)

    def _nodes(self) -> int:
        """How many supervisors share the disk with this one, itself included."""
        try:
            return max(len(os.listdir(Home(self._home).nodes)), 1)
        except OSError:
            return 1

    def _drop(self, rows: Iterable[Segments], excess_bytes: int, note: bytes) -> None:
        """Drop old output of the worker that keeps the most, until this much is gone or each has only its last file."""
        divisible = [row for row in rows if row.has_older]
        while excess_bytes > 0 and divisible:
            noisiest = max(divisible, key=lambda row: row.kept_bytes)
            excess_bytes -= noisiest.drop_oldest()
            divisible = [row for row in divisible if row.has_older]
            self._note(noisiest, note)

    def _note(self, row: Segments, note: bytes) -> None:
        """Write a note to the log, unless the part of it that is kept has this note already."""
        noted = self._noted.setdefault(row, {})
        if noted.get(note, -1) < row.offset - row.kept_bytes:
            noted[note] = row.offset
            row.write(note)


def _kept_bytes(rows: Iterable[Segments]) -> int:
    return sum(row.kept_bytes for row in rows)
