"""Streamed answers: live events and the output of workers. After a broken connection they continue where they were."""

import json
from collections.abc import Iterable, Iterator
from typing import Any

from muster.client.answers import Event, Log
from muster.client.building import build
from muster.client.transport import Query, Silent, Transport, backoff_s
from muster.model.errors import TooMany, Unavailable

RECONNECTS = 8
"""Reconnects in a row without anything received. Their pauses add up to half a minute, in which a control plane
restarts or is replaced."""
LOG_PIECE_BYTES = 1 << 20
QUIET_S = 1.0
"""Longer than a stream pauses while it catches up: after so much silence all past events were sent."""


def read_events(transport: Transport, query: Query) -> Iterator[Event]:
    """Events as they happen, each once, until the reader stops reading."""
    after = query.get("after")
    failed = 0
    while True:
        try:
            with transport.stream("/v1/events", query={**query, "after": after}) as response:
                for event in parsed_events(response.iter_lines()):
                    failed, after = 0, event.version
                    yield event
            failed = 0  # the server ends every stream after some time
        except (TooMany, Unavailable):
            failed += 1
            if failed > RECONNECTS:
                raise
        transport.sleep(backoff_s(max(1, failed)))


def read_past_events(transport: Transport, query: Query) -> Iterator[Event]:
    """Events that have already happened. The stream is closed when it becomes silent."""
    try:
        with transport.stream("/v1/events", query=query, silence_s=QUIET_S) as response:
            yield from parsed_events(response.iter_lines())
    except Silent:
        return


def parsed_events(lines: Iterable[str]) -> Iterator[Event]:
    """The events of an SSE stream, without heartbeats."""
    data: list[str] = []
    for line in lines:
        if line.startswith("data:"):
            data.append(line.removeprefix("data:").removeprefix(" "))
        elif not line and data:
            yield build(Event, json.loads("\n".join(data)))
            data.clear()


class ExportedTrace:
    """Ended jobs as a trace in CSV. They are asked for when the first piece is read."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self.left_out: int | None = None
        """How many ended jobs are not in it, because they had no GPU or never ran; None before the first piece."""

    def __iter__(self) -> Iterator[bytes]:
        with self._transport.stream("/v1/export") as response:
            self.left_out = int(response.headers.get("Muster-Left-Out", 0))
            yield from response.iter_bytes()


def read_log(transport: Transport, path: str, query: dict[str, Any]) -> Iterator[Log]:
    """The log as far as it exists, piece by piece."""
    left = query.get("limit")
    while left is None or left > 0:
        size = LOG_PIECE_BYTES if left is None else min(left, LOG_PIECE_BYTES)
        piece = _piece(transport.send("GET", path, query={**query, "limit": size}))
        if piece.text:
            yield piece
        if piece.complete or not piece.text:
            return
        left = None if left is None else left - len(piece.text)
        query = {**query, "offset": piece.end, "attempt": piece.attempt or None}


def follow_log(transport: Transport, path: str, query: dict[str, Any]) -> Iterator[Log]:
    """A log as it grows, until its worker has ended. If the server stops in between, wait for it."""
    failed = 0
    while True:
        try:
            with transport.stream(path, query={**query, "limit": None, "follow": True}) as response:
                piece = _piece(response, text=b"")
                query = {**query, "attempt": piece.attempt or None, "offset": piece.start}
                for text in response.iter_bytes():
                    failed, start = 0, query["offset"]
                    query["offset"] = start + len(text)
                    yield Log(text=text, start=start, end=start + len(text), attempt=piece.attempt, complete=False)
            failed = 0
            if _is_over(transport, path, query):
                return
        except Silent:
            # A worker may print nothing for hours. A new request shows whether the server is still there.
            failed = 0
            continue
        except (TooMany, Unavailable):
            failed += 1
            if failed > RECONNECTS:
                raise
        transport.sleep(backoff_s(max(1, failed)))


def _is_over(transport: Transport, path: str, query: dict[str, Any]) -> bool:
    """True when nothing follows what was read. This is checked because a stream also ends when the server stops."""
    rest = _piece(transport.send("GET", path, query={**query, "limit": 1}))
    return rest.complete and not rest.text


def _piece(response: Any, *, text: bytes | None = None) -> Log:
    said = response.headers
    content = response.content if text is None else text
    start = int(said.get("Muster-Log-Start", 0))
    return Log(
        text=content,
        start=start,
        end=int(said.get("Muster-Log-End", start + len(content))),
        attempt=int(said.get("Muster-Log-Attempt", 0)),
        complete=said.get("Muster-Log-Complete") == "true",
    )
