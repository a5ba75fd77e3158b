"""Drops the output of ended workers when there is too much, the oldest attempts first.

The file that marks a log as complete stays, so that a reader learns that nothing more will come.
"""

import logging
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from muster.model.node_limits import (
    LOGS_DISK_PART,
    LOGS_GROWTH_PART,
    LOGS_KEPT_S,
    LOGS_LEAST_PART,
    LOGS_LOOK_MS,
    LOGS_PRUNE_MS,
    LOGS_TIGHT_MS,
)
from muster.worker.loop import Loop
from muster.worker.output.budget import Disk, disk_of
from muster.worker.output.segments import COMPLETE, SUFFIX
from muster.worker.training.uploads import LOG as UPLOADER

_log = logging.getLogger("muster.backends.local")

LOOKED = ".looked"
"""A file whose modification time says when old output was last looked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Attempt:
    """What the workers of one attempt printed on this machine."""

    touched_s: float
    """When anything of it was written last."""
    size_bytes: int
    files: tuple[str, ...]
    is_ended: bool


class Pruning:
    """Knows when it is time to look for old output. Only one thread calls it, and another one does the search."""

    def __init__(self, logs: Path, *, look: Callable[[Path], Disk | None] = disk_of) -> None:
        self._logs = logs
        self._look = look
        self._looked_s: float | None = None
        self._free_bytes = 0
        """The most that was free since old output was last looked for."""

    def due(self, now_s: float) -> Disk | None:
        """The disk, when old output should be looked for now: it is nearly full, much was written, or time has passed.

        `now_s` is of a monotonic clock.
        """
        disk = self._look(self._logs)
        if disk is None:
            return None
        if self._looked_s is None and (ago_s := _looked_ago_s(self._logs)) is not None:
            # A restart is no reason to look through everything again.
            self._looked_s = now_s - ago_s
        self._free_bytes = max(self._free_bytes, disk.free_bytes)
        has_grown = self._free_bytes - disk.free_bytes >= _bytes_max(disk) // LOGS_GROWTH_PART
        pause_ms = LOGS_TIGHT_MS if disk.is_tight else LOGS_PRUNE_MS
        if self._looked_s is not None and not has_grown and now_s < self._looked_s + pause_ms / 1000:
            return None
        self._looked_s, self._free_bytes = now_s, disk.free_bytes
        return disk


def make_room(logs: Path, disk: Disk) -> int:
    """Drop old output until it is within its limit, and enough of the disk is free. Returns the bytes dropped."""
    # Twice the space that must stay free: otherwise the next line that a worker prints would need another search.
    wanted = 2 * disk.floor_bytes - disk.free_bytes if disk.is_tight else 0
    gone = prune(logs, _bytes_max(disk), wanted_bytes=wanted, least_bytes=disk.total_bytes // LOGS_LEAST_PART)
    with suppress(OSError):  # the disk is full; then old output is looked for again after the next start
        (logs / LOOKED).touch()
    return gone


class LogPruning:
    """Drops old output from time to time, on a thread of its own: there may be many files, and nothing waits for it."""

    def __init__(self, logs: Path, loop: Loop) -> None:
        self._logs = logs
        self._loop = loop
        self._pruning = Pruning(logs)
        self._pruner: threading.Thread | None = None

    def begin(self) -> None:
        """Look now, and then again and again."""
        self._loop.after(LOGS_LOOK_MS, self.begin)
        is_busy = self._pruner is not None and self._pruner.is_alive()
        disk = None if is_busy else self._pruning.due(time.monotonic())
        if disk is not None:
            self._pruner = threading.Thread(target=self._make_room, args=(disk,), name="log-pruning", daemon=True)
            with suppress(RuntimeError):  # no thread can be started now; the next time will do
                self._pruner.start()

    def _make_room(self, disk: Disk) -> None:
        try:
            gone = make_room(self._logs, disk)
        except OSError as error:
            _log.warning("old output could not be dropped", extra={"cause": str(error)})
        else:
            if gone:
                _log.info("old output was dropped", extra={"bytes": gone})


def _looked_ago_s(logs: Path) -> float | None:
    """How long ago old output was last looked for, by this server or one before it; None when that is long ago."""
    try:
        ago_s = time.time() - (logs / LOOKED).stat().st_mtime
    except OSError:
        return None
    return ago_s if 0 <= ago_s < LOGS_PRUNE_MS / 1000 else None


def _bytes_max(disk: Disk) -> int:
    """How much output may be kept on this disk."""
    return disk.total_bytes // LOGS_DISK_PART


def prune(
    logs: Path, bytes_max: int, *, wanted_bytes: int = 0, least_bytes: int = 0, kept_s: float = LOGS_KEPT_S
) -> int:
    """Drop old output until at most `bytes_max` is left, or nothing that may be dropped. Returns the bytes dropped.

    Output of the last `kept_s` seconds stays, unless `wanted_bytes` are needed: those are dropped however young they
    are, down to `least_bytes`.
    """
    found = sorted(_attempts(logs), key=lambda each: each.touched_s)
    total, now_s, gone = sum(each.size_bytes for each in found), time.time(), 0
    wanted_bytes = min(wanted_bytes, total - least_bytes)
    for attempt in found:
        # An attempt that was written just now may have workers on nodes that have not begun to print. An attempt that
        # seems to be from the future was written before the clock was set back.
        is_young = 0 <= now_s - attempt.touched_s < kept_s
        excess = wanted_bytes if is_young else max(total - bytes_max, wanted_bytes)
        if attempt.is_ended and gone < excess:
            for file in attempt.files:
                with suppress(FileNotFoundError):
                    os.unlink(file)
            gone += attempt.size_bytes
    return gone


def _attempts(logs: Path) -> Iterator[_Attempt]:
    # Paths are joined as strings: with a hundred thousand of them, path objects would take longer than the disk does.
    for job in _folders(str(logs)):
        for attempt in _folders(job):
            with suppress(FileNotFoundError):  # a segment may be dropped at any moment
                yield _attempt(attempt)


def _attempt(folder: str) -> _Attempt:
    files = _files(folder)
    touched_s, size_bytes, is_ended = 0.0, sum(os.stat(file).st_size for file in files), True
    for writer in _folders(folder):
        names = os.listdir(writer)
        # An uploader whose supervisor was killed never says that its output is complete. It ends with its workers.
        is_ended = is_ended and (COMPLETE in names or os.path.basename(writer) == UPLOADER)
        for name in names:
            found = os.stat(f"{writer}/{name}")
            touched_s = max(touched_s, found.st_mtime)
            if name.endswith(SUFFIX):
                files.append(f"{writer}/{name}")
                size_bytes += found.st_size
    return _Attempt(touched_s=touched_s, size_bytes=size_bytes, files=tuple(files), is_ended=is_ended)


def _files(folder: str) -> list[str]:
    """What an attempt left beside the output of its workers: what it measured, and stacks."""
    with os.scandir(folder) as entries:
        return [each.path for each in entries if each.is_file(follow_symlinks=False)]


def _folders(folder: str) -> list[str]:
    try:
        with os.scandir(folder) as entries:
            return [each.path for each in entries if each.is_dir(follow_symlinks=False)]
    except FileNotFoundError:
        return []
