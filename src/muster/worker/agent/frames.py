"""Frames of the WebSocket protocol (RFC 6455), as a client sends and receives them.

Pure: from bytes to frames and back. The standard library has no client, and an agent has nothing else.
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass

CONTINUATION, TEXT, BINARY, CLOSE, PING, PONG = 0x0, 0x1, 0x2, 0x8, 0x9, 0xA

PAYLOAD_MOST = 1 << 20
"""How long a message of the server may be. It sends far shorter ones."""

_LAST, _MASKED = 0x80, 0x80
_SHORT, _LONG = 126, 127


class BadFrame(ValueError):
    """The received bytes are no frames that a server may send."""


@dataclass(frozen=True, slots=True)
class Frame:
    """A whole message, or a control frame."""

    kind: int
    payload: bytes


def encoded(frame: Frame, mask: bytes) -> bytes:
    """A frame as a client sends it: masked with four random bytes, so that no proxy takes it for something else."""
    size = len(frame.payload)
    if size < _SHORT:
        head = struct.pack("!BB", _LAST | frame.kind, _MASKED | size)
    elif size < 1 << 16:
        head = struct.pack("!BBH", _LAST | frame.kind, _MASKED | _SHORT, size)
    else:
        head = struct.pack("!BBQ", _LAST | frame.kind, _MASKED | _LONG, size)
    return head + mask + _masked(frame.payload, mask)


class FrameReader:
    """Takes bytes as they come, and gives whole messages."""

    def __init__(self) -> None:
        self._coming = bytearray()
        self._kind: int | None = None
        """The kind of a message whose last part has not come."""
        self._parts = bytearray()

    def feed(self, data: bytes) -> Iterator[Frame]:
        """The frames that are complete now. Raises `BadFrame`; then nothing more can be read."""
        self._coming += data
        while (found := self._next()) is not None:
            yield from self._joined(*found)

    def _next(self) -> tuple[bool, int, bytes] | None:
        """The next frame, taken from what has come; None while it is not all there."""
        coming = self._coming
        if len(coming) < 2:
            return None
        first, second = coming[0], coming[1]
        if first & 0x70 or second & _MASKED:
            raise BadFrame("a masked frame, or one with an extension that was not asked for")
        at, size = 2, second
        for mark, form in ((_SHORT, "!H"), (_LONG, "!Q")):
            if second == mark:
                at += struct.calcsize(form)
                if len(coming) < at:
                    return None
                (size,) = struct.unpack_from(form, coming, 2)
        if size > PAYLOAD_MOST:
            raise BadFrame(f"a frame of {size} bytes")
        if len(coming) < at + size:
            return None
        payload = bytes(coming[at : at + size])
        del coming[: at + size]
        return bool(first & _LAST), first & 0x0F, payload

    def _joined(self, is_last: bool, kind: int, payload: bytes) -> Iterator[Frame]:
        """A message, once its last part is there. Control frames may come between parts."""
        if kind >= CLOSE:
            yield Frame(kind, payload)
            return
        if (kind == CONTINUATION) is (self._kind is None):
            raise BadFrame("a part without a beginning, or a beginning before the end of another message")
        self._kind = kind if self._kind is None else self._kind
        self._parts += payload
        if len(self._parts) > PAYLOAD_MOST:
            raise BadFrame("a message that is too long")
        if is_last:
            frame = Frame(self._kind, bytes(self._parts))
            self._kind = None
            self._parts.clear()
            yield frame


def _masked(payload: bytes, mask: bytes) -> bytes:
    """Each byte with one of the four by exclusive or: as one large number, which Python does fast."""
    size = len(payload)
    repeated = (mask * (size // 4 + 1))[:size]
    return (int.from_bytes(payload, "big") ^ int.from_bytes(repeated, "big")).to_bytes(size, "big")
