"""Agents of nodes on other machines: they connect here, and stay connected.

Bytes are the conversation between the node's supervisor and the control plane. Text is about files that the agent sends
(see `worker/agent/mirror`), and asks it for further connections.
"""

import asyncio
import json
import secrets
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Annotated

from fastapi import APIRouter, Depends, Path, Query, WebSocket, WebSocketDisconnect

from muster.access.permissions import Permission
from muster.api.deps import Agents
from muster.api.gate import Caller, NeedsTicket, address_of
from muster.backends.agents.switchboard import ConnectedAgent
from muster.backends.allocations.posts import AT
from muster.model.errors import MusterError, NotFound, Refused
from muster.model.ids import NodeName

router = APIRouter(tags=["nodes"])

READ_BYTES = 64 << 10
ADDRESS_CHARS = 253

_MAY_CONNECT = NeedsTicket(Permission.AGENTS_CONNECT)
MayConnect = Annotated[Caller, Depends(_MAY_CONNECT)]
NodePath = Annotated[str, Path(min_length=1, max_length=100, description="The name of the node.")]


@router.websocket("/v1/agents/{node}")
async def connect_agent(
    websocket: WebSocket, node: NodePath, caller: MayConnect, address: Annotated[str, Query(max_length=253)] = ""
) -> None:
    """Connect the agent of a node. It needs a token that was made for this node."""
    agents = _admitted(caller, node)
    async with _ending(websocket, caller) as over:
        await join_agent(websocket, agents, NodeName(node), address, over)


@router.websocket("/v1/agents/{node}/dials/{number}")
async def answer_dial(websocket: WebSocket, node: NodePath, number: NodePath, caller: MayConnect) -> None:
    """Open a further connection that the agent was asked for."""
    agents = _admitted(caller, node)
    async with _ending(websocket, caller) as over:
        await join_dial(websocket, agents, NodeName(node), number, over)


def _admitted(caller: Caller, node: str) -> Agents:
    """What agents connect to. A token is for the node whose name it has, so that no node can pose as another."""
    named = node.partition(AT)[0]  # an agent in an allocation has a token for all nodes of it
    if not secrets.compare_digest(caller.principal.label.encode(), named.encode()):
        raise Refused(f"this token is for the agent of {caller.principal.label}, and not for that of {node}")
    if caller.deps.agents is None or not caller.deps.agents.expects(NodeName(node)):
        raise NotFound(f"{node} is not a node of this cluster that has an agent: describe it in muster.toml")
    return caller.deps.agents


@asynccontextmanager
async def _ending(websocket: WebSocket, caller: Caller) -> AsyncIterator[asyncio.Event]:
    """An event that happens when the server stops, and when the token lets the agent in no more."""
    over = asyncio.Event()

    async def watch() -> None:
        while not await caller.services.is_closing_within(caller.deps.settings.stream_s):
            try:
                await _MAY_CONNECT(websocket)
            except MusterError:
                break
        over.set()

    watching = asyncio.ensure_future(watch())
    try:
        yield over
    finally:
        watching.cancel()


async def join_agent(websocket: WebSocket, agents: Agents, node: NodeName, address: str, over: asyncio.Event) -> None:
    """Join an agent with the control plane, until one of them hangs up or the server stops."""
    await websocket.accept()
    ours, theirs = socket.socketpair()
    loop = asyncio.get_running_loop()
    texts = _AgentTexts(agents, node)

    def ask(number: str) -> None:
        loop.call_soon_threadsafe(texts.told.put_nowait, json.dumps({"dial": number}))

    agent = ConnectedAgent(node=node, channel=ours, address=address or address_of(websocket.scope))
    agents.switchboard.connected(agent, ask)
    try:
        await _joined(websocket, theirs, texts, over)
    finally:
        agents.switchboard.disconnected(node, ask)


async def join_dial(websocket: WebSocket, agents: Agents, node: NodeName, number: str, over: asyncio.Event) -> None:
    """Join a further connection of an agent with the user who waits for it."""
    ours, theirs = socket.socketpair()
    if not agents.switchboard.answered(node, number, ours):
        ours.close()
        theirs.close()
        raise NotFound("nobody waits for this connection")
    await websocket.accept()
    await _joined(websocket, theirs, _AgentTexts(agents, node), over)


class _AgentTexts:
    """What an agent says and is told beside the conversation."""

    def __init__(self, agents: Agents, node: NodeName) -> None:
        self.told: asyncio.Queue[str] = asyncio.Queue()
        """What is to be sent to it."""
        self._agents = agents
        self._node = node

    async def take(self, text: str) -> None:
        """Do what it says about a file, and answer."""
        try:
            message = json.loads(text)
        except ValueError:
            return
        if isinstance(message, dict):
            answer = await asyncio.to_thread(self._agents.files.take, self._node, message)
            if answer is not None:
                self.told.put_nowait(json.dumps(answer))


async def _joined(websocket: WebSocket, channel: socket.socket, texts: _AgentTexts, over: asyncio.Event) -> None:
    """Pass bytes between a websocket and a socket until one of them ends."""
    channel.setblocking(False)
    tasks = [
        asyncio.ensure_future(each)
        for each in (_up(websocket, channel, texts), _down(websocket, channel), _tell(websocket, texts), over.wait())
    ]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        channel.close()
        with suppress(RuntimeError, WebSocketDisconnect):
            await websocket.close(1001)


async def _up(websocket: WebSocket, channel: socket.socket, texts: _AgentTexts) -> None:
    loop = asyncio.get_running_loop()
    while True:
        message = await websocket.receive()
        if message["type"] == "websocket.disconnect":
            return
        if data := message.get("bytes"):
            await loop.sock_sendall(channel, data)
        elif text := message.get("text"):
            await texts.take(text)


async def _down(websocket: WebSocket, channel: socket.socket) -> None:
    loop = asyncio.get_running_loop()
    while data := await loop.sock_recv(channel, READ_BYTES):
        await websocket.send_bytes(data)


async def _tell(websocket: WebSocket, texts: _AgentTexts) -> None:
    while True:
        await websocket.send_text(await texts.told.get())
