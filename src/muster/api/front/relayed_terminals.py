"""Terminals at a standby: what is typed goes to the leader, and what is printed comes back."""

import asyncio
from contextlib import suppress

from starlette.types import ASGIApp, Message, Receive, Scope, Send
from starlette.websockets import WebSocket, WebSocketDisconnect
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidStatus, WebSocketException
from websockets.typing import Subprotocol

from muster.api.front.forwarding import FORWARDED, Leader
from muster.api.problems.concealing import Concealing
from muster.api.problems.handlers import response_to
from muster.model.errors import MusterError, NotLeading

OPEN_S = 10.0
FRAME_BYTES = 1 << 20

_PASSED_ON = ("authorization", "cookie")
"""What says who asks. The leader checks it."""


class RelayedTerminals:
    """An ASGI middleware that joins every websocket to one of the leader."""

    def __init__(self, app: ASGIApp, *, leader: Leader, conceal: Concealing) -> None:
        self._app = app
        self._leader = leader
        self._conceal = conceal

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Join a websocket to the leader's, or say why not. Other requests are passed on."""
        if scope["type"] != "websocket":
            await self._app(scope, receive, send)
            return
        here = WebSocket(scope, receive, send)
        try:
            there = await self._opened(here)
        except MusterError as error:
            await here.send_denial_response(response_to(error, self._conceal))
            return
        async with there:
            await here.accept(subprotocol=there.subprotocol)
            await _join(here, there)

    async def _opened(self, here: WebSocket) -> ClientConnection:
        url = self._leader.url(here.scope["headers"])
        query = here.scope["query_string"].decode("latin-1")
        target = f"ws{url.removeprefix('http')}{here.scope['raw_path'].decode('latin-1')}{'?' * bool(query)}{query}"
        said = [(name, here.headers[name]) for name in _PASSED_ON if name in here.headers]
        offered = [Subprotocol(each) for each in here.scope.get("subprotocols", [])]
        try:
            return await connect(
                target,
                additional_headers=[*said, (FORWARDED, "1")],
                subprotocols=offered or None,
                open_timeout=OPEN_S,
                max_size=FRAME_BYTES,
                proxy=None,
                ssl=self._leader.trust if url.startswith("https:") else None,
            )
        except InvalidStatus as error:
            detail = (error.response.body or b"").decode("utf-8", "replace")
            raise NotLeading(f"the leader at {url} refused the terminal: {detail}") from None
        except (OSError, TimeoutError, WebSocketException) as error:
            raise NotLeading(f"the leader at {url} cannot be reached: {error}") from None


async def _join(here: WebSocket, there: ClientConnection) -> None:
    """Pass everything on in both directions until one side ends."""
    ways = [asyncio.create_task(_outward(here, there)), asyncio.create_task(_homeward(here, there))]
    try:
        await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for way in ways:
            way.cancel()
        await asyncio.gather(*ways, return_exceptions=True)
    with suppress(RuntimeError, WebSocketDisconnect):
        await here.close(there.close_code or 1000, there.close_reason or "")


async def _outward(here: WebSocket, there: ClientConnection) -> None:
    with suppress(ConnectionClosed, WebSocketDisconnect, RuntimeError):
        while (message := await here.receive())["type"] == "websocket.receive":
            await there.send(_content(message))


async def _homeward(here: WebSocket, there: ClientConnection) -> None:
    with suppress(ConnectionClosed, WebSocketDisconnect, RuntimeError):
        async for content in there:
            await (here.send_text(content) if isinstance(content, str) else here.send_bytes(content))


def _content(message: Message) -> str | bytes:
    text: str | None = message.get("text")
    return message["bytes"] if text is None else text
