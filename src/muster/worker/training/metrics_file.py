"""What a job measures of itself, as JSON lines in one file for each attempt. The oldest lines are dropped.

Only the first worker of a gang writes it, so that no two nodes write to the same file.
"""

import contextlib
import json
import os
import time
from pathlib import Path

from muster.model.ids import JobId
from muster.model.node_limits import METRICS_BYTES, METRICS_PAUSE_MS
from muster.worker.notices import Measures
from muster.worker.output.segments import attempt_folder

NAME = "metrics.jsonl"


def metrics_path(home: Path, job: JobId, attempt: int) -> Path:
    """The file with what an attempt has measured of itself, beside the output of its workers."""
    return attempt_folder(home, job, attempt) / NAME


class MetricsFile:
    """Writes one file. A full disk costs lines, and nothing else."""

    def __init__(self, path: Path, *, bytes_max: int = METRICS_BYTES) -> None:
        self._path = path
        self._bytes_max = bytes_max
        self._file: int | None = None
        self._size = 0
        self._written_s: float | None = None

    def add(self, measures: Measures, at_ms: int) -> None:
        """Append a line, unless the last one was only a moment ago."""
        now_s = time.monotonic()
        if self._written_s is not None and now_s - self._written_s < METRICS_PAUSE_MS / 1000:
            return
        self._written_s = now_s
        line = json.dumps({"at_ms": at_ms, **measures.values}, separators=(",", ":")).encode() + b"\n"
        with contextlib.suppress(OSError):
            if self._file is None:
                self._open()
            if self._size + len(line) > self._bytes_max:
                self._drop_older_half()
            self._append(line)

    def close(self) -> None:
        """Let go of the file."""
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def _open(self) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._file = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        self._size = os.fstat(self._file).st_size

    def _append(self, line: bytes) -> None:
        assert self._file is not None
        written = os.write(self._file, line)
        self._size += written
        if written != len(line):  # half a line would spoil the next one
            self._size -= written
            os.ftruncate(self._file, self._size)

    def _drop_older_half(self) -> None:
        """Replace the file by its newer half, from the beginning of a line on."""
        data = self._path.read_bytes()[-self._bytes_max // 2 :]
        fresh = self._path.with_suffix(".new")
        fresh.write_bytes(data[data.find(b"\n") + 1 :])
        os.replace(fresh, self._path)
        self.close()
        self._open()
