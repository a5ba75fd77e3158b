"""Connections between the workers of a gang: each line is one message in JSON."""

import contextlib
import json
import os
import socket
import sys
import time
from typing import Any

MEET_S = 1800.0
"""How long a worker waits for the first one to come up: as long as a gang may take to start."""

MEET_PAUSE_S = 0.05

HUB = "hub"
"""The name of the first worker's socket in the box."""

READ_BYTES = 65536

Message = dict[str, Any]


class Line:
    """A connection on which each line is one message."""

    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection
        self._buffer = b""

    def say(self, **message: Any) -> None:
        """Send a message. A receiver that has gone does not matter: its end is noticed elsewhere."""
        with contextlib.suppress(OSError):
            self.connection.sendall(json.dumps(message).encode() + b"\n")

    def hear(self) -> list[Message] | None:
        """Read what has come; None at the end of the connection."""
        try:
            data = self.connection.recv(READ_BYTES)
        except OSError:
            data = b""
        if not data:
            return None
        *lines, self._buffer = (self._buffer + data).split(b"\n")
        return [json.loads(each) for each in lines]


def listening(path: str) -> socket.socket:
    """A socket in the box that others connect to."""
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)
    door = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    door.bind(path)
    door.listen(1024)
    return door


def connected(path: str) -> Line:
    """A connection to a socket in the box."""
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connection.connect(path)
    except OSError:
        connection.close()
        raise
    return Line(connection)


def met(box: str) -> Line:
    """A connection to the first worker, as soon as it is there."""
    give_up_s = time.monotonic() + MEET_S
    while True:
        try:
            return connected(os.path.join(box, HUB))
        except OSError:
            if time.monotonic() > give_up_s:
                sys.exit("muster: the first worker of the gang did not come up")
            time.sleep(MEET_PAUSE_S)
