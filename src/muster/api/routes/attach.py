"""The terminal of an interactive job, over a websocket."""

import asyncio
import json
from collections.abc import Awaitable, Iterable
from typing import Annotated, Any

from fastapi import APIRouter, Depends, WebSocket, WebSocketDisconnect

from muster.access.permissions import Permission
from muster.api.authorized_changes import change, changeable
from muster.api.gate import TICKET, Caller, NeedsTicket
from muster.api.lookups.records import single
from muster.api.routes.jobs import JobPath
from muster.api.services import Services
from muster.backends.base import Terminal
from muster.model.errors import Conflict, MusterError

router = APIRouter(tags=["logs"])

PROTOCOL = "muster.terminal"
"""The subprotocol: bytes are input and output of the terminal, text is `{"resize": [rows, columns]}`."""

LINES_MAX = 10_000

_MAY_CHANGE = NeedsTicket(Permission.JOBS_CHANGE)


@router.websocket("/v1/jobs/{job}/attach")
async def attach(websocket: WebSocket, job: JobPath, caller: Annotated[Caller, Depends(_MAY_CHANGE)]) -> None:
    """Bytes in both directions until the worker ends or the user disconnects. The job continues without the user."""
    record = single(await changeable(caller, job, "jobs.attach"))
    if record.spec.interactive is None:
        raise Conflict(f"{job} is not interactive: its file has no `interactive`, so it has no terminal")
    places = caller.services.terminals
    places.enter(caller.subject)
    try:
        terminal = await caller.services.at_terminal(caller.deps.backend.attach, record.id)
        try:
            await change(caller, "jobs.attach", record.id, lambda _engine, _now_ms: None)
            await websocket.accept(subprotocol=_chosen(websocket))
            await _Conversation(websocket, terminal, caller.services).hold()
        finally:
            await caller.services.at_terminal(terminal.close)
    finally:
        places.leave(caller.subject)


def _chosen(websocket: WebSocket) -> str | None:
    """The subprotocol to confirm. A browser that offered some expects one of them back, but never the token."""
    offered: list[str] = websocket.scope.get("subprotocols", [])
    return next((each for each in offered if not each.startswith(TICKET)), None)


class _Conversation:
    """A user at a terminal."""

    def __init__(self, websocket: WebSocket, terminal: Terminal, services: Services) -> None:
        self._websocket = websocket
        self._terminal = terminal
        self._services = services

    async def hold(self) -> None:
        """Transfer bytes until one side ends, the token is no longer valid, or the server stops."""
        showing = asyncio.ensure_future(self._show())
        typing = asyncio.ensure_future(self._type())
        stopping = asyncio.ensure_future(self._services.closing.wait())
        tasks = (showing, typing, stopping)
        try:
            while not await _any_done(tasks, self._services.deps.settings.stream_s):
                if not await self._is_let_in():
                    await self._within(self._websocket.close(1008, "the token lets nobody in any more"))
                    return
            if not typing.done():
                await self._within(self._websocket.close(1000 if showing.done() else 1001))
        finally:
            for task in tasks:
                task.cancel()

    async def _is_let_in(self) -> bool:
        try:
            await _MAY_CHANGE(self._websocket)
        except MusterError:
            return False
        return True

    async def _show(self) -> None:
        while data := await self._services.at_terminal(self._terminal.read):
            if not await self._within(self._websocket.send_bytes(data)):
                return

    async def _type(self) -> None:
        while True:
            message = await self._websocket.receive()
            if message["type"] == "websocket.disconnect":
                return
            if data := message.get("bytes"):
                await self._services.at_terminal(self._terminal.type, data)
            elif text := message.get("text"):
                rows, columns = _size(text)
                await self._services.at_terminal(self._terminal.resize, rows, columns)

    async def _within(self, sending: Awaitable[None]) -> bool:
        """Send something; False when the client does not read any more."""
        try:
            await asyncio.wait_for(sending, self._services.deps.settings.send_s)
        except TimeoutError:
            return False
        return True


async def _any_done(tasks: Iterable[asyncio.Future[Any]], within_s: float) -> bool:
    done, _ = await asyncio.wait(tasks, timeout=within_s, return_when=asyncio.FIRST_COMPLETED)
    return bool(done)


def _size(text: str) -> tuple[int, int]:
    try:
        rows, columns = (int(each) for each in json.loads(text)["resize"])
    except (ValueError, TypeError, KeyError):
        raise WebSocketDisconnect(1003, "text is a resize: [rows, columns]") from None
    return min(max(rows, 1), LINES_MAX), min(max(columns, 1), LINES_MAX)
