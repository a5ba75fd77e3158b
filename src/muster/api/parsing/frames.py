"""The messages between the server and a reader process: frames of bytes that contain only data.

A frame is its length in four bytes, followed by that many bytes. A request is two of them: the profiles that there are,
as JSON, and the body of a submission. The answer is one letter for the kind, followed by a JSON document.
"""

from typing import IO

import msgspec

from muster.api.parsing.submission import ReadSubmission
from muster.api.schemas.problems import Problem

LENGTH_BYTES = 4
_READ, _PROBLEM = b"r", b"p"
_decode = msgspec.json.Decoder(ReadSubmission).decode
_encode = msgspec.json.Encoder().encode


def send(stream: IO[bytes], frame: bytes) -> None:
    """Write a frame."""
    stream.write(len(frame).to_bytes(LENGTH_BYTES, "big") + frame)
    stream.flush()


def receive(stream: IO[bytes]) -> bytes | None:
    """Read a frame; None when the other side has closed the pipe."""
    head = stream.read(LENGTH_BYTES)
    if len(head) < LENGTH_BYTES:
        return None
    length = int.from_bytes(head, "big")
    frame = stream.read(length)
    return frame if len(frame) == length else None


def encoded(answer: ReadSubmission | Problem) -> bytes:
    """An answer as a frame."""
    if isinstance(answer, Problem):
        # The input may hold half a surrogate pair, which is shown as a replacement character.
        return _PROBLEM + answer.model_dump_json().encode("utf-8", "replace")
    return _READ + _encode(answer)


def decoded(frame: bytes) -> ReadSubmission | Problem:
    """The inverse of `encoded`."""
    kind, body = frame[:1], frame[1:]
    return Problem.model_validate_json(body) if kind == _PROBLEM else _decode(body)
