"""Jobs over HTTP: submitting, listing, changing, explaining."""

import asyncio
from typing import Any

import httpx

from tests.api.world import World, a_world, submitted


def run(world: World, scenario: Any, who: str | None = "member") -> None:
    async def with_client() -> None:
        async with world.client(who) as client:
            await scenario(client)

    asyncio.run(with_client())


def test_a_job_that_was_let_in_is_shown_and_listed() -> None:
    async def scenario(client: httpx.AsyncClient) -> None:
        job = await submitted(client, name="llama", gpus=4)
        shown = (await client.get(f"/v1/jobs/{job}")).json()
        assert shown["name"] == "llama"
        assert shown["user"] == "member"
        listed = (await client.get("/v1/jobs")).json()
        assert [each["id"] for each in listed["items"]] == [job]
        why = await client.get(f"/v1/jobs/{job}/why")
        assert why.status_code == 200, why.text
        events = (await client.get(f"/v1/jobs/{job}/events")).json()
        print(events)
        print((await client.get("/v1/nodes")).text[:300])
        print((await client.get("/healthz")).text[:300])
        print((await client.get("/openapi.json")).text[:300])

    with a_world() as world:
        run(world, scenario)
