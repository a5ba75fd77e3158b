"""What a worker printed, on disk: a series of files, each named by the offset of its first byte.

The number of files is bounded. The oldest file is dropped first, and offsets go on counting. A full disk costs output,
but never the worker.
"""

import contextlib
import os
from collections.abc import Callable
from pathlib import Path

from muster.home import Home
from muster.model.ids import JobId
from muster.model.node_limits import LOG_SEGMENT_BYTES, LOG_SEGMENTS

COMPLETE = "complete"
"""A file of this name beside the segments says that nothing more will come."""

SUFFIX = ".log"

_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.")
_NAME_CHARS = 150


def log_folder(home: Path, job: JobId, attempt: int, rank: int) -> Path:
    """Where the output of one worker is kept."""
    return attempt_folder(home, job, attempt) / str(rank)


def attempt_folder(home: Path, job: JobId, attempt: int) -> Path:
    """Where the output of an attempt is kept, and what else it leaves behind."""
    return Home(home).logs / folder_name(job) / str(attempt)


def folder_name(job: JobId) -> str:
    """A job's id as the name of a folder. Any id that is not plain is changed, so that it cannot lead elsewhere."""
    is_plain = _PLAIN.issuperset(job) and not job.startswith(".") and 0 < len(job) <= _NAME_CHARS
    if is_plain:
        return job
    from hashlib import sha256  # noqa: PLC0415 (loads a large library, for ids that are rare)

    readable = "".join(char if char in _PLAIN else "_" for char in job[:64])
    # No plain id contains a percent sign, so no other job has this folder.
    return f"%{readable}%{sha256(job.encode()).hexdigest()[:16]}"


def segment_name(offset: int) -> str:
    """The name of the file that begins at this offset; names sort as offsets do."""
    return f"{offset:016d}{SUFFIX}"


def segments_in(folder: Path) -> list[int]:
    """The offsets at which the kept files begin, in order."""
    try:
        names = os.listdir(folder)
    except FileNotFoundError:
        return []
    return sorted(int(name.removesuffix(SUFFIX)) for name in names if name.endswith(SUFFIX))


class Segments:
    """Writes one worker's output."""

    def __init__(
        self,
        folder: Path,
        *,
        segment_bytes: int = LOG_SEGMENT_BYTES,
        segments_max: int = LOG_SEGMENTS,
        written: Callable[[int], None] = lambda _: None,
        closed: Callable[["Segments"], None] = lambda _: None,
    ) -> None:
        self.segment_bytes = segment_bytes
        """How large the next file may become."""
        self._folder = folder
        self._segments_max = segments_max
        self._written = written
        self._closed = closed
        self._file: int | None = None
        self._room = 0
        self._kept = segments_in(folder)
        self.offset = self._kept[-1] + _size(folder / segment_name(self._kept[-1])) if self._kept else 0
        self.lost_bytes = 0
        """Bytes of output that could not be written since the last successful write."""

    @property
    def kept_bytes(self) -> int:
        """How much of the output is on disk."""
        return self.offset - self._kept[0] if self._kept else 0

    @property
    def has_older(self) -> bool:
        """True when there are files that are no longer written to."""
        return len(self._kept) > 1

    def drop_oldest(self) -> int:
        """Drop the oldest file. Returns how many bytes it had. There must be another file."""
        with contextlib.suppress(OSError):
            os.unlink(self._folder / segment_name(self._kept[0]))
        dropped = self._kept.pop(0)
        return self._kept[0] - dropped

    def cut(self, tail_bytes: int) -> None:
        """Write to a new file from now on, if the present one is this large. Then the old one can be dropped."""
        if self._kept and self.offset - self._kept[-1] >= tail_bytes:
            self._end()
        self._room = min(self._room, tail_bytes)

    def write(self, data: bytes) -> None:
        """Append to the output, in as many files as it takes."""
        if self.lost_bytes:
            data = self._loss() + data
        while data:
            if self._room == 0 and not self._begin():
                self.lost_bytes += len(data)
                return
            written = self._append(data[: self._room])
            if written == 0:
                self.lost_bytes += len(data)
                return
            data = data[written:]

    def close(self) -> None:
        """Mark the output as complete: nothing more will come."""
        if self.lost_bytes:
            self.write(b"")
        self._end()
        with contextlib.suppress(OSError):
            self._folder.mkdir(parents=True, exist_ok=True)
            (self._folder / COMPLETE).touch()
        self._closed(self)

    def _loss(self) -> bytes:
        """The note that is written once in place of lost output."""
        lost, self.lost_bytes = self.lost_bytes, 0
        return b"\n[muster: %d bytes of output are lost here, the disk was full]\n" % lost

    def _append(self, data: bytes) -> int:
        assert self._file is not None
        try:
            written = os.write(self._file, data)
        except OSError:
            return 0
        self.offset += written
        self._room -= written
        if self._room == 0:
            self._end()
        self._written(written)
        return written

    def _begin(self) -> bool:
        """Open the next file, and drop the oldest when there are too many."""
        try:
            if not self._kept:
                self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            path = self._folder / segment_name(self.offset)
            self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        except OSError:
            return False
        self._room = self.segment_bytes
        if self.offset not in self._kept:
            self._kept.append(self.offset)
        while len(self._kept) > self._segments_max:
            self.drop_oldest()
        return True

    def _end(self) -> None:
        if self._file is not None:
            os.close(self._file)
        self._file, self._room = None, 0


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
