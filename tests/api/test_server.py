"""Listening: where it is safe to, and what only exists on a wire."""

import asyncio
import json
from pathlib import Path

import httpx
import pytest
import websockets
from websockets.exceptions import InvalidStatus

from muster.api.server import Listening, bound
from muster.model.errors import InvalidInput, Unavailable
from tests.api.listening import caller, listening
from tests.api.world import DEADLINE_S, World, a_world, submitted


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "example.org"])
def test_tokens_are_not_shown_to_a_network(host: str) -> None:
    with pytest.raises(InvalidInput, match="insecure-bind"):
        bound(Listening(host=host))


def test_a_certificate_needs_its_key() -> None:
    with pytest.raises(InvalidInput, match="both"):
        bound(Listening(certificate=Path("cert.pem")))


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1"])
def test_loopback_is_safe_and_a_port_that_is_taken_is_said_so(host: str) -> None:
    listener = bound(Listening(host=host))
    port = listener.getsockname()[1]
    with listener, pytest.raises(Unavailable, match="running already"):
        bound(Listening(host=host, port=port))


def test_a_request_over_a_socket_is_answered() -> None:
    async def play(world: World) -> None:
        async with listening(world) as url, caller(world, url) as client:
            assert (await client.get("/v1/whoami")).json()["name"] == "member"
            too_large = await client.post("/v1/jobs", content=b"x" * (5 * 1024 * 1024))
            assert too_large.status_code == 413
            assert "server" not in too_large.headers

    with a_world() as world:
        asyncio.run(asyncio.wait_for(play(world), DEADLINE_S))


def test_a_user_attaches_to_the_terminal_of_an_interactive_job() -> None:
    async def play(world: World) -> None:
        async with listening(world) as url, caller(world, url) as client:
            job = await submitted(client, interactive={"idle_timeout": "1h"})
            world.terminals.jobs.append(job)
            address = f"{url.replace('http', 'ws')}/v1/jobs/{job}/attach"
            ticket = f"bearer.{world.secrets['member']}"
            async with websockets.connect(address, subprotocols=["muster.terminal", ticket]) as socket:  # type: ignore[list-item]
                assert socket.subprotocol == "muster.terminal"
                await socket.send(json.dumps({"resize": [40, 120]}))
                await socket.send(b"ls\n")
                assert await socket.recv() == b"LS\n"
                await socket.send(b"exit\n")
                assert await socket.recv() == b"EXIT\n"
                await socket.wait_closed()
            assert world.terminals.sittings[0].sizes == [(40, 120)]
            header = {"Authorization": f"Bearer {world.secrets['member']}"}
            async with websockets.connect(address, additional_headers=header) as socket:
                await socket.send(b"hi")
                assert await socket.recv() == b"HI"
        assert not any(sitting.is_open for sitting in world.terminals.sittings)

    with a_world() as world:
        asyncio.run(asyncio.wait_for(play(world), DEADLINE_S))


@pytest.mark.parametrize(
    ("who", "status"), [("nobody", 401), ("other", 404), ("viewer", 403), ("colleague", 403), ("member", 409)]
)
def test_others_are_told_why_they_may_not_attach(who: str, status: int) -> None:
    async def play(world: World) -> None:
        async with listening(world) as url, caller(world, url) as client:
            job = await submitted(client)
            address = f"{url.replace('http', 'ws')}/v1/jobs/{job}/attach"
            header = {"Authorization": f"Bearer {world.secrets.get(who, 'x')}"}
            with pytest.raises(InvalidStatus) as refusal:
                await websockets.connect(address, additional_headers=header)
            response = refusal.value.response
            assert response.status_code == status
            assert response.headers["content-type"] == "application/problem+json"
            assert json.loads(response.body or b"")["status"] == status

    with a_world() as world:
        asyncio.run(asyncio.wait_for(play(world), DEADLINE_S))


def test_figures_are_open_to_this_machine_and_to_no_forwarded_caller() -> None:
    async def play(world: World) -> None:
        async with listening(world) as url, httpx.AsyncClient(base_url=url) as client:
            assert (await client.get("/metrics")).status_code == 200
            assert (await client.get("/metrics", headers={"X-Forwarded-For": "192.0.2.7"})).status_code == 401

    with a_world() as world:
        asyncio.run(asyncio.wait_for(play(world), DEADLINE_S))
