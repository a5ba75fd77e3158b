"""Names: the server answers to its own and to no page of another site; and what answers say to browsers."""

import asyncio

import httpx
import pytest
import websockets
from websockets.exceptions import InvalidStatus

from muster.api.deps import Audience, Settings
from muster.api.front.hosts import AllowedHosts, allowed_hosts
from tests.api.listening import caller, listening
from tests.api.world import DEADLINE_S, World, a_world, played, submitted


@pytest.mark.parametrize(
    "host", ["localhost", "LOCALHOST:8470", "127.0.0.1:1", "[::1]:80", "muster.localhost", "ours.example:9"]
)
@pytest.mark.parametrize("path", ["/v1/whoami", "/healthz", "/metrics", "/openapi.json"])
def test_it_answers_to_its_names(host: str, path: str) -> None:
    async def scenario(_: World, client: httpx.AsyncClient) -> None:
        assert (await client.get(path, headers={"Host": host})).status_code == 200

    played(scenario, who="admin", settings=Settings(hosts=allowed_hosts("127.0.0.1", ["Ours.example"])))


@pytest.mark.parametrize(
    "host",
    ["evil.example", "evil.example:8470", "localhost.evil.example", "127.0.0.1.evil.test", "10.0.0.1", "", "["],
)
@pytest.mark.parametrize("path", ["/v1/jobs", "/v1/events", "/healthz", "/metrics"])
def test_a_name_that_was_bent_to_it_gets_nothing(host: str, path: str) -> None:
    async def scenario(_: World, client: httpx.AsyncClient) -> None:
        answer = await client.get(path, headers={"Host": host})
        assert answer.status_code == 421
        assert answer.json()["code"] == "unknown_host"
        assert answer.headers["connection"] == "close"

    played(scenario, who="admin")


@pytest.mark.parametrize(
    ("origin", "status"),
    [
        ("http://localhost:3000", 200),
        ("https://127.0.0.1", 200),
        ("https://evil.example", 403),
        ("null", 403),
        ("http://localhost.evil.example", 403),
    ],
)
def test_pages_of_others_are_not_answered(origin: str, status: int) -> None:
    async def scenario(_: World, client: httpx.AsyncClient) -> None:
        assert (await client.get("/v1/whoami", headers={"Origin": origin})).status_code == status

    played(scenario)


def test_a_page_of_others_gets_no_terminal() -> None:
    async def play(world: World) -> None:
        async with listening(world) as url, caller(world, url) as client:
            job = await submitted(client, interactive={})
            world.terminals.jobs.append(job)
            address = f"{url.replace('http', 'ws')}/v1/jobs/{job}/attach"
            header = {"Authorization": f"Bearer {world.secrets['member']}"}
            for more in ({"Origin": "https://evil.example"}, {"Host": "evil.example"}):
                with pytest.raises(InvalidStatus) as refusal:
                    await websockets.connect(address, additional_headers={**header, **more})
                assert refusal.value.response.status_code in (403, 421, 400)

    with a_world() as world:
        asyncio.run(asyncio.wait_for(play(world), DEADLINE_S))


def test_a_server_for_a_network_answers_to_addresses_and_to_what_the_machine_is_called(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("muster.api.front.hosts.socket.gethostname", lambda: "Gpu1")
    monkeypatch.setattr("muster.api.front.hosts.socket.getfqdn", lambda: "gpu1.example")
    allowed = allowed_hosts("0.0.0.0", ["muster.example"])
    assert all(allowed.allows(name) for name in ("10.0.0.1", "::1", "gpu1", "gpu1.example", "muster.example"))
    assert not any(allowed.allows(name) for name in ("", "evil.example", "gpu2"))
    assert AllowedHosts(names=frozenset({"*"})).allows("anything")


@pytest.mark.parametrize(
    ("audience", "stranger", "passed_on"),
    [(Audience.LOOPBACK, 200, 401), (Audience.TOKEN, 401, 401), (Audience.OPEN, 200, 200)],
)
def test_figures_are_open_where_that_was_said(audience: Audience, stranger: int, passed_on: int) -> None:
    async def scenario(world: World, client: httpx.AsyncClient) -> None:
        assert (await client.get("/metrics")).status_code == stranger
        assert (await client.get("/metrics", headers={"X-Forwarded-For": "192.0.2.7"})).status_code == passed_on
        async with world.client("operator") as operator:
            assert (await operator.get("/metrics")).status_code == 200

    played(scenario, who=None, settings=Settings(metrics=audience))


def test_nothing_about_people_is_kept_by_caches() -> None:
    async def scenario(_: World, client: httpx.AsyncClient) -> None:
        for path in ("/v1/jobs", "/v1/whoami", "/v1/jobs/job-9", "/v1/nowhere", "/v1/queue", "/v1/export"):
            answer = await client.get(path)
            assert answer.headers["cache-control"] == "no-store"
            assert answer.headers["x-content-type-options"] == "nosniff"
            assert answer.headers["referrer-policy"] == "no-referrer"
        assert "cache-control" not in (await client.get("/openapi.json")).headers

    played(scenario)
