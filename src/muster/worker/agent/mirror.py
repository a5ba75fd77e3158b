"""Sends what jobs leave in a node's log folder to the control plane, which keeps a copy that people read.

Files only grow, or are replaced by shorter ones. Each is asked about first (`data` is empty, `at` is its size), and the
answer says how much of it the control plane has. What it has not is sent in pieces, and each answer says what it has
then. So nothing is lost and nothing is sent twice when a connection breaks, and either side may forget everything.

    {"file": "job-1/1/0/0000000000000000.log", "at": 120, "data": base64}     to the control plane
    {"file": "job-1/1/0/0000000000000000.log", "gone": true}                  it was dropped here; forget it, too
    {"kept": "job-1/1/0/0000000000000000.log", "size": 240}                   back; -1: not now, ask again later
"""

import os
import time
from base64 import b64encode
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from muster.worker.gang.step_records import NAME as STEPS
from muster.worker.output.segments import COMPLETE, SUFFIX
from muster.worker.training.metrics_file import NAME as METRICS

RECORDS = (METRICS, STEPS)
"""What attempts leave beside the output of their workers."""

PIECE_BYTES = 128 << 10
UNANSWERED_MOST = 8
"""How many pieces may be on their way: a slow control plane slows its agents, and none of them keeps much in memory."""

REFUSED_S = 2.0
"""How long a file is left alone of which the control plane knows nothing yet."""

ANSWER_S = 30.0
"""After how long without an answer a piece is sent again."""

Say = Callable[[dict[str, object]], None]


@dataclass(slots=True)
class _Copy:
    """How much of a file the control plane has."""

    inode: int
    kept: int | None = None
    """None while it was not asked."""
    waits_until_s: float = 0.0
    """An answer is on its way, or the file is left alone, until then."""
    is_sent: bool = False
    """True while an answer is on its way."""


class Mirror:
    """The files of one home. Call `look` often; it does little when nothing has changed."""

    def __init__(self, logs: Path, clock: Callable[[], float] = time.monotonic) -> None:
        self._logs = logs
        self._clock = clock
        self._copies: dict[str, _Copy] = {}

    def begin(self) -> None:
        """A new connection: ask about everything again."""
        self._copies.clear()

    @property
    def is_level(self) -> bool:
        """True when the control plane has all of every file."""
        files = dict(_files(self._logs))
        return all((copy := self._copies.get(name)) and copy.kept == status.st_size for name, status in files.items())

    @property
    def behind(self) -> int:
        """How many bytes the control plane lacks, as far as is known. What it was not asked about counts as lacking."""
        kept = {name: copy.kept or 0 for name, copy in self._copies.items()}
        return sum(max(status.st_size - kept.get(name, 0), 0) for name, status in _files(self._logs))

    def look(self, say: Say) -> None:
        """Send pieces of files that have grown, as many as may be on their way."""
        now_s = self._clock()
        found = dict(_files(self._logs))
        for name in [name for name in self._copies if name not in found]:
            del self._copies[name]
            if os.path.isdir(self._logs / os.path.dirname(name)):
                say({"file": name, "gone": True})
        room = UNANSWERED_MOST - sum(each.is_sent and now_s < each.waits_until_s for each in self._copies.values())
        for name, status in found.items():
            if room <= 0:
                return
            room -= self._send(name, status, found, now_s, say)

    def answered(self, name: str, size: int) -> None:
        """The control plane has so much of a file; -1 when it does not take it now."""
        copy = self._copies.get(name)
        if copy is None:
            return
        copy.is_sent = False
        copy.kept = size if size >= 0 else None
        copy.waits_until_s = 0.0 if size >= 0 else self._clock() + REFUSED_S

    def _send(self, name: str, status: os.stat_result, found: dict[str, os.stat_result], now_s: float, say: Say) -> int:
        """Send a piece of one file if it needs one; how many were sent."""
        copy = self._copies.get(name)
        if copy is None or copy.inode != status.st_ino or (copy.kept or 0) > status.st_size:
            if name.endswith(f"/{COMPLETE}") and not self._is_level(os.path.dirname(name), found):
                return 0  # it says that nothing follows, so it comes last
            is_replaced = copy is not None
            copy = self._copies[name] = _Copy(inode=status.st_ino)
            if is_replaced:
                say({"file": name, "gone": True})
        if now_s < copy.waits_until_s or copy.kept == status.st_size:
            return 0
        data = b"" if copy.kept is None else _piece(self._logs / name, copy.kept)
        at = status.st_size if copy.kept is None else copy.kept
        copy.is_sent, copy.waits_until_s = True, now_s + ANSWER_S
        say({"file": name, "at": at, "data": b64encode(data).decode()})
        return 1

    def _is_level(self, folder: str, found: dict[str, os.stat_result]) -> bool:
        """True when the control plane has all other files of a folder."""
        others = (name for name in found if name.startswith(f"{folder}/") and not name.endswith(f"/{COMPLETE}"))
        return all((copy := self._copies.get(name)) and copy.kept == found[name].st_size for name in others)


def _piece(path: Path, at: int) -> bytes:
    with suppress(OSError), open(path, "rb") as file:
        file.seek(at)
        return file.read(PIECE_BYTES)
    return b""


def _files(logs: Path) -> Iterator[tuple[str, os.stat_result]]:
    """The files that are sent, with their sizes: output of workers and uploaders, and records of attempts."""
    for job in _names(logs):
        for attempt in _names(logs / job):
            for each in _names(logs / job / attempt):
                name = f"{job}/{attempt}/{each}"
                if each in RECORDS:
                    yield from _status(logs, name)
                    continue
                for file in _names(logs / name):
                    if file.endswith(SUFFIX) or file == COMPLETE:
                        yield from _status(logs, f"{name}/{file}")


def _names(folder: Path) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except (FileNotFoundError, NotADirectoryError):
        return []


def _status(logs: Path, name: str) -> Iterator[tuple[str, os.stat_result]]:
    with suppress(OSError):
        yield name, os.lstat(logs / name)
