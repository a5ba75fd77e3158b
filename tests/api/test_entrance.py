"""The entrance: the caller is known before a body is read, no caller asks too often, and requests take turns."""

import asyncio
from threading import Event

import httpx
import pytest
import websockets

from muster.api.deps import Settings
from muster.api.front.fair_queue import FairQueue
from muster.api.front.rates import Rates
from muster.api.streams.stream_limit import StreamLimit
from muster.model.access import Token
from muster.model.client_limits import (
    BODY_BYTES,
    BODY_ERRORS,
    DENIED_REQUESTS,
    JOB_BODY_BYTES,
    STRANGERS_AT_ONCE,
    TURNS,
    WRITES,
)
from muster.model.errors import TooMany
from tests.api.listening import listening
from tests.api.world import DEADLINE_S, World, a_world, job_file, played, submitted


class Clock:
    """Stands still until it is told."""

    def __init__(self) -> None:
        self.now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


def test_a_bucket_fills_as_time_passes_and_never_beyond_its_size() -> None:
    clock = Clock()
    rates = Rates(10, 3, now_s=clock)
    assert [rates.take("ada") for _ in range(4)] == [0, 0, 0, pytest.approx(0.1)]
    assert rates.take("bob") == 0
    clock.now_s += 0.11
    assert [rates.take("ada") > 0 for _ in range(2)] == [False, True]
    clock.now_s += 3600
    assert [rates.take("ada") > 0 for _ in range(4)] == [False, False, False, True]


def test_a_dear_request_is_answered_and_those_behind_it_wait() -> None:
    clock = Clock()
    rates = Rates(10, 10, now_s=clock)
    assert rates.take("ada", 15) == 0
    assert rates.wait_s("ada") == pytest.approx(0.6)
    rates.charge("ada", 1_000_000)
    assert rates.wait_s("ada") == pytest.approx(1.1)  # What a caller owes is bounded too.


def test_turns_are_shared_and_a_newcomer_does_not_wait_behind_a_crowd() -> None:
    async def play() -> None:
        turns = FairQueue(2, each=1, alone=2, waiting=100)
        for _ in range(2):
            await turns.enter("busy")
        crowd = [asyncio.ensure_future(turns.enter("busy")) for _ in range(50)]
        await asyncio.sleep(0)
        await asyncio.wait_for(turns.enter("new"), DEADLINE_S)
        assert not any(task.done() for task in crowd)
        second = asyncio.ensure_future(turns.enter("new"))
        await asyncio.sleep(0)
        turns.leave("new")
        await asyncio.wait_for(second, DEADLINE_S)  # It had fewest, so it was next.
        turns.leave("new")
        for _ in range(50):
            turns.leave("busy")
            await asyncio.sleep(0)
        assert all(task.done() for task in crowd)

    asyncio.run(play())


def test_a_caller_that_is_alone_has_more_turns_until_another_comes() -> None:
    async def play() -> None:
        turns = FairQueue(1, each=1, alone=3, waiting=10)
        for _ in range(3):
            await turns.enter("busy")
        await turns.enter("new")
        more = asyncio.ensure_future(turns.enter("busy"))
        for _ in range(3):
            turns.leave("busy")
            await asyncio.sleep(0)
        assert more.done()  # It had none left, and one is always its own.
        second = asyncio.ensure_future(turns.enter("busy"))
        await asyncio.sleep(0)
        assert not second.done()
        turns.leave("new")
        await asyncio.wait_for(second, DEADLINE_S)

    asyncio.run(play())


def test_too_many_that_wait_are_sent_away_and_one_that_leaves_gives_its_turn_on() -> None:
    async def play() -> None:
        turns = FairQueue(1, each=1, alone=1, waiting=2)
        await turns.enter("ada")
        waiting = [asyncio.ensure_future(turns.enter("ada")) for _ in range(2)]
        await asyncio.sleep(0)
        with pytest.raises(TooMany):
            await turns.enter("ada")
        turns.leave("ada")
        waiting[0].cancel()  # It was let in a moment ago, and does not know yet.
        await asyncio.wait_for(waiting[1], DEADLINE_S)

    asyncio.run(play())


def test_one_subject_does_not_take_the_places_of_all() -> None:
    places = StreamLimit(3, "streams", each=2)
    places.enter("ada")
    places.enter("ada")
    with pytest.raises(TooMany, match="ada has 2 streams open"):
        places.enter("ada")
    places.enter("bob")
    with pytest.raises(TooMany, match="3 streams are open"):
        places.enter("eve")
    places.leave("ada")
    places.enter("eve")
    assert places.taken == 3


async def _said(url: str, request: bytes) -> bytes:
    """What a server says to bytes before it hangs up or waits for more."""
    reader, writer = await asyncio.open_connection("127.0.0.1", int(url.rpartition(":")[2]))
    writer.write(request)
    try:
        return await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), DEADLINE_S)
    finally:
        writer.close()


@pytest.mark.parametrize("method", ["POST /v1/jobs", "PUT /v1/tiers", "POST /v1/tokens", "POST /v1/nowhere"])
def test_a_caller_is_asked_for_a_token_before_its_body_is_read(method: str) -> None:
    async def play(world: World) -> None:
        async with listening(world) as url:
            head = f"{method} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 200000\r\n"
            for wrong in ("", "Authorization: Bearer muster_1_2\r\n"):
                # Not one byte of the body is sent, and the answer comes all the same.
                assert (await _said(url, f"{head}{wrong}\r\n".encode())).startswith(b"HTTP/1.1 401 ")

    with a_world() as world:
        asyncio.run(asyncio.wait_for(play(world), DEADLINE_S))


def test_a_caller_that_asks_too_often_is_told_when_to_come_again() -> None:
    async def scenario(world: World, client: httpx.AsyncClient) -> None:
        statuses = [(await client.get("/v1/whoami")).status_code for _ in range(4)]
        assert statuses == [200, 200, 200, 429]
        refused = await client.get("/v1/whoami")
        assert refused.headers["content-type"] == "application/problem+json"
        assert (refused.json()["code"], refused.json()["retry_helps"]) == ("too_many", True)
        assert int(refused.headers["retry-after"]) >= 1
        async with world.client("colleague") as other:
            assert (await other.get("/v1/whoami")).status_code == 200

    played(scenario, settings=Settings(requests_per_s=1, requests_at_once=3))


def test_requests_that_wait_for_the_disk_keep_no_turn() -> None:
    async def scenario(world: World, client: httpx.AsyncClient) -> None:
        services, disk = world.app.state.services, Event()
        world.control.ask(lambda *_: disk.wait(DEADLINE_S))
        async with world.client("colleague") as other:
            sending = [
                asyncio.ensure_future(each.post("/v1/jobs", json={"job": job_file()}))
                for each in (client, other)
                for _ in range(TURNS)
            ]
            async with asyncio.timeout(DEADLINE_S):
                while services.writes._taken.total() < 2 * TURNS:
                    await asyncio.sleep(0.001)
            assert services.turns._taken.total() == 0
            assert (await client.get("/v1/whoami")).status_code == 200
            disk.set()
            assert {(await each).status_code for each in sending} == {201}
        assert services.writes._taken.total() == 0

    played(scenario)


def test_one_subject_leaves_room_at_the_writer_for_others() -> None:
    async def scenario(world: World, client: httpx.AsyncClient) -> None:
        services, disk = world.app.state.services, Event()
        world.control.ask(lambda *_: disk.wait(DEADLINE_S))
        sending = [
            asyncio.ensure_future(client.post("/v1/jobs", json={"job": job_file()})) for _ in range(WRITES + TURNS)
        ]
        async with asyncio.timeout(DEADLINE_S):
            while services.writes._taken["member"] < WRITES:
                await asyncio.sleep(0.001)
        async with world.client("colleague") as other:
            newcomer = asyncio.ensure_future(other.post("/v1/jobs", json={"job": job_file()}))
            async with asyncio.timeout(DEADLINE_S):
                while not services.writes._taken["colleague"]:
                    await asyncio.sleep(0.001)
            assert services.writes._taken["member"] == WRITES
            disk.set()
            assert {(await each).status_code for each in [*sending, newcomer]} == {201}

    played(scenario)


def test_a_long_body_and_a_denial_count_as_several_requests() -> None:
    async def scenario(world: World, client: httpx.AsyncClient) -> None:
        left = world.app.state.services.rates._present
        await client.post("/v1/jobs", json={"job": job_file(run="x" * 100_000)})
        after_body = left("member")
        assert 2_000 - after_body > 40
        assert (await client.get("/v1/jobs/job-99")).status_code == 404
        assert after_body - left("member") >= DENIED_REQUESTS

    played(scenario, settings=Settings(requests_per_s=1, requests_at_once=2_000))


def test_a_caller_that_guesses_tokens_is_slowed_and_others_at_its_address_are_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def scenario(world: World, client: httpx.AsyncClient) -> None:
        async with world.client("member") as member:
            assert (await member.get("/v1/whoami")).status_code == 200
            world.app.state.services.strangers.charge("127.0.0.1", 2 * STRANGERS_AT_ONCE)
            lookups: list[str] = []
            find = world.deps.tokens.find

            def noting(digest: str) -> Token | None:
                lookups.append(digest)
                return find(digest)

            monkeypatch.setattr(world.deps.tokens, "find", noting)
            guess = {"Authorization": f"Bearer {GUESS}"}
            assert (await client.get("/v1/whoami", headers=guess)).status_code == 429
            assert not lookups
            world.clock.advance(60_000)
            assert (await member.get("/v1/whoami")).status_code == 200

    played(scenario, who=None)


GUESS = "muster_000000000000_" + "a" * 43


def test_a_caller_that_guesses_tokens_over_a_websocket_is_slowed_as_well() -> None:
    async def guessed(url: str) -> int:
        header = {"Authorization": f"Bearer {GUESS}"}
        try:
            async with websockets.connect(f"{url}/v1/jobs/job-1/attach", additional_headers=header):
                return 101
        except websockets.InvalidStatus as refused:
            return refused.response.status_code

    async def play(world: World) -> None:
        async with listening(world) as url:
            statuses = [await guessed(url.replace("http", "ws")) for _ in range(4)]
        assert statuses == [401, 401, 429, 429]
        assert world.tokens.asked == 2

    with a_world(settings=Settings(strangers_at_once=2)) as world:
        world.app.state.services.strangers._per_s = 0.001
        asyncio.run(asyncio.wait_for(play(world), DEADLINE_S))


def test_a_caller_that_guesses_tokens_for_figures_is_slowed_as_well() -> None:
    async def scenario(world: World, client: httpx.AsyncClient) -> None:
        world.app.state.services.strangers._per_s = 0.001
        guess = {"Authorization": f"Bearer {GUESS}"}
        statuses = [(await client.get("/metrics", headers=guess)).status_code for _ in range(4)]
        assert statuses == [401, 401, 429, 429]

    played(scenario, who=None, settings=Settings(strangers_at_once=2))


def test_what_is_no_job_file_may_not_be_as_long() -> None:
    async def scenario(world: World, client: httpx.AsyncClient) -> None:
        job = await submitted(client, held=True)
        kind = {"content-type": "application/json"}
        text = b'{"reason": "' + b"x" * BODY_BYTES + b'"}'
        assert (await client.post(f"/v1/jobs/{job}/cancel", content=text, headers=kind)).status_code == 413
        body = {"job": job_file(run="#" * (JOB_BODY_BYTES - 5_000))}
        assert (await client.post("/v1/jobs", json=body)).status_code == 201
        body = {"job": job_file(run="#" * JOB_BODY_BYTES)}
        refused = await client.post("/v1/jobs", json=body)
        assert (refused.status_code, refused.headers["connection"]) == (413, "close")
        refused = await client.post("/v1/jobs", json=body, headers={"Authorization": "Bearer wrong"})
        assert (refused.status_code, refused.headers["connection"]) == (401, "close")

    played(scenario)


def test_of_many_mistakes_a_few_are_told() -> None:
    async def scenario(world: World, client: httpx.AsyncClient) -> None:
        for body in ({f"k{number}": 1 for number in range(500)}, {"job": {f"k{number}": 1 for number in range(5_000)}}):
            answer = await client.post("/v1/jobs", json=body)
            assert answer.status_code == 422
            assert len(answer.json()["errors"]) <= BODY_ERRORS
            assert len(answer.content) < 20_000

    played(scenario)


def test_a_page_of_long_scripts_ends_early_and_none_is_lost() -> None:
    async def scenario(world: World, client: httpx.AsyncClient) -> None:
        for _ in range(4):
            await submitted(client, held=True, run="#" * 300_000)
        found, cursor, pages = [], None, 0
        while pages == 0 or cursor:
            page = (await client.get("/v1/jobs", params={"cursor": cursor} if cursor else {})).json()
            found += [job["id"] for job in page["items"]]
            cursor, pages = page["next"], pages + 1
            assert len(page["items"]) <= 2
        assert found == ["job-4", "job-3", "job-2", "job-1"]

    played(scenario)
