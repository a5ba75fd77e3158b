"""The unix socket of a supervisor: JSON lines from clients that show the token first."""

import contextlib
import os
import socket
from collections import deque
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from muster.model.node_limits import (
    SUPERVISOR_BUFFER_BYTES,
    SUPERVISOR_HELLO_MS,
    SUPERVISOR_LINE_BYTES,
    SUPERVISOR_ROOM_BYTES,
)
from muster.worker.loop import Loop
from muster.worker.messages import BadMessage, line, parsed

READ_BYTES = 256 << 10

SOCKET = "socket"
"""The name of the socket in the node's folder."""

MESSAGES_AT_ONCE = 16
"""Messages handled before other callbacks get their turn: a start takes milliseconds, and workers print meanwhile."""

STRANGERS = 16
"""Connections that have not shown the token yet."""

Message = dict[str, Any]


def address(folder: int, name: str = SOCKET) -> str:
    """A path to a socket in an open folder. It is short enough for the kernel, however deep the folder is."""
    return f"/proc/self/fd/{folder}/{name}"


class Conversation:
    """One side of a connection. Never waits: what cannot be sent yet is kept, up to a limit."""

    def __init__(self, channel: socket.socket, loop: Loop, *, hear: Callable[["Conversation", Message], None]) -> None:
        self.is_open = True
        self.is_trusted = False
        self.closed: Callable[[Conversation], None] = lambda _: None
        """Called once, when it is closed from either side."""
        self._channel = channel
        self._loop = loop
        self._hear = hear
        self._coming = bytearray()
        self._lines: deque[bytes] = deque()
        self._going = bytearray()
        self._is_held = False
        self._is_finished = False
        channel.setblocking(False)
        self._watch()

    def listen(self, hear: Callable[["Conversation", Message], None]) -> None:
        """Pass messages to another handler from now on."""
        self._hear = hear

    def say(self, message: Mapping[str, object]) -> None:
        """Send a message, with the next `flush` at the latest."""
        self._going += line(message)
        if len(self._going) > SUPERVISOR_BUFFER_BYTES:
            self.flush()
        if len(self._going) > SUPERVISOR_BUFFER_BYTES:
            self.close()  # the other side does not read; it can ask again when it does

    @property
    def has_room(self) -> bool:
        """False while so much waits to be sent that less urgent messages should wait."""
        return self.is_open and len(self._going) < SUPERVISOR_ROOM_BYTES

    def hold(self, is_held: bool) -> None:
        """Stop reading for now, or go on. The other side keeps what it cannot send."""
        self._is_held = is_held
        if self.is_open:
            if self._lines and not is_held:
                self._loop.after(0, self._work)
            self._watch()

    def flush(self) -> None:
        """Send as much as the other side takes."""
        try:
            while self._going and self.is_open:
                sent = self._channel.send(self._going)
                del self._going[:sent]
        except BlockingIOError:
            pass
        except OSError:
            self.close()
        if self._is_finished and not self._going:
            self.close()
        if self.is_open:
            self._watch()

    def finish(self) -> None:
        """Close the connection once everything that was said is sent."""
        self._is_finished = True
        self.flush()

    def close(self) -> None:
        """Close the connection."""
        if self.is_open:
            self.is_open = False
            self._loop.watch(self._channel.fileno())
            self._channel.close()
            self.closed(self)

    def _watch(self) -> None:
        writable = self.flush if self._going else None
        readable = None if self._lines or self._is_held else self._read
        self._loop.watch(self._channel.fileno(), readable=readable, writable=writable)

    def _read(self) -> None:
        try:
            data = self._channel.recv(READ_BYTES)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self.close()
            return
        self._coming += data
        if b"\n" in data:
            *lines, rest = bytes(self._coming).split(b"\n")
            self._coming = bytearray(rest)
            self._lines.extend(lines)
            self._work()
        elif len(self._coming) > SUPERVISOR_LINE_BYTES:
            self.close()

    def _work(self) -> None:
        """Handle some of the received messages. Other callbacks run before the rest, and before more is read."""
        for _ in range(min(len(self._lines), MESSAGES_AT_ONCE)):
            if self.is_open and not self._is_held:
                self._take(self._lines.popleft())
        if self.is_open:
            if self._lines and not self._is_held:
                self._loop.after(0, self._work)
            self._watch()

    def _take(self, text: bytes) -> None:
        try:
            self._hear(self, parsed(text))
        except BadMessage as problem:
            self.say({"error": str(problem)})
            self.flush()
            self.close()


class Service:
    """Accepts connections, and passes on the messages of clients that have shown the token."""

    def __init__(self, folder: Path, loop: Loop, *, token: str, hear: Callable[[Conversation, Message], None]) -> None:
        self._loop = loop
        self._token = token
        self._hear = hear
        self._strangers = 0
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC)
        place = os.open(folder, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(SOCKET, dir_fd=place)
            self._listener.bind(address(place))
        finally:
            os.close(place)
        self._listener.listen()
        self._listener.setblocking(False)
        loop.watch(self._listener.fileno(), readable=self._accept)

    def _accept(self) -> None:
        try:
            channel, _ = self._listener.accept()
        except OSError:
            return
        if self._strangers >= STRANGERS:
            channel.close()
            return
        self._strangers += 1
        connection = Conversation(channel, self._loop, hear=self._meet)
        self._loop.after(SUPERVISOR_HELLO_MS, lambda: None if connection.is_trusted else connection.close())
        connection.closed = self._left

    def _left(self, _: Conversation) -> None:
        self._strangers -= 1

    def _meet(self, connection: Conversation, message: Message) -> None:
        """The first message must show the token. It and all later messages are passed on."""
        if not connection.is_trusted:
            shown = str(message.get("token")).encode(errors="replace")
            if not _is_equal(shown, self._token.encode()):
                raise BadMessage("a wrong token")
            connection.is_trusted = True
            self._strangers -= 1
            connection.closed = lambda _: None
        self._hear(connection, message)


def _is_equal(some: bytes, other: bytes) -> bool:
    """Compare in the same time wherever the difference is. `hmac` can do it too, but loads a large library."""
    difference = len(some) ^ len(other)
    for one, another in zip(some, other, strict=False):
        difference |= one ^ another
    return difference == 0
