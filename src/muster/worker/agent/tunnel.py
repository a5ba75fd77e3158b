"""An agent's connection to a control plane: a WebSocket over HTTPS, or over HTTP to this machine.

Opening one waits, for `OPEN_S` at most. An open one never waits: what cannot be sent yet is kept.
"""

import base64
import hashlib
import os
import socket
import ssl
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from muster.loopback import is_loopback
from muster.worker.agent.frames import CLOSE, PING, PONG, BadFrame, Frame, FrameReader, encoded
from muster.worker.loop import Loop

OPEN_S = 5.0
"""How long connecting, the TLS handshake and the answer may take together, each."""

LINGER_MS = 2_000
"""How long the other side may take to close as well."""

READ_BYTES = 64 << 10
ROOM_BYTES = 1 << 20
"""How much may wait to be sent before less urgent things should wait."""

_ANSWER_MOST = 16 << 10
_MAGIC = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"


class CannotOpen(Exception):
    """No tunnel could be opened; the message says why, and what to do where a person can do something."""


class NotWanted(CannotOpen):
    """A server answers, and does not want this agent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ControlAddress:
    """Where a control plane is, and what the agent shows it."""

    url: str
    token: str = field(repr=False)
    authorities: str = ""
    """A file with the certificate authorities to trust; empty for those of the machine."""


def check_url(url: str) -> None:
    """Raise `CannotOpen` for an address that is none, or that would show the token to the network."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise CannotOpen(f"{url!r} is not the address of a server, such as https://muster.example:8470")
    if parts.scheme == "http" and not is_loopback(parts.hostname):
        raise CannotOpen(f"{url} would show the token to the network: use https, or an address of this machine")


class Tunnel:
    """An open connection. Frames of the server are passed to `hear`."""

    def __init__(self, channel: socket.socket, loop: Loop, hear: Callable[[Frame], None], *, read: bytes = b"") -> None:
        self.is_open = True
        self.closed: Callable[[], None] = lambda: None
        """Called once, when it is closed from either side."""
        self._channel = channel
        self._loop = loop
        self._hear = hear
        self._reader = FrameReader()
        self._going = bytearray()
        channel.setblocking(False)
        self._watch()
        if read:
            loop.after(0, lambda: self._take(read))

    @property
    def has_room(self) -> bool:
        """False while so much waits to be sent that less urgent things should wait."""
        return self.is_open and len(self._going) < ROOM_BYTES

    def send(self, kind: int, payload: bytes) -> None:
        """Send a frame, as soon as the other side takes it."""
        if self.is_open:
            self._going += encoded(Frame(kind, payload), os.urandom(4))
            self._flush()

    def close(self) -> None:
        """Close it, and say so if that is possible at once."""
        if not self.is_open:
            return
        self.is_open = False
        with suppress(OSError, ValueError):
            self._channel.send(encoded(Frame(CLOSE, b""), os.urandom(4)))
            self._channel.shutdown(socket.SHUT_WR)
        # A socket that is closed while something is unread takes back what it has sent, so the rest is read first.
        self._loop.watch(self._channel.fileno(), readable=self._drop)
        self._giving_up = self._loop.after(LINGER_MS, self._let_go)
        self.closed()

    def _drop(self) -> None:
        try:
            is_over = not self._channel.recv(READ_BYTES)
        except (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError):
            return
        except OSError:
            is_over = True
        if is_over:
            self._giving_up.cancel()
            self._let_go()

    def _let_go(self) -> None:
        self._loop.watch(self._channel.fileno())
        self._channel.close()

    def _watch(self) -> None:
        if self.is_open:
            writable = self._flush if self._going else None
            self._loop.watch(self._channel.fileno(), readable=self._read, writable=writable)

    def _flush(self) -> None:
        try:
            while self._going:
                # A copy, because TLS wants the same bytes again when it could not send them at once.
                sent = self._channel.send(bytes(self._going[:READ_BYTES]))
                del self._going[:sent]
        except (BlockingIOError, ssl.SSLWantWriteError, ssl.SSLWantReadError):
            pass
        except OSError:
            self.close()
        self._watch()

    def _read(self) -> None:
        """Read until nothing is left: TLS may have more than the kernel shows."""
        while self.is_open:
            try:
                data = self._channel.recv(READ_BYTES)
            except (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError):
                return
            except OSError:
                data = b""
            if not data:
                self.close()
                return
            self._take(data)

    def _take(self, data: bytes) -> None:
        try:
            for frame in self._reader.feed(data):
                match frame.kind:
                    case _ if not self.is_open:
                        return
                    case kind if kind == PING:
                        self.send(PONG, frame.payload)
                    case kind if kind == CLOSE:
                        self.close()
                    case kind if kind == PONG:
                        pass
                    case _:
                        self._hear(frame)
        except BadFrame:
            self.close()


def open_tunnel(server: ControlAddress, path: str, loop: Loop, hear: Callable[[Frame], None]) -> Tunnel:
    """Connect, show the token, and wait until the server agrees. Raises `CannotOpen`."""
    check_url(server.url)
    try:
        channel = _connected(server)
    except (OSError, ValueError) as error:
        raise CannotOpen(f"{server.url} cannot be reached: {error}") from None
    try:
        rest = _upgraded(channel, server, path)
    except (OSError, CannotOpen) as error:
        channel.close()
        kind = NotWanted if isinstance(error, NotWanted) else CannotOpen
        raise kind(f"{server.url}: {error}") from None
    return Tunnel(channel, loop, hear, read=rest)


def _connected(server: ControlAddress) -> socket.socket:
    parts = urlsplit(server.url)
    host, port = parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)
    channel = socket.create_connection((host, port), OPEN_S)
    channel.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if parts.scheme == "http":
        return channel
    try:
        trusted = ssl.create_default_context(cafile=server.authorities or None)
        return trusted.wrap_socket(channel, server_hostname=host)
    except (OSError, ValueError):
        channel.close()
        raise


def _upgraded(channel: socket.socket, server: ControlAddress, path: str) -> bytes:
    """Ask for a WebSocket. Returns what the server sent behind its answer."""
    key = base64.b64encode(os.urandom(16))
    parts = urlsplit(server.url)
    lines = (
        f"GET {parts.path.rstrip('/')}{path} HTTP/1.1",
        f"Host: {parts.netloc.rpartition('@')[2]}",
        "Upgrade: websocket",
        "Connection: Upgrade",
        "Sec-WebSocket-Version: 13",
        f"Sec-WebSocket-Key: {key.decode()}",
        f"Authorization: Bearer {server.token}",
    )
    channel.sendall("\r\n".join((*lines, "", "")).encode())
    answer = b""
    while b"\r\n\r\n" not in answer:
        data = channel.recv(READ_BYTES)
        if not data or len(answer) > _ANSWER_MOST:
            raise CannotOpen("it does not answer as a Muster does")
        answer += data
    head, _, rest = answer.partition(b"\r\n\r\n")
    _check_answer(head, key)
    return rest


def _check_answer(head: bytes, key: bytes) -> None:
    status, *lines = head.decode("latin-1").split("\r\n")
    code = status.split(" ")[1] if status.count(" ") else ""
    if code in ("401", "403", "404"):
        raise NotWanted(f"it refuses this agent ({code}): is its token revoked, or for another node?")
    headers = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    expected = base64.b64encode(hashlib.sha1(key + _MAGIC, usedforsecurity=False).digest()).decode()
    if code != "101" or headers.get("sec-websocket-accept") != expected:
        raise CannotOpen(f"it does not accept agents ({status[:100]!r})")


__all__ = ["PING", "CannotOpen", "ControlAddress", "NotWanted", "Tunnel", "check_url", "open_tunnel"]
