"""A standby's API: reads are answered from its own views, and everything else by the leader, in the caller's name."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace

import httpx
import websockets

from muster.api.app import create_app
from muster.live.leadership.candidacy import Candidacy
from muster.live.leadership.follower import Follower
from muster.live.leadership.silent_backend import SilentBackend
from muster.model.machines.lease import LeaseHolder, LeaseRecord
from muster.store.memory import MemoryStates
from tests.api.listening import listening
from tests.api.world import DEADLINE_S, World, a_world, job_file, submitted


class LeaseOfLeader:
    """A lease that names an address."""

    def __init__(self, url: str) -> None:
        self._record = LeaseRecord(epoch=1, holder=LeaseHolder(id="leader", url=url))

    def read(self) -> LeaseRecord:
        return self._record

    def want(self, holder: str) -> None:
        raise AssertionError(holder)


def a_standby(world: World, leader_url: str) -> tuple[World, Follower]:
    """Another control plane on the same store, whose leader listens at this address."""
    candidacy = Candidacy(LeaseOfLeader(leader_url), LeaseHolder(id="standby", url="http://standby"))
    follower = Follower(log=world.store, states=MemoryStates(), candidacy=candidacy, on_turn=lambda: None)
    follower.look()
    deps = replace(world.deps, control=follower, stands_by=True, backend=SilentBackend(world.backend))
    return replace(world, app=create_app(deps), deps=deps), follower


Play = Callable[[World, World, Follower, httpx.AsyncClient, httpx.AsyncClient], Awaitable[None]]


def played_by_two(play: Play) -> None:
    """Play a scenario with a leader that listens, a standby, and a client of each."""

    async def with_both(world: World) -> None:
        async with listening(world) as url, _both(world, url) as (standby, follower, to_leader, to_standby):
            await play(world, standby, follower, to_leader, to_standby)

    with a_world() as world:
        asyncio.run(asyncio.wait_for(with_both(world), DEADLINE_S))


@asynccontextmanager
async def _both(world: World, url: str) -> AsyncIterator[tuple[World, Follower, httpx.AsyncClient, httpx.AsyncClient]]:
    standby, follower = a_standby(world, url)
    try:
        async with world.client("member") as to_leader, standby.client("member") as to_standby:
            yield standby, follower, to_leader, to_standby
    finally:
        await closed(standby)


async def closed(standby: World) -> None:
    standby.app.state.services.close()
    await standby.app.state.leader.close()


def test_a_change_is_made_by_the_leader_in_the_name_of_the_caller() -> None:
    async def play(
        world: World, _: World, follower: Follower, __: httpx.AsyncClient, client: httpx.AsyncClient
    ) -> None:
        body, key = {"job": job_file()}, {"Idempotency-Key": "k"}
        first = await client.post("/v1/jobs", json=body, headers=key)
        again = await client.post("/v1/jobs", json=body, headers=key)
        assert (first.status_code, first.json()["user"]) == (201, "member")
        assert again.json()["id"] == first.json()["id"]
        follower.follow()
        assert (await client.get(f"/v1/jobs/{first.json()['id']}")).json()["user"] == "member"
        assert world.control.view.version == follower.view.version

    played_by_two(play)


def test_reads_need_no_leader() -> None:
    async def play(
        _: World, standby: World, follower: Follower, to_leader: httpx.AsyncClient, __: httpx.AsyncClient
    ) -> None:
        job = await submitted(to_leader)
        alone, lonely = a_standby(standby, "http://127.0.0.1:9")
        lonely.follow()
        async with alone.client("member") as client:
            for path in ("/v1/jobs", f"/v1/jobs/{job}", "/v1/nodes", "/v1/queue", "/v1/teams", "/v1/history"):
                assert (await client.get(path)).status_code == 200, path
            health = (await client.get("/healthz")).json()
            assert (health["role"], health["leader"]) == ("standby", "http://127.0.0.1:9")
            refused = await client.post("/v1/jobs", json={"job": job_file()})
            assert (refused.status_code, refused.json()["code"]) == (503, "not_leading")
            assert refused.headers["Retry-After"] == "1"
        await closed(alone)
        assert follower.role == "standby"

    played_by_two(play)


def test_a_read_that_needs_the_leader_is_passed_on() -> None:
    async def play(
        _: World, __: World, follower: Follower, to_leader: httpx.AsyncClient, client: httpx.AsyncClient
    ) -> None:
        job = await submitted(to_leader)
        follower.follow()
        for path in (f"/v1/jobs/{job}/why", "/v1/health"):
            here, there = await client.get(path), await to_leader.get(path)
            assert (here.status_code, here.json().keys()) == (there.status_code, there.json().keys()), here.text

    played_by_two(play)


def test_the_leader_refuses_what_the_caller_may_not_do() -> None:
    async def play(world: World, standby: World, *_: object) -> None:
        async with standby.client("viewer") as viewer, standby.client(None) as nobody:
            refused = await viewer.post("/v1/jobs", json={"job": job_file()})
            assert refused.status_code == 403
            assert (await nobody.post("/v1/jobs", json={"job": job_file()})).status_code == 401
        assert not world.control.view.jobs

    played_by_two(play)


def test_what_was_passed_on_once_is_not_passed_on_again() -> None:
    async def play(world: World, standby: World, *_: object) -> None:
        async with standby.client("member") as client:
            answer = await client.post("/v1/jobs", json={"job": job_file()}, headers={"Muster-Forwarded": "1"})
        assert (answer.status_code, answer.json()["code"]) == (503, "not_leading")
        assert not world.control.view.jobs

    played_by_two(play)


def test_a_terminal_at_a_standby_is_one_at_the_leader() -> None:
    async def play(
        world: World, standby: World, follower: Follower, to_leader: httpx.AsyncClient, _: httpx.AsyncClient
    ) -> None:
        job = await submitted(to_leader, interactive={"idle_timeout": "1h"})
        world.terminals.jobs.append(job)
        follower.follow()
        header = {"Authorization": f"Bearer {world.secrets['member']}"}
        async with listening(standby) as url:
            address = f"{url.replace('http', 'ws')}/v1/jobs/{job}/attach"
            async with websockets.connect(address, additional_headers=header, compression=None) as socket:
                await socket.send(b"hi")
                assert await socket.recv() == b"HI"

    played_by_two(play)
