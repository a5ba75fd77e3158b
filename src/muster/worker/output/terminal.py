"""A terminal that several users may watch and type to."""

import contextlib
import fcntl
import os
import re
import struct
import termios
from collections.abc import Callable

from muster.model.node_limits import PUMP_BYTES, TERMINAL_REPLAY_BYTES

View = Callable[[bytes | None], None]
"""Shows more of the terminal to a viewer; None means that there is no more."""

ROWS, COLUMNS = 24, 80
"""The size until a viewer says how large their window is."""


_QUERIES = re.compile(
    rb"\x05"  # who are you
    rb"|\x1bZ"  # the same, of a terminal of 1978
    rb"|\x1b\[[?>=]?[0-9;]*[cnx]"  # attributes, state, position, parameters
    rb"|\x1b\[\??[0-9;]*\$p"  # whether a mode is set
    rb"|\x1b\[(?:1[13-9]|2[01])(?:;[0-9;]*)?t"  # the size and the title of the window
    rb"|\x1b\[>[0-9]*q|\x1b\[\?u"  # the version, the keyboard
    rb"|\x1b\][0-9;]*;\?(?:\x07|\x1b\\)"  # colours
    rb"|\x1bP[$+]q[^\x1b]*\x1b\\"  # settings, capabilities
)
"""What programs print to ask the terminal something. The terminal answers as if its user had typed the answer."""


def replayed(seen: bytes, *, is_cut: bool) -> bytes:
    """Earlier output for a viewer who comes later.

    It begins with a whole line if some output before it is lost. Questions to the terminal are left out: they were
    answered, and a second answer would be input of a program that does not expect it.
    """
    start = seen.find(b"\n") + 1 if is_cut else 0
    return _QUERIES.sub(b"", seen[start:])


class PseudoTerminal:
    """One end of a terminal; the worker has the other end."""

    def __init__(self) -> None:
        self.ends = os.openpty()
        """This end and the worker's end. The code that starts the worker closes the latter."""
        self.master, slave = self.ends
        self.device = os.ttyname(slave)
        os.set_blocking(self.master, False)
        self.resize(ROWS, COLUMNS)
        self._seen = bytearray()
        self._is_cut = False
        """Whether there was more output than is kept."""
        self._views: dict[int, View] = {}
        self._typed = bytearray()

    def attach(self, viewer: int, view: View) -> None:
        """Show a viewer the last output, and everything from now on."""
        self._views[viewer] = view
        if before := replayed(bytes(self._seen), is_cut=self._is_cut):
            view(before)

    def detach(self, viewer: int) -> None:
        """Show this viewer nothing more."""
        self._views.pop(viewer, None)

    def show(self, data: bytes) -> None:
        """The worker has printed this."""
        self._seen += data
        self._is_cut = self._is_cut or len(self._seen) > TERMINAL_REPLAY_BYTES
        del self._seen[:-TERMINAL_REPLAY_BYTES]
        for view in tuple(self._views.values()):
            view(data)

    def close(self) -> None:
        """Tell all viewers that it is over."""
        for view in tuple(self._views.values()):
            view(None)

    def type(self, data: bytes) -> None:
        """A user typed this. If the worker does not read, input beyond the buffer is dropped, as by any terminal."""
        self._typed += data[: PUMP_BYTES - len(self._typed)]
        try:
            written = os.write(self.master, self._typed)
        except BlockingIOError:
            written = 0
        except OSError:
            written = len(self._typed)
        del self._typed[:written]

    def resize(self, rows: int, columns: int) -> None:
        """The window of a viewer is this large."""
        size = struct.pack("HHHH", max(1, min(rows, 1000)), max(1, min(columns, 1000)), 0, 0)
        with contextlib.suppress(OSError):
            fcntl.ioctl(self.master, termios.TIOCSWINSZ, size)
