"""Reading what workers printed: parts, from the end, and as it comes."""

import asyncio

import httpx

from muster.api.deps import Settings
from tests.api.listening import caller, listening
from tests.api.world import DEADLINE_S, World, a_world, eventually, played, submitted


async def _started(client: httpx.AsyncClient, **fields: object) -> str:
    job = await submitted(client, **fields)

    async def has_begun() -> bool:
        return bool((await client.get(f"/v1/jobs/{job}")).json()["attempt"])

    await eventually(has_begun)
    return job


def test_parts_are_read_by_offset_also_from_the_end() -> None:
    async def scenario(world: World, client: httpx.AsyncClient) -> None:
        job = await _started(client)
        world.logs.print(b"0123456789", job=job)
        part = await client.get(f"/v1/jobs/{job}/logs", params={"offset": 2, "limit": 3})
        assert part.content == b"234"
        assert part.headers["content-type"] == "application/octet-stream"
        assert (part.headers["muster-log-start"], part.headers["muster-log-end"]) == ("2", "5")
        assert (part.headers["muster-log-attempt"], part.headers["muster-log-complete"]) == ("1", "false")
        assert (await client.get(f"/v1/jobs/{job}/logs", params={"offset": -4})).content == b"6789"
        world.logs.print(b"", job=job, is_last=True)
        assert (await client.get(f"/v1/jobs/{job}/logs")).headers["muster-log-complete"] == "true"
        assert (await client.get(f"/v1/jobs/{job}/logs", params={"attempt": 2})).status_code == 404
        assert (await client.get(f"/v1/jobs/{job}/logs", params={"limit": 10**9})).status_code == 422

    played(scenario)


def test_what_has_not_started_and_what_is_an_array_has_no_log() -> None:
    async def scenario(world: World, client: httpx.AsyncClient) -> None:
        waiting = await submitted(client, held=True)
        array = await submitted(client, array="0-1")
        assert "has not started" in (await client.get(f"/v1/jobs/{waiting}/logs")).json()["detail"]
        assert "name one of its tasks" in (await client.get(f"/v1/jobs/{array}/logs")).json()["detail"]

    played(scenario)


def test_a_log_is_followed_until_its_worker_is_gone() -> None:
    async def play(world: World) -> None:
        async with listening(world) as url, caller(world, url) as client:
            job = await _started(client)
            world.logs.print(b"one\n", job=job)
            async with client.stream("GET", f"/v1/jobs/{job}/logs", params={"follow": True}) as response:
                parts = response.aiter_raw()
                assert await anext(parts) == b"one\n"
                world.logs.print(b"two\n", job=job)
                assert await anext(parts) == b"two\n"
                world.logs.print(b"three\n", job=job, is_last=True)
                assert [part async for part in parts] == [b"three\n"]

            async def is_empty() -> bool:
                return bool(world.app.state.services.followers.taken == 0)

            await eventually(is_empty)

    with a_world() as world:
        asyncio.run(asyncio.wait_for(play(world), DEADLINE_S))


def test_a_stop_ends_what_is_followed() -> None:
    async def play(world: World) -> None:
        async with listening(world) as url, caller(world, url) as client:
            job = await _started(client)
            world.logs.print(b"one\n", job=job)
            async with client.stream("GET", f"/v1/jobs/{job}/logs", params={"follow": True}) as response:
                parts = response.aiter_raw()
                await anext(parts)
                world.app.state.server.should_exit = True
                assert [part async for part in parts] == []

    with a_world() as world:
        asyncio.run(asyncio.wait_for(play(world), DEADLINE_S))


def test_what_is_followed_ends_after_a_while_so_that_a_revoked_token_does_not_keep_it() -> None:
    async def play(world: World) -> None:
        async with listening(world) as url, caller(world, url) as client:
            job = await _started(client)
            world.logs.print(b"one\n", job=job)
            answer = await client.get(f"/v1/jobs/{job}/logs", params={"follow": True})
            assert answer.content == b"one\n"

    with a_world(settings=Settings(stream_s=0.05, log_poll_s=0.01)) as world:
        asyncio.run(asyncio.wait_for(play(world), DEADLINE_S))
