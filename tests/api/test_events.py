"""Watching events over a real socket: order, resuming, what each watcher sees, limits, and stopping."""

import asyncio
import json
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import httpx

from muster.api.deps import Settings
from muster.api.streams.hub import Hub, Watched, Watcher
from muster.model.access import EVERY_TEAM
from muster.model.ids import TeamPath
from muster.model.limits import WATCHER_CHUNKS
from tests.api.listening import caller, listening
from tests.api.world import DEADLINE_S, World, a_world, eventually, submitted
from tests.builders import a_job

Event = dict[str, Any]
KEPT = 50
"""Events that the feed remembers in a test about watchers that were away for longer."""


def _played(scenario: Callable[[World, str], Awaitable[None]], **fields: Any) -> None:
    async def play(world: World) -> None:
        async with listening(world) as url:
            await scenario(world, url)

    with a_world(**fields) as world:
        asyncio.run(asyncio.wait_for(play(world), DEADLINE_S))


@asynccontextmanager
async def _watching(
    client: httpx.AsyncClient, headers: dict[str, str] | None = None, **query: Any
) -> AsyncIterator[AsyncIterator[Event]]:
    async with client.stream("GET", "/v1/events", params=query, headers=headers) as response:
        assert response.status_code == 200, await response.aread()
        assert response.headers["content-type"].startswith("text/event-stream")
        lines = response.aiter_lines()
        assert await anext(lines) == ": welcome"
        yield _parsed(lines)


async def _parsed(lines: AsyncIterator[str]) -> AsyncIterator[Event]:
    event: Event = {}
    async for line in lines:
        if not line and "data" in event:
            yield event
            event = {}
        elif line and not line.startswith(":"):
            key, _, value = line.partition(": ")
            event[key] = json.loads(value) if key == "data" else value


async def _next(events: AsyncIterator[Event], count: int) -> list[Event]:
    return [await anext(events) for _ in range(count)]


def test_a_watcher_sees_what_is_written_from_now_on() -> None:
    async def scenario(world: World, url: str) -> None:
        async with caller(world, url) as client, _watching(client) as events:
            job = await submitted(client)
            first, second = await _next(events, 2)
            assert (first["event"], first["data"]["job"], first["data"]["user"]) == ("job_submitted", job, "member")
            assert first["data"]["team"] == "nlp"
            assert second["event"] == "job_started"
            assert int(second["id"]) == int(first["id"]) + 1 == second["data"]["version"]

    _played(scenario)


def test_a_watcher_that_resumes_misses_nothing_and_sees_nothing_twice() -> None:
    async def scenario(world: World, url: str) -> None:
        async with caller(world, url) as client:
            async with _watching(client, after=0) as events:
                await submitted(client, held=True)
                seen = await _next(events, 3)
            for _ in range(5):
                await submitted(client, held=True)
            async with _watching(client, headers={"Last-Event-ID": seen[-1]["id"]}) as events:
                seen += await _next(events, 5)
                await submitted(client, held=True)
                seen += await _next(events, 1)
            assert [int(event["id"]) for event in seen] == list(range(1, len(seen) + 1))

    _played(scenario)


def test_a_watcher_that_was_away_for_long_is_served_from_the_store() -> None:
    def many(engine: Any, now_ms: int) -> None:
        for _ in range(KEPT + 10):
            engine.submit(a_job(team="nlp"), now_ms, held=True, by="member")

    async def scenario(world: World, url: str) -> None:
        world.control.feed._recent = deque(maxlen=KEPT)
        await asyncio.wrap_future(world.control.ask(many))
        assert world.control.feed.after(0, 1) is None
        async with caller(world, url) as client, _watching(client, after=0) as events:
            seen = await _next(events, KEPT + 12)
            await submitted(client, held=True)
            seen += await _next(events, 1)
        assert [int(event["id"]) for event in seen] == list(range(1, len(seen) + 1))

    _played(scenario)


def test_a_watcher_sees_only_the_jobs_of_its_teams() -> None:
    async def scenario(world: World, url: str) -> None:
        async with caller(world, url, "admin") as admin, caller(world, url, "other") as other:
            async with _watching(other) as theirs, _watching(admin, team="vision") as filtered:
                await submitted(admin, team="nlp", held=True)
                mine = await submitted(admin, team="vision", held=True)
                assert (await anext(theirs))["data"]["job"] == mine
                assert (await anext(filtered))["data"]["job"] == mine
            array = await submitted(admin, team="nlp", array="0-1", held=True)
            async with _watching(admin, job=array, after=0) as of_one:
                assert [event["data"]["job"] for event in await _next(of_one, 1)] == [array]
                await admin.post(f"/v1/jobs/{array}.1/release")
                assert (await anext(of_one))["data"]["job"] == f"{array}.1"

    _played(scenario)


def test_a_silent_stream_shows_that_it_is_alive() -> None:
    async def scenario(world: World, url: str) -> None:
        async with caller(world, url) as client, client.stream("GET", "/v1/events") as response:
            lines = response.aiter_lines()
            assert [await anext(lines) for _ in range(3)] == [": welcome", "", ": still here"]

    _played(scenario, settings=Settings(heartbeat_s=0.01))


def test_there_is_room_for_so_many_watchers_and_one_that_leaves_makes_room() -> None:
    async def scenario(world: World, url: str) -> None:
        async with caller(world, url) as client:
            async with _watching(client), _watching(client):
                refused = await client.get("/v1/events")
                assert refused.status_code == 429
                assert refused.headers["retry-after"] == "5"
            hub: Hub = world.app.state.services.hub

            async def is_empty() -> bool:
                return hub.places.taken == 0

            await eventually(is_empty)
            assert not hub._views
            async with _watching(client):
                assert hub.places.taken == 1

    _played(scenario, settings=Settings(watchers=2))


def test_stopping_ends_open_streams_in_good_order() -> None:
    async def play(world: World) -> None:
        async with (
            listening(world) as url,
            caller(world, url) as client,
            client.stream("GET", "/v1/events") as response,
        ):
            lines = response.aiter_lines()
            await anext(lines)
            world.app.state.server.should_exit = True
            assert [line async for line in lines if line] == []

    with a_world() as world:
        asyncio.run(asyncio.wait_for(play(world), DEADLINE_S))


def test_a_watcher_that_is_too_slow_is_let_go_and_the_others_are_not() -> None:
    async def scenario(world: World, url: str) -> None:
        hub: Hub = world.app.state.services.hub
        async with caller(world, url) as client, _watching(client) as events:
            slow = Watcher(view=Watched(teams=(EVERY_TEAM,)))
            hub._views[slow.view] = {slow: None}
            for _ in range(WATCHER_CHUNKS + 1):
                await submitted(client, held=True)
                await anext(events)
            assert slow.is_over
            assert len(slow.chunks) == WATCHER_CHUNKS
            await submitted(client, held=True)
            assert (await anext(events))["event"] == "job_submitted"
            del hub._views[slow.view]

    _played(scenario)


def test_what_many_see_alike_is_joined_up_once() -> None:
    view = Watched(teams=(TeamPath("nlp"),))

    async def scenario(world: World, url: str) -> None:
        hub: Hub = world.app.state.services.hub
        async with caller(world, url) as client, _watching(client) as events:
            pair = [Watcher(view=view), Watcher(view=view)]
            hub._views.setdefault(view, {}).update(dict.fromkeys(pair))
            await submitted(client, held=True)
            await anext(events)
            assert pair[0].chunks[0] is pair[1].chunks[0]

    _played(scenario)
