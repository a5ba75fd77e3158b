"""A minimal HTTP client, so that a benchmark measures the server and not its own client.

Requests are bytes made beforehand. Answers are read by their length. Connections are kept open, and each serves one
request at a time.
"""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from urllib.parse import urlsplit

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@dataclass(frozen=True, slots=True)
class Answer:
    """Status and body of an answer."""

    status: int
    body: bytes

    def document(self) -> dict[str, object]:
        """The body of a successful answer. Raises an error for any other status."""
        if self.status >= 300:
            raise RuntimeError(f"{self.status}: {self.body[:300]!r}")
        found = json.loads(self.body)
        assert isinstance(found, dict)
        return found


class Load:
    """Connections to one server."""

    def __init__(self, url: str, token: str, connections: int) -> None:
        parts = urlsplit(url)
        self._host, self._port = parts.hostname or "", parts.port or 80
        self._token = token
        self._count = connections
        self._idle: asyncio.Queue[Streams] = asyncio.Queue()

    @classmethod
    @asynccontextmanager
    async def open(cls, url: str, token: str, *, connections: int) -> AsyncIterator["Load"]:
        """Connect, and close everything at the end."""
        load = cls(url, token, connections)
        opened = [await load.connected() for _ in range(connections)]
        for streams in opened:
            load._idle.put_nowait(streams)
        try:
            yield load
        finally:
            for _, writer in opened:
                writer.close()

    async def connected(self) -> Streams:
        """A new connection, which only the caller uses."""
        return await asyncio.open_connection(self._host, self._port)

    def request(self, method: str, path: str, body: object = None) -> bytes:
        """A request as bytes."""
        content = b"" if body is None else json.dumps(body).encode()
        head = [
            f"{method} {path} HTTP/1.1",
            f"Host: {self._host}:{self._port}",
            f"Authorization: Bearer {self._token}",
            "Content-Type: application/json",
            f"Content-Length: {len(content)}",
        ]
        return "\r\n".join([*head, "", ""]).encode() + content

    async def send(self, request: bytes) -> Answer:
        """Wait for a free connection, send a request on it, and read the answer."""
        streams = await self._idle.get()
        try:
            return await exchanged(streams, request)
        finally:
            self._idle.put_nowait(streams)


async def exchanged(streams: Streams, request: bytes) -> Answer:
    """One request and its answer."""
    reader, writer = streams
    writer.write(request)
    head = await reader.readuntil(b"\r\n\r\n")
    status = int(head[9:12])
    length = next((int(line[15:]) for line in head.split(b"\r\n") if line[:15].lower() == b"content-length:"), None)
    if length is None:
        raise RuntimeError(f"an answer without a length: {head[:200]!r}")
    return Answer(status, await reader.readexactly(length))
