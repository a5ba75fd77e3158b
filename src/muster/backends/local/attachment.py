"""A user at the terminal of a worker. Calls wait, so use it on a separate thread or in a separate program."""

import contextlib
import os
import socket
from base64 import b64decode, b64encode
from pathlib import Path

from muster.backends.base import Beside
from muster.model.errors import NotFound
from muster.model.ids import JobId
from muster.worker.messages import line, parsed
from muster.worker.service import READ_BYTES, address


class Attachment:
    """A connection to a terminal."""

    def __init__(self, channel: socket.socket) -> None:
        self._channel = channel
        self._coming = bytearray()
        self.over = ""
        """Why there is no more output; empty while there may be."""
        self.exit_code: int | None = None
        """How a command beside a worker ended; None for the terminal of a worker."""

    def fileno(self) -> int:
        """The file descriptor, to wait for output together with other files."""
        return self._channel.fileno()

    def read(self) -> bytes:
        """Wait for more output; empty when there will be none."""
        while not self.over:
            text, found, rest = self._coming.partition(b"\n")
            if found:
                self._coming = rest
                message = parsed(bytes(text))
                self.over = str(message.get("over", ""))
                self.exit_code = message.get("code")
                if output := b64decode(message.get("output", "")):
                    return output
                continue
            try:
                data = self._channel.recv(READ_BYTES)
            except OSError:  # closed from this side while reading
                data = b""
            if not data:
                self.over = "the supervisor has closed the connection"
            self._coming += data
        return b""

    def type(self, data: bytes) -> None:
        """Type this at the terminal."""
        self._send({"input": b64encode(data).decode()})

    def resize(self, rows: int, columns: int) -> None:
        """Say how large the window is."""
        self._send({"resize": [rows, columns]})

    def end_input(self) -> None:
        """Nothing more will be typed."""
        self._send({"end_input": True})

    def close(self) -> None:
        """Detach, and let a waiting `read` return. The worker goes on; a command beside it is ended."""
        with contextlib.suppress(OSError):
            self._channel.shutdown(socket.SHUT_RDWR)
        self._channel.close()

    def _send(self, message: dict[str, object]) -> None:
        # If the other side is gone, `read` says so, after everything that it said before.
        with contextlib.suppress(OSError):
            self._channel.sendall(line(message))


def greeting(job: JobId, beside: Beside | None, token: str = "") -> bytes:
    """What is said first to a supervisor: who is at the terminal of which job, or what to run beside a worker."""
    asked: dict[str, object] = {"as": "viewer"}
    if beside is not None:
        asked = {"as": "beside", "rank": beside.rank, "run": beside.line, "terminal": beside.has_terminal}
    return line({"token": token, "job": job, **asked})


def attach(folder: Path, token: str, job: JobId, beside: Beside | None = None) -> Attachment:
    """Attach to the terminal of a job on the node whose supervisor keeps this folder, or run a command beside it."""
    channel = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC)
    place = os.open(folder, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        channel.connect(address(place))
        channel.sendall(greeting(job, beside, token))
    except OSError as error:
        channel.close()
        raise NotFound(f"the supervisor of job {job} cannot be reached: {error.strerror}") from error
    finally:
        os.close(place)
    return Attachment(channel)
