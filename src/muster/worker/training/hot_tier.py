"""The hot checkpoints of one node: removes those of runs that are over, and of runs that nobody asks about any more.

Nothing outside of the node's own folder is ever touched: a run is named by a plain name, links are not followed, and a
folder is first renamed inside of the node's folder. Then a thread removes it, because files may be large.
"""

import contextlib
import os
import re
import time
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path

from muster.model.node_limits import HOT_KEPT_S

UNSENT = ".unsent"
"""The note of an uploader (`muster.train.uploader`) that not everything of a run is sent."""

GONE = ".gone-"
"""How the names of folders begin that are being removed."""

_RUN = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,200}")

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class HotTier:
    """What a node has in `ROOT/NODE`, with a folder for each run."""

    def __init__(self, root: Path, node: str) -> None:
        self._folder = root / node

    def remove(self, runs: Iterable[str]) -> None:
        """Remove everything of these runs, except what is in no other place yet. Returns at once."""
        self._removed(run for run in runs if _RUN.fullmatch(run) and not self._is_unsent(run))

    def _removed(self, runs: Iterable[str]) -> None:
        with self._opened() as place:
            if place is None:
                return
            renamed = [run for run in runs if _RUN.fullmatch(run) and _renamed(run, place)]
            if renamed:
                self._clear()

    def sweep(self, living: Collection[str]) -> None:
        """Remove what was not written to for days, unless its run is among the living, and what is half removed."""
        with self._opened() as place:
            names = [] if place is None else os.listdir(place)
        before_s = time.time() - HOT_KEPT_S
        old = [name for name in names if name not in living and self._is_older(name, before_s)]
        self._removed(old)
        if any(name.startswith(GONE) for name in names):
            self._clear()

    def _is_unsent(self, run: str) -> bool:
        """True when an uploader could not send all of a run, and left a note."""
        return os.path.lexists(self._folder / run / UNSENT)

    def _is_older(self, run: str, than_s: float) -> bool:
        """True when neither the folder of the run nor one of its checkpoints was changed since."""
        try:
            with os.scandir(self._folder / run) as entries:
                newest_s = max((each.stat(follow_symlinks=False).st_mtime for each in entries), default=0.0)
            return max(newest_s, os.lstat(self._folder / run).st_mtime) < than_s
        except OSError:
            return False

    @contextlib.contextmanager
    def _opened(self) -> Iterator[int | None]:
        """The node's folder, open; None when there is none, or when it is a link."""
        try:
            place = os.open(self._folder, _FOLDER)
        except OSError:
            yield None
            return
        try:
            yield place
        finally:
            os.close(place)

    def _clear(self) -> None:
        """Remove what was renamed, on a thread of its own."""
        import threading  # noqa: PLC0415 (most supervisors never need one)

        with contextlib.suppress(RuntimeError):  # no thread can be started now; the next sweep will do
            threading.Thread(target=self._remove_gone, name="hot-tier", daemon=True).start()

    def _remove_gone(self) -> None:
        from shutil import rmtree  # noqa: PLC0415 (large, and seldom needed)

        with self._opened() as place, contextlib.suppress(OSError):
            if place is None:
                return
            for name in os.listdir(place):
                if name.startswith(GONE):
                    rmtree(name, ignore_errors=True, dir_fd=place)
                    with contextlib.suppress(OSError):
                        os.unlink(name, dir_fd=place)  # a link, which is not followed


def _renamed(run: str, place: int) -> bool:
    try:
        os.rename(run, f"{GONE}{os.urandom(6).hex()}-{run[:100]}", src_dir_fd=place, dst_dir_fd=place)
    except OSError:
        return False
    return True
