"""What a process reads, passed on through a pipe.

Never waits: what the process has not taken is kept, and no more of it is received meanwhile.
"""

import os
from collections.abc import Callable

from muster.model.node_limits import PUMP_BYTES
from muster.worker.loop import Loop


class PipedInput:
    """The end of the pipe that is written to."""

    def __init__(self, loop: Loop, *, hold: Callable[[bool], None], ended: Callable[[bool], None]) -> None:
        """Say whether what comes next has to wait (`hold`) and, once, whether the process has taken all (`ended`)."""
        self.reading, self._file = os.pipe2(os.O_CLOEXEC)
        """The end that the process gets. The code that starts the process closes it."""
        os.set_blocking(self._file, False)
        self._loop = loop
        self._hold = hold
        self._ended = ended
        self._kept = bytearray()
        self._has_all = False

    @property
    def is_open(self) -> bool:
        """True while the process may be given more."""
        return self._file >= 0

    def type(self, data: bytes) -> None:
        """Pass this on."""
        if self.is_open:
            self._kept += data
            self._give()

    def end(self) -> None:
        """Nothing more will come: the process reads to the end of what it has."""
        self._has_all = True
        if self.is_open:
            self._give()

    def close(self) -> None:
        """Give the process nothing more."""
        self._kept.clear()
        if self.is_open:
            self._loop.watch(self._file)
            os.close(self._file)
            self._file = -1

    def _give(self) -> None:
        is_read = True
        try:
            while self._kept:
                del self._kept[: os.write(self._file, self._kept[:PUMP_BYTES])]
        except BlockingIOError:
            pass
        except OSError:  # it does not read any more
            is_read = False
            self._kept.clear()
        self._hold(bool(self._kept))
        if self._kept:
            self._loop.watch(self._file, writable=self._give)
        elif self._has_all or not is_read:
            self.close()
            self._ended(is_read)
        else:
            self._loop.watch(self._file)
