"""Compresses long JSON answers for clients that can read it so.

Only whole answers to GET: streams are sent as they come. An answer with a cookie or to a request with a body is never
compressed, so that no secret is compressed together with a text that somebody else has chosen.
"""

import asyncio
import gzip

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

LEAST_BYTES = 1_000
"""A shorter answer fits into one packet anyway."""

ON_A_THREAD_BYTES = 64_000
"""Compressing a longer one takes so long that other callers would notice it."""

LEVEL = 1
"""The fastest: JSON becomes a tenth of its size already."""


class Compression:
    """An ASGI middleware."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, and compress the answer where that is worth it."""
        if scope["type"] == "http" and scope["method"] == "GET" and _reads_gzip(Headers(scope=scope)):
            send = _Sender(send).send
        await self._app(scope, receive, send)


class _Sender:
    """Holds the head of an answer back until its first part shows whether that is all of it."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._head: Message | None = None

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start" and _is_plain_json(MutableHeaders(scope=message)):
            self._head = message
            return
        if self._head is not None:
            head, self._head = self._head, None
            body: bytes = message.get("body", b"")
            if len(body) >= LEAST_BYTES and not message.get("more_body", False):
                message = {**message, "body": await _compressed(body)}
                headers = MutableHeaders(scope=head)
                headers["Content-Encoding"] = "gzip"
                headers["Content-Length"] = str(len(message["body"]))
                headers.add_vary_header("Accept-Encoding")
            await self._send(head)
        await self._send(message)


def _reads_gzip(headers: Headers) -> bool:
    words = (each.split(";") for each in headers.get("accept-encoding", "").lower().split(","))
    return any(name.strip() == "gzip" and not _is_refused(more) for name, *more in words)


def _is_refused(parameters: list[str]) -> bool:
    return any(each.replace(" ", "") in ("q=0", "q=0.0", "q=0.00", "q=0.000") for each in parameters)


def _is_plain_json(headers: MutableHeaders) -> bool:
    return (
        headers.get("content-type", "").split(";")[0] == "application/json"
        and "content-encoding" not in headers
        and "set-cookie" not in headers
    )


async def _compressed(body: bytes) -> bytes:
    if len(body) < ON_A_THREAD_BYTES:
        return gzip.compress(body, LEVEL, mtime=0)
    return await asyncio.to_thread(gzip.compress, body, LEVEL, mtime=0)
