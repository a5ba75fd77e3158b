"""Connections: what one may say before it is understood, how long that may take, and which one makes room."""

import asyncio
import json
import resource
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import pytest
import websockets

from muster.access.permissions import Permission
from muster.api import server
from muster.api.front.connections import BoundedHttp, Connections, bounded, missing_descriptors
from muster.backends.agents.switchboard import ConnectedAgent
from muster.model.access import EVERY_TEAM, Binding, Role
from muster.model.client_limits import HEAD_BYTES, HEAD_LINES
from tests.api.listening import caller, listening
from tests.api.world import DEADLINE_S, World, a_world, submitted

HEAD = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n"
Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@asynccontextmanager
async def _connected(url: str, count: int = 1) -> AsyncIterator[list[Streams]]:
    port = int(url.rpartition(":")[2])
    opened = [await asyncio.open_connection("127.0.0.1", port) for _ in range(count)]
    try:
        yield opened
    finally:
        for _, writer in opened:
            writer.close()


def _played(
    scenario: Any, monkeypatch: pytest.MonkeyPatch | None = None, book: Connections | None = None, **bounds: float
) -> None:
    async def play(world: World) -> None:
        async with listening(world) as url:
            await scenario(world, url)

    if monkeypatch is not None:
        for name, value in bounds.items():
            monkeypatch.setattr(BoundedHttp, name, value)
        monkeypatch.setattr(server, "bounded", lambda: bounded(book))
    with a_world() as world:
        asyncio.run(asyncio.wait_for(play(world), DEADLINE_S))


async def _answer(streams: Streams) -> tuple[int, dict[str, Any]]:
    reader, _ = streams
    head = await reader.readuntil(b"\r\n\r\n")
    body = await reader.read()
    assert b"application/problem+json" in head
    return int(head[9:12]), json.loads(body)


@pytest.mark.parametrize(
    "rest",
    [
        b"X-Long: " + b"x" * HEAD_BYTES,  # it never ends
        b"X-Long: " + b"x" * HEAD_BYTES + b"\r\n\r\n",
        b"".join(b"X-%d: x\r\n" % number for number in range(HEAD_LINES + 1)) + b"\r\n",
    ],
    ids=["endless", "long", "many"],
)
def test_headers_are_bounded(rest: bytes) -> None:
    async def scenario(_: World, url: str) -> None:
        async with _connected(url) as [streams]:
            streams[1].write(HEAD + rest)
            status, problem = await _answer(streams)
            assert status == problem["status"] == 431

    _played(scenario)


def test_an_address_that_is_too_long_is_refused_and_what_is_no_http_too() -> None:
    async def scenario(_: World, url: str) -> None:
        async with _connected(url, 2) as [first, second]:
            first[1].write(b"GET /" + b"x" * HEAD_BYTES + b" HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert (await _answer(first))[0] == 431
            second[1].write(b"\x16\x03\x01 hello\r\n\r\n")
            assert (await _answer(second))[0] == 400

    _played(scenario)


@pytest.mark.parametrize("begin", [b"", HEAD, b"\r\n"], ids=["none", "head", "blank"])
def test_a_client_that_takes_too_long_to_ask_is_disconnected(begin: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario(_: World, url: str) -> None:
        async with _connected(url) as [(reader, writer)]:
            writer.write(begin)
            said = await reader.read()  # until it hangs up
            assert said.count(b"HTTP/1.1 408 ") == 1

    _played(scenario, monkeypatch, head_s=0.05)


def test_a_blank_line_does_not_keep_an_answered_connection_open(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario(_: World, url: str) -> None:
        async with _connected(url) as [(reader, writer)]:
            writer.write(HEAD + b"\r\n")
            await reader.readuntil(b"}")
            writer.write(b"\r\n")
            assert b"HTTP/1.1 408 " in await reader.read()

    _played(scenario, monkeypatch, head_s=0.05)


def test_a_client_that_takes_too_long_to_send_a_body_is_disconnected(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario(world: World, url: str) -> None:
        async with _connected(url) as [(reader, writer)]:
            token = world.secrets["member"]
            head = f"POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n"
            writer.write(f"{head}Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{{".encode())
            assert await _until_gone(reader) == b""

    _played(scenario, monkeypatch, body_s=0.05)


async def _until_gone(reader: asyncio.StreamReader) -> bytes:
    try:
        return await reader.read()
    except ConnectionResetError:
        return b""


def test_idle_connections_make_room_for_one_that_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario(world: World, url: str) -> None:
        async with _connected(url, 3) as held, caller(world, url) as client:
            assert (await client.get("/v1/whoami")).status_code == 200
            assert await _until_gone(held[0][0]) == b""  # The one that was idle for longest.
            held[1][1].write(HEAD + b"\r\n")
            assert (await held[1][0].readline()).startswith(b"HTTP/1.1 200")

    _played(scenario, monkeypatch, Connections(10, each=3))


def test_where_all_connections_are_busy_a_new_one_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario(world: World, url: str) -> None:
        async with _connected(url) as [(reader, writer)]:
            token = world.secrets["member"]
            writer.write(
                f"GET /v1/events HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n\r\n".encode()
            )
            await reader.readuntil(b": welcome")
            async with _connected(url) as [second]:
                status, problem = await _answer(second)
                assert (status, problem["retry_helps"]) == (503, True)

    _played(scenario, monkeypatch, Connections(1, each=10))


def test_a_terminal_is_counted_once_and_its_place_is_free_again(monkeypatch: pytest.MonkeyPatch) -> None:
    book = Connections(50, each=50)

    async def scenario(world: World, url: str) -> None:
        async with caller(world, url) as client:
            job = await submitted(client, interactive={})
            world.terminals.jobs.append(job)
            address = f"{url.replace('http', 'ws')}/v1/jobs/{job}/attach"
            header = {"Authorization": f"Bearer {world.secrets['member']}"}
            async with websockets.connect(address, additional_headers=header) as socket:
                await socket.send(b"hi")
                assert await socket.recv() == b"HI"
                assert len(book._addresses) == 2
                assert len(book._idle) == 1
        while book._addresses:
            await asyncio.sleep(0.001)
        assert not book._counts
        assert not book._idle

    _played(scenario, monkeypatch, book)


def test_agents_and_users_leave_each_other_their_places(monkeypatch: pytest.MonkeyPatch) -> None:
    book = Connections(2, each=2, agents=2)

    async def scenario(world: World, url: str) -> None:
        held: list[ConnectedAgent] = []
        assert world.deps.agents is not None
        world.deps.agents.switchboard.on_connected = held.append
        nodes = [f"elsewhere-{number}" for number in range(3)]
        for node in nodes:
            world.let_in(node, (Binding(role=Role.OPERATOR, team=EVERY_TEAM),), scopes=(Permission.AGENTS_CONNECT,))
        async with AsyncExitStack() as fleet:
            for node in nodes[:2]:
                await fleet.enter_async_context(_agent(world, url, node))
            assert not book._addresses
            with pytest.raises(websockets.WebSocketException):
                await fleet.enter_async_context(_agent(world, url, nodes[2]))
            async with _connected(url, 2) as users:
                users[0][1].write(HEAD + b"\r\n")
                assert (await users[0][0].readline()).startswith(b"HTTP/1.1 200")
        while book._agents:
            await asyncio.sleep(0.001)
        for agent in held:
            agent.channel.close()

    _played(scenario, monkeypatch, book)


def _agent(world: World, url: str, node: str) -> websockets.connect:
    header = {"Authorization": f"Bearer {world.secrets[node]}"}
    return websockets.connect(f"{url.replace('http', 'ws')}/v1/agents/{node}", additional_headers=header)


def test_an_operator_hears_how_many_files_a_fleet_opens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (4_096, 4_096))
    assert not missing_descriptors(0)
    assert not missing_descriptors(100)
    assert "2000 agents and 2048 other connections need 8304 open files" in missing_descriptors(2_000)


def test_a_client_that_does_not_read_its_answers_is_disconnected(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario(world: World, url: str) -> None:
        async with caller(world, url) as client:
            job = await submitted(client, run="#" * 400_000)
        async with _connected(url) as [(_, writer)]:
            token = world.secrets["member"]
            asked = f"GET /v1/jobs/{job} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n\r\n".encode()
            # Nothing is read: at some point the answers fill every buffer there is.
            writer.transport.pause_reading()  # type: ignore[attr-defined]
            while not writer.transport.is_closing():
                writer.write(asked * 20)
                await asyncio.sleep(0.01)
                if world.app.state.server.server_state.connections == set():
                    break

    _played(scenario, monkeypatch, send_s=0.1)
