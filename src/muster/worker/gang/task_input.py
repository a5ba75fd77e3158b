"""What a task of a step reads: pieces that its `srun` sends, passed on as the task takes them. Never waits."""

import contextlib
import os
import selectors
from collections.abc import Callable


class TaskInput:
    """The end of a pipe that is written to."""

    def __init__(self, file: int, selector: selectors.BaseSelector, taken: Callable[[], None]) -> None:
        """`taken` is called when the task has taken some of what was kept for it, or will not read any more."""
        os.set_blocking(file, False)
        self._file = file
        self._selector = selector
        self._taken = taken
        self._kept = bytearray()
        self._has_all = self._is_watched = False

    @property
    def kept_bytes(self) -> int:
        """How much waits for the task to read."""
        return len(self._kept)

    def type(self, data: bytes | None) -> None:
        """Pass this on; None when there is no more."""
        if self._file >= 0:
            self._has_all = data is None
            self._kept += data or b""
            self._give()

    def close(self) -> None:
        """The task reads nothing more."""
        self._kept.clear()
        if self._file >= 0:
            self._watch(False)
            with contextlib.suppress(OSError):
                os.close(self._file)
            self._file = -1

    def _give(self) -> None:
        is_read = True
        try:
            while self._kept:
                del self._kept[: os.write(self._file, self._kept)]
        except BlockingIOError:
            pass
        except OSError:  # it does not read any more
            is_read = False
            self._kept.clear()
        self._watch(bool(self._kept))
        if not self._kept and (self._has_all or not is_read):
            self.close()

    def _go_on(self) -> None:
        self._give()
        self._taken()

    def _watch(self, is_watched: bool) -> None:
        if is_watched and not self._is_watched:
            self._selector.register(self._file, selectors.EVENT_WRITE, self._go_on)
        elif self._is_watched and not is_watched:
            self._selector.unregister(self._file)
        self._is_watched = is_watched
