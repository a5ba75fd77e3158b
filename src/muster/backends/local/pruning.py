"""Old output makes room: what ended workers printed is dropped, the oldest attempts first, when there is too much.

What marks a log as complete stays, so that whoever asks for it learns that nothing more will come.
"""

import os
import shutil
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from muster.model.limits import LOGS_DISK_PART, LOGS_KEPT_S
from muster.worker.segments import COMPLETE, SUFFIX


@dataclass(frozen=True, slots=True, kw_only=True)
class _Attempt:
    """What the workers of one attempt printed on this machine."""

    touched_s: float
    """When anything of it was written last."""
    size_bytes: int
    files: tuple[Path, ...]
    is_ended: bool


def logs_bytes_max(logs: Path) -> int:
    """How much output may be kept in this folder."""
    return shutil.disk_usage(logs).total // LOGS_DISK_PART


def prune(logs: Path, bytes_max: int, *, kept_s: float = LOGS_KEPT_S) -> int:
    """Drop old output until no more than this is left, or nothing that may go. How many bytes went."""
    found = sorted(_attempts(logs), key=lambda each: each.touched_s)
    excess = sum(each.size_bytes for each in found) - bytes_max
    gone = 0
    for attempt in found:
        if gone >= excess:
            break
        # One that was written just now may have workers on nodes that have not begun to print.
        if attempt.is_ended and attempt.touched_s <= time.time() - kept_s:
            for file in attempt.files:
                file.unlink(missing_ok=True)
            gone += attempt.size_bytes
    return gone


def _attempts(logs: Path) -> Iterator[_Attempt]:
    for job in _folders(logs):
        for attempt in _folders(job):
            with suppress(FileNotFoundError):  # a segment is dropped at any moment
                yield _attempt(attempt)


def _attempt(folder: Path) -> _Attempt:
    files: list[Path] = []
    touched_s, size_bytes, is_ended = 0.0, 0, True
    for rank in _folders(folder):
        names = os.listdir(rank)
        is_ended = is_ended and COMPLETE in names
        for name in names:
            found = (rank / name).stat()
            touched_s = max(touched_s, found.st_mtime)
            if name.endswith(SUFFIX):
                files.append(rank / name)
                size_bytes += found.st_size
    return _Attempt(touched_s=touched_s, size_bytes=size_bytes, files=tuple(files), is_ended=is_ended)


def _folders(folder: Path) -> list[Path]:
    try:
        with os.scandir(folder) as entries:
            return [folder / each.name for each in entries if each.is_dir(follow_symlinks=False)]
    except FileNotFoundError:
        return []
