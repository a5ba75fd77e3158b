"""A response in chunks, until there are no more chunks, or the client disconnects or stops reading."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from muster.model.limits import SEND_S


class Stream(Response):
    """Sends chunks as they come."""

    def __init__(
        self,
        chunks: AsyncGenerator[bytes, None],
        *,
        media_type: str,
        headers: Mapping[str, str] | None = None,
        on_end: Callable[[], None] = lambda: None,
    ) -> None:
        super().__init__(None, media_type=media_type, headers=headers)
        del self.headers["content-length"]
        self._chunks = chunks
        self._on_end = on_end

    async def __call__(self, _scope: Scope, receive: Receive, send: Send) -> None:
        """Send all chunks, and stop when the client disconnects."""
        sending = asyncio.ensure_future(self._send_all(send))
        leaving = asyncio.ensure_future(_left(receive))
        try:
            await asyncio.wait((sending, leaving), return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (sending, leaving):
                task.cancel()
            await asyncio.wait((sending, leaving))
            self._on_end()
        if not sending.cancelled():
            sending.result()

    async def _send_all(self, send: Send) -> None:
        start = {"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers}
        await send(start)
        async with aclosing(self._chunks) as chunks:
            async for chunk in chunks:
                try:
                    await asyncio.wait_for(
                        send({"type": "http.response.body", "body": chunk, "more_body": True}), SEND_S
                    )
                except TimeoutError:
                    return  # the client does not read any more; the server closes a connection whose answer has no end
        await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
