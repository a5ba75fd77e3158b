"""Terminals: many at once, people who no longer listen, and tokens that are revoked meanwhile."""

import asyncio
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager

import httpx
import pytest
import websockets

from muster.api.deps import Settings
from muster.model.ids import JobId
from tests.api.listening import caller, listening
from tests.api.world import DEADLINE_S, World, a_world, eventually, submitted


async def _interactive(world: World, client: httpx.AsyncClient) -> JobId:
    job = await submitted(client, interactive={"idle_timeout": "1h"})
    world.terminals.jobs.append(job)
    return job


@asynccontextmanager
async def _attached(
    world: World, url: str, job: JobId, who: str = "member"
) -> AsyncIterator[websockets.ClientConnection]:
    header = {"Authorization": f"Bearer {world.secrets[who]}"}
    address = f"{url.replace('http', 'ws')}/v1/jobs/{job}/attach"
    async with websockets.connect(address, additional_headers=header, close_timeout=0.1, compression=None) as socket:
        yield socket


def test_terminals_take_no_threads_from_other_requests() -> None:
    async def play(world: World) -> None:
        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(1))
        async with listening(world) as url, caller(world, url) as client:
            job = await _interactive(world, client)
            async with _attached(world, url, job) as first, _attached(world, url, job) as second:
                for socket in (first, second):
                    await socket.send(b"hi")
                    assert await socket.recv() == b"HI"
                async with caller(world, url, "colleague") as colleague:
                    assert (await colleague.get("/v1/whoami")).status_code == 200

    with a_world() as world:
        asyncio.run(asyncio.wait_for(play(world), DEADLINE_S))


def test_a_client_that_does_not_read_its_terminal_is_disconnected() -> None:
    async def play(world: World) -> None:
        async with listening(world) as url, caller(world, url) as client:
            job = await _interactive(world, client)
            async with _attached(world, url, job) as socket:
                socket.transport.pause_reading()
                sitting = world.terminals.sittings[0]
                for _ in range(64):
                    sitting.show(b"x" * 500_000)

                async def is_over() -> bool:
                    return not sitting.is_open

                await eventually(is_over)

    with a_world(settings=Settings(send_s=0.05)) as world:
        asyncio.run(asyncio.wait_for(play(world), DEADLINE_S))


def test_a_token_that_is_revoked_does_not_keep_a_terminal_and_attaching_is_audited() -> None:
    async def play(world: World) -> None:
        async with listening(world) as url, caller(world, url) as client:
            job = await _interactive(world, client)
            async with _attached(world, url, job) as socket:
                assert (world.store.audit[-1].action, world.store.audit[-1].subject) == ("jobs.attach", job)
                await socket.send(b"hi")
                assert await socket.recv() == b"HI"
                token = next(each for each in world.tokens.all() if each.name == "member")
                async with caller(world, url, "admin") as admin:
                    assert (await admin.delete(f"/v1/tokens/{token.id}")).status_code == 204
                await socket.wait_closed()
                assert socket.close_code == 1008

    with a_world(settings=Settings(stream_s=0.05)) as world:
        asyncio.run(asyncio.wait_for(play(world), DEADLINE_S))


async def _signed_in(world: World, url: str) -> tuple[str, str]:
    """Both halves of a session: of the cookie and of the page."""
    async with httpx.AsyncClient(base_url=url) as browser:
        answer = await browser.post("/session", json={"token": world.secrets["member"]})
        return answer.cookies["muster_session"], answer.json()["page"]


def test_a_browser_that_is_signed_in_shows_both_halves_and_gets_no_secret_back() -> None:
    async def play(world: World) -> None:
        async with listening(world) as url, caller(world, url) as client:
            job = await _interactive(world, client)
            cookie, page = await _signed_in(world, url)
            address, header = (
                f"{url.replace('http', 'ws')}/v1/jobs/{job}/attach",
                {"Cookie": f"muster_session={cookie}"},
            )
            offered = [websockets.Subprotocol(each) for each in (f"page.{page}", "muster.terminal")]
            async with websockets.connect(
                address, additional_headers=header, subprotocols=offered, origin=websockets.Origin(url)
            ) as socket:
                assert socket.subprotocol == "muster.terminal"
                await socket.send(b"hi")
                assert await socket.recv() == b"HI"

    with a_world() as world:
        asyncio.run(asyncio.wait_for(play(world), DEADLINE_S))


@pytest.mark.parametrize(
    ("half", "has_cookie", "origin", "status"),
    [
        ("page.{page}", False, None, 401),
        ("muster.terminal", True, None, 401),
        ("page.wrong", True, None, 401),
        ("page.{page}", True, "https://evil.example", 403),
    ],
)
def test_half_a_session_and_foreign_pages_get_no_terminal(
    half: str, has_cookie: bool, origin: str | None, status: int
) -> None:
    async def play(world: World) -> None:
        async with listening(world) as url, caller(world, url) as client:
            job = await _interactive(world, client)
            cookie, page = await _signed_in(world, url)
            with pytest.raises(websockets.InvalidStatus) as refused:
                await websockets.connect(
                    f"{url.replace('http', 'ws')}/v1/jobs/{job}/attach",
                    additional_headers={"Cookie": f"muster_session={cookie}"} if has_cookie else {},
                    subprotocols=[websockets.Subprotocol(half.format(page=page))],
                    origin=None if origin is None else websockets.Origin(origin),
                )
            assert refused.value.response.status_code == status
            assert not world.terminals.sittings

    with a_world() as world:
        asyncio.run(asyncio.wait_for(play(world), DEADLINE_S))
