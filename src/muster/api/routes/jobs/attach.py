"""The terminal of an interactive job, and commands beside a running worker, over a websocket."""

import asyncio
import json
from collections.abc import Awaitable, Iterable
from typing import Annotated, Any

from fastapi import APIRouter, Depends, WebSocket, WebSocketDisconnect

from muster.access.permissions import Permission
from muster.api.authorized_changes import change, changeable
from muster.api.gate import PAGE_TICKET, TICKET, Caller, NeedsTicket
from muster.api.lookups.records import single
from muster.api.routes.jobs.jobs import JobPath
from muster.api.services import Services
from muster.backends.base import Beside, Terminal
from muster.model.errors import Conflict, InvalidInput, MusterError, NotFound
from muster.model.ids import JobId
from muster.model.limits import SIDE_COMMAND_CHARS

router = APIRouter(tags=["logs"])

PROTOCOL = "muster.terminal"
"""The subprotocol: bytes are input and output of the terminal, text is `{"resize": [rows, columns]}`."""

LINES_MAX = 10_000

RANKS_TOLD = 16
"""How many ranks an error names."""

_MAY_CHANGE = NeedsTicket(Permission.JOBS_CHANGE)


@router.websocket("/v1/jobs/{job}/attach")
async def attach(websocket: WebSocket, job: JobPath, caller: Annotated[Caller, Depends(_MAY_CHANGE)]) -> None:
    """Bytes in both directions until the worker ends or the user disconnects. The job continues without the user.

    A job with `stdin` is sent what its first worker reads, from one client, which ends it with the text
    `{"end_input": true}`. The server then sends the text `{"exit": 0}` once the worker has everything or does not read
    any more, or `{"problem": why}`.
    """
    record = single(await changeable(caller, job, "jobs.attach"))
    if record.spec.interactive is None and not record.spec.stdin:
        raise Conflict(f"{job} is not interactive: its file has no `interactive`, so it has no terminal")
    if record.spec.stdin and not record.state.holds_resources:
        raise Conflict(f"{job} is {record.state}: no worker reads anything now")
    await _hold(websocket, caller, record.id, "jobs.attach", tells_end=record.spec.stdin)


@router.websocket("/v1/jobs/{job}/exec")
async def execute(
    websocket: WebSocket,
    job: JobPath,
    caller: Annotated[Caller, Depends(_MAY_CHANGE)],
    command: str = "",
    rank: int = 0,
    terminal: bool = False,
) -> None:
    """Run a line of the shell beside a running worker: with its environment, devices, limits and working directory.

    Bytes are its input and output. At its end the server sends the text `{"exit": code}`, or `{"problem": why}` when it
    could not be started. The text `{"end_input": true}` of the client ends its input. It ends with the worker, and when
    the client disconnects.
    """
    record = single(await changeable(caller, job, "jobs.exec"))
    if not 0 < len(command) <= SIDE_COMMAND_CHARS:
        raise InvalidInput(f"command: must have 1 to {SIDE_COMMAND_CHARS} characters; put a longer one into a file")
    if "\0" in command:
        raise InvalidInput("command: has a null byte, which no process can be given")
    ranks = [worker.rank for worker in record.workers]
    if not record.state.holds_resources:
        raise Conflict(f"{job} is {record.state}: a command runs beside a worker, and it has none now")
    if rank not in ranks:
        raise NotFound(f"{job} has no worker {rank}; its ranks are {', '.join(map(str, ranks[:RANKS_TOLD]))}")
    await _hold(websocket, caller, record.id, "jobs.exec", Beside(rank=rank, line=command, has_terminal=terminal))


async def _hold(
    websocket: WebSocket,
    caller: Caller,
    job: JobId,
    action: str,
    beside: Beside | None = None,
    *,
    tells_end: bool = False,
) -> None:
    """Let a user talk to a terminal, or to a command. It is in the audit first: a command that runs is not undone."""
    places = caller.services.terminals
    places.enter(caller.subject)
    try:
        more = {} if beside is None else {"rank": str(beside.rank), "command": beside.line}
        await change(caller, action, job, lambda _engine, _now_ms: None, **more)
        terminal = await caller.services.at_terminal(caller.deps.backend.attach, job, beside)
        try:
            await websocket.accept(subprotocol=_chosen(websocket))
            await _Conversation(websocket, terminal, caller.services, tells_end=tells_end or beside is not None).hold()
        finally:
            await caller.services.at_terminal(terminal.close)
    finally:
        places.leave(caller.subject)


def _chosen(websocket: WebSocket) -> str | None:
    """The subprotocol to confirm. A browser that offered some expects one of them back, but never a secret."""
    offered: list[str] = websocket.scope.get("subprotocols", [])
    return next((each for each in offered if not each.startswith((TICKET, PAGE_TICKET))), None)


class _Conversation:
    """A user at a terminal."""

    def __init__(self, websocket: WebSocket, terminal: Terminal, services: Services, *, tells_end: bool) -> None:
        """`tells_end` says that the client is told how a command ended, or what became of what it sent."""
        self._websocket = websocket
        self._terminal = terminal
        self._services = services
        self._tells_end = tells_end

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
        if self._tells_end:
            code = self._terminal.exit_code
            end = {"problem": self._terminal.over} if code is None else {"exit": code}
            await self._within(self._websocket.send_text(json.dumps(end)))

    async def _type(self) -> None:
        while True:
            message = await self._websocket.receive()
            if message["type"] == "websocket.disconnect":
                return
            if data := message.get("bytes"):
                await self._services.at_terminal(self._terminal.type, data)
            elif (text := message.get("text")) and self._tells_end and _ends_input(text):
                await self._services.at_terminal(self._terminal.end_input)
            elif text:
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


def _ends_input(text: str) -> bool:
    try:
        return bool(json.loads(text) == {"end_input": True})
    except ValueError:
        return False


def _size(text: str) -> tuple[int, int]:
    try:
        rows, columns = (int(each) for each in json.loads(text)["resize"])
    except (ValueError, TypeError, KeyError):
        raise WebSocketDisconnect(1003, "text is a resize: [rows, columns]") from None
    return min(max(rows, 1), LINES_MAX), min(max(columns, 1), LINES_MAX)
