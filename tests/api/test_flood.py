"""A flood: eight members send the worst there is to send, and another caller does not notice."""

import asyncio
from collections import Counter

import httpx

from muster.api.deps import Settings
from muster.model.access import Binding, Role
from muster.model.client_limits import JOB_BODY_BYTES, JOB_TEXT_CHARS
from muster.model.ids import TeamPath
from tests.api.listening import caller, listening
from tests.api.world import World, a_world, job_file

FLOODERS = 8
CONNECTIONS_EACH = 3
ASKED = 12
"""Requests of each kind by another caller, one after another."""
DEADLINE_S = 120.0
LARGE = JOB_BODY_BYTES - 1_000
BODIES: tuple[dict[str, object], ...] = (
    {"text": "x: [" + "[]," * (JOB_TEXT_CHARS // 3 - 10) + "]"},
    {"text": "".join(f"k{number}: 1\n" for number in range(JOB_TEXT_CHARS // 13))},
    {"job": {f"k{number}": 1 for number in range(LARGE // 13)}},
    {"job": job_file(run="#" * LARGE)},
)


async def _hammer(client: httpx.AsyncClient, number: int, told: Counter[int]) -> None:
    while True:
        try:
            answer = await client.post("/v1/jobs", json=BODIES[number % len(BODIES)])
            told[answer.status_code] += 1
        except httpx.TransportError:
            told[0] += 1
        number += 1


async def _ask(client: httpx.AsyncClient, told: Counter[int]) -> None:
    for _ in range(ASKED):
        listed = await client.get("/v1/jobs")
        assert (listed.status_code, len(listed.content) < 3 * JOB_BODY_BYTES) == (200, True)
        assert (await client.post("/v1/jobs", json={"job": job_file()})).status_code == 201
    while not told[429]:  # A caller that floods is told so, sooner or later.
        await asyncio.sleep(0.01)


def test_under_a_flood_other_callers_are_answered_and_the_flooders_are_told_to_wait() -> None:
    async def play(world: World) -> None:
        told: Counter[int] = Counter()
        for number in range(FLOODERS):
            world.let_in(f"flooder-{number}", (Binding(role=Role.MEMBER, team=TeamPath("nlp")),))
        async with asyncio.TaskGroup() as group, listening(world) as url, caller(world, url, "member") as other:
            clients = [
                await group.create_task(_opened(world, url, f"flooder-{number % FLOODERS}"))
                for number in range(FLOODERS * CONNECTIONS_EACH)
            ]
            tasks = [group.create_task(_hammer(each, number, told)) for number, each in enumerate(clients)]
            await _ask(other, told)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            for each in clients:
                await each.aclose()
        assert told[429] > 0
        assert not told.keys() - {0, 201, 422, 429}

    with a_world(settings=Settings(requests_per_s=60, requests_at_once=600)) as world:
        asyncio.run(asyncio.wait_for(play(world), DEADLINE_S))


async def _opened(world: World, url: str, who: str) -> httpx.AsyncClient:
    headers = {"Authorization": f"Bearer {world.secrets[who]}"}
    return httpx.AsyncClient(base_url=url, headers=headers, timeout=60)
