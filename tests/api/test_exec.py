"""Commands beside a worker, over the API: who may run them, where, and what the audit keeps of it."""

import asyncio
import json
from urllib.parse import urlencode

import httpx
import pytest
import websockets
from websockets.exceptions import InvalidStatus

from muster.backends.base import Beside
from muster.engine.engine import Engine
from muster.model.limits import SIDE_COMMAND_CHARS
from tests.api.listening import caller, listening
from tests.api.world import DEADLINE_S, World, a_world, eventually, submitted


async def _a_running_job(world: World, client: httpx.AsyncClient) -> str:
    job = await submitted(client)

    async def is_running() -> bool:
        world.control.nudge()
        return bool((await client.get(f"/v1/jobs/{job}")).json()["state"] == "running")

    await eventually(is_running)
    return job


def _address(url: str, job: str, **query: object) -> str:
    return f"{url.replace('http', 'ws')}/v1/jobs/{job}/exec?{urlencode(query)}"


def _as(world: World, who: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {world.secrets.get(who, 'x')}"}


def test_a_command_is_typed_to_ends_with_its_code_and_is_in_the_audit() -> None:
    async def play(world: World) -> None:
        async with listening(world) as url, caller(world, url) as client:
            job = await _a_running_job(world, client)
            address = _address(url, job, command="cat; exit 7", terminal="true")
            async with websockets.connect(address, additional_headers=_as(world, "member")) as socket:
                await socket.send(b"hi")
                assert await socket.recv() == b"HI"
                await socket.send(json.dumps({"resize": [40, 120]}))
                await socket.send(json.dumps({"end_input": True}))
                assert json.loads(await socket.recv()) == {"exit": 7}
                await socket.wait_closed()
                assert socket.close_code == 1000
            assert world.terminals.beside == [Beside(rank=0, line="cat; exit 7", has_terminal=True)]
            assert world.terminals.sittings[0].sizes == [(40, 120)]
            entry = world.store.audit[-1]
            assert (entry.action, entry.subject) == ("jobs.exec", job)
            assert {("rank", "0"), ("command", "cat; exit 7")} <= set(entry.detail)
        assert not any(sitting.is_open for sitting in world.terminals.sittings)

    with a_world() as world:
        asyncio.run(asyncio.wait_for(play(world), DEADLINE_S))


def test_a_command_that_could_not_be_started_says_why() -> None:
    async def play(world: World) -> None:
        async with listening(world) as url, caller(world, url) as client:
            job = await _a_running_job(world, client)
            header = _as(world, "member")
            async with websockets.connect(_address(url, job, command="x"), additional_headers=header) as socket:
                sitting = world.terminals.sittings[0]
                sitting.over, sitting.exit_code = "too many", None
                sitting.show(b"")
                assert json.loads(await socket.recv()) == {"problem": "too many"}

    with a_world() as world:
        asyncio.run(asyncio.wait_for(play(world), DEADLINE_S))


def test_a_job_is_sent_what_its_first_worker_reads_and_the_sender_hears_that_it_has_it() -> None:
    async def play(world: World) -> None:
        async with listening(world) as url, caller(world, url) as client:
            job = await submitted(client, stdin=True)
            address, header = f"{url.replace('http', 'ws')}/v1/jobs/{job}/attach", _as(world, "member")
            world.terminals.jobs.append(job)

            async def is_running() -> bool:
                world.control.nudge()
                return bool((await client.get(f"/v1/jobs/{job}")).json()["state"] == "running")

            await eventually(is_running)
            async with websockets.connect(address, additional_headers=header) as socket:
                await socket.send(b"hi")
                assert await socket.recv() == b"HI"
                world.terminals.sittings[0].exit_code = 0
                await socket.send(json.dumps({"end_input": True}))
                assert json.loads(await socket.recv()) == {"exit": 0}
                await socket.wait_closed()
            assert world.store.audit[-1].action == "jobs.attach"
            waiting = address.replace(job, await submitted(client, stdin=True, begin="1h"))
            with pytest.raises(InvalidStatus) as refused:
                await websockets.connect(waiting, additional_headers=header)
            assert refused.value.response.status_code == 409

    with a_world() as world:
        asyncio.run(asyncio.wait_for(play(world), DEADLINE_S))


@pytest.mark.parametrize(
    ("who", "query", "status"),
    [
        ("nobody", {"command": "true"}, 401),
        ("other", {"command": "true"}, 404),
        ("viewer", {"command": "true"}, 403),
        ("colleague", {"command": "true"}, 403),
        ("member", {"command": "true", "rank": 1}, 404),
        ("member", {"command": ""}, 422),
        ("member", {"command": "echo a\0b"}, 422),
        ("member", {"command": "x" * (SIDE_COMMAND_CHARS + 1)}, 422),
    ],
)
def test_others_and_wrong_requests_are_refused_before_anything_runs(
    who: str, query: dict[str, object], status: int
) -> None:
    async def play(world: World) -> None:
        async with listening(world) as url, caller(world, url) as client:
            job = await _a_running_job(world, client)
            with pytest.raises(InvalidStatus) as refusal:
                await websockets.connect(_address(url, job, **query), additional_headers=_as(world, who))
            assert refusal.value.response.status_code == status
            assert world.terminals.beside == []

    with a_world() as world:
        asyncio.run(asyncio.wait_for(play(world), DEADLINE_S))


def test_a_job_that_does_not_run_has_no_worker_to_run_beside() -> None:
    async def play(world: World) -> None:
        async with listening(world) as url, caller(world, url) as client:
            job = await submitted(client, held=True)
            with pytest.raises(InvalidStatus) as refusal:
                await websockets.connect(_address(url, job, command="x"), additional_headers=_as(world, "member"))
            assert refusal.value.response.status_code == 409
            assert b"beside a worker" in (refusal.value.response.body or b"")

    with a_world() as world:
        asyncio.run(asyncio.wait_for(play(world), DEADLINE_S))


def test_a_command_that_cannot_be_written_into_the_audit_does_not_run() -> None:
    async def play(world: World) -> None:
        async with listening(world) as url, caller(world, url) as client:
            job = await _a_running_job(world, client)

            def fail(_engine: Engine, _now_ms: int) -> None:
                raise RuntimeError("a bug")

            with pytest.raises(Exception, match="the writer has stopped"):
                await asyncio.wrap_future(world.control.ask(fail))
            with pytest.raises(InvalidStatus) as refusal:
                await websockets.connect(_address(url, job, command="x"), additional_headers=_as(world, "member"))
            assert refusal.value.response.status_code == 503
            assert world.terminals.beside == []

    with a_world() as world:
        asyncio.run(asyncio.wait_for(play(world), DEADLINE_S))
