"""Sitting down at the terminal of an interactive job."""

import asyncio
import json
from typing import Annotated

from fastapi import APIRouter, Depends, WebSocket, WebSocketDisconnect

from muster.access.permissions import Permission
from muster.api.asking import changeable
from muster.api.gate import TICKET, Caller, NeedsTicket
from muster.api.lookup import single
from muster.api.ports import Terminal
from muster.api.routes.jobs import JobPath
from muster.model.errors import Conflict

router = APIRouter(tags=["logs"])

PROTOCOL = "muster.terminal"
"""The subprotocol: bytes are what is typed and shown, text is `{"resize": [rows, columns]}`."""

LINES_MAX = 10_000


@router.websocket("/v1/jobs/{job}/attach")
async def attach(
    websocket: WebSocket, job: JobPath, caller: Annotated[Caller, Depends(NeedsTicket(Permission.JOBS_CHANGE))]
) -> None:
    """Bytes in both directions until the worker is gone or the person leaves; the job goes on without them."""
    known = await changeable(caller, job, "jobs.attach")
    record = single(caller.deps.control.state, known)
    if record.spec.interactive is None:
        raise Conflict(f"{job} is not interactive: its file has no `interactive`, so it has no terminal")
    places = caller.services.terminals
    places.enter()
    try:
        terminal = await asyncio.to_thread(caller.deps.terminals.attach, known)
        try:
            await websocket.accept(subprotocol=_chosen(websocket))
            await _converse(websocket, terminal, caller.services.closing)
        finally:
            await asyncio.to_thread(terminal.close)
    finally:
        places.leave()


def _chosen(websocket: WebSocket) -> str | None:
    """A browser that offered subprotocols wants one of them back, and never the token."""
    offered: list[str] = websocket.scope.get("subprotocols", [])
    return next((each for each in offered if not each.startswith(TICKET)), None)


async def _converse(websocket: WebSocket, terminal: Terminal, closing: asyncio.Event) -> None:
    showing = asyncio.ensure_future(_show(websocket, terminal))
    typing = asyncio.ensure_future(_type(websocket, terminal))
    stopping = asyncio.ensure_future(closing.wait())
    tasks = (showing, typing, stopping)
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        if not typing.done():
            await websocket.close(1000 if showing.done() else 1001)
    finally:
        for task in tasks:
            task.cancel()


async def _show(websocket: WebSocket, terminal: Terminal) -> None:
    while data := await asyncio.to_thread(terminal.read):
        await websocket.send_bytes(data)


async def _type(websocket: WebSocket, terminal: Terminal) -> None:
    while True:
        message = await websocket.receive()
        if message["type"] == "websocket.disconnect":
            return
        if data := message.get("bytes"):
            await asyncio.to_thread(terminal.type, data)
        elif text := message.get("text"):
            rows, columns = _size(text)
            await asyncio.to_thread(terminal.resize, rows, columns)


def _size(text: str) -> tuple[int, int]:
    try:
        rows, columns = (int(each) for each in json.loads(text)["resize"])
    except (ValueError, TypeError, KeyError):
        raise WebSocketDisconnect(1003, "text is a resize: [rows, columns]") from None
    return min(max(rows, 1), LINES_MAX), min(max(columns, 1), LINES_MAX)
