"""Simulations that a server runs: from the present and from history, compared, reported, bounded, cancelled."""

import sys
from dataclasses import replace
from typing import Any

import httpx

from muster.api.app import create_app
from muster.main import SIMULATOR
from muster.model.ids import JobId
from tests.api.world import FOREVER, World, eventually, played, submitted

DEAF = (sys.executable, "-c", "import time; time.sleep(600)")
"""A simulator that never says anything."""

MUTE = (sys.executable, "-c", "pass")


def _with(world: World, simulator: tuple[str, ...]) -> httpx.AsyncClient:
    """The same server with this simulator."""
    world.app.state.services.close()
    world.app = create_app(replace(world.deps, simulator=simulator))
    headers = {"Authorization": f"Bearer {world.secrets['operator']}"}
    return httpx.AsyncClient(transport=httpx.ASGITransport(world.app), base_url="http://localhost", headers=headers)


async def _ended(client: httpx.AsyncClient, run: str) -> dict[str, Any]:
    async def is_over() -> bool:
        return (await client.get(f"/v1/what-if/{run}")).json()["state"] not in ("waiting", "running")

    await eventually(is_over)
    found: dict[str, Any] = (await client.get(f"/v1/what-if/{run}")).json()
    return found


async def _one_that_runs(world: World) -> None:
    for number in (1, 2):
        world.backend.script(JobId(f"job-{number}"), FOREVER)
    async with world.client("member") as member:
        await submitted(member, gpus=8, workers=2, max_duration="1h")
        await submitted(member, gpus=8, workers=4, max_duration="1h")


def test_the_present_with_twice_the_nodes_waits_less_and_the_report_runs_only_its_own_scripts() -> None:
    async def scenario(world: World, _client: httpx.AsyncClient) -> None:
        await _one_that_runs(world)
        async with _with(world, SIMULATOR) as client:
            asked = {"origin": "present", "nodes": {"n1": 8}}
            made = (await client.post("/v1/what-if", json=asked)).json()
            assert (made["jobs"], made["asked"]) == (2, asked)
            run = await _ended(client, made["id"])
            assert (run["state"], run["problem"], run["done"]) == ("done", None, 1.0)
            assert run["today"]["jobs"] == run["changed"]["jobs"] == run["changed"]["finished"] == 2
            assert run["changed"]["wait_mean_s"] < run["today"]["wait_mean_s"]
            assert set(run["today"]["wait_mean_by_team_s"]) == {"nlp"}
            listed = (await client.get("/v1/what-if")).json()
            assert [each["id"] for each in listed["runs"]] == [made["id"]]
            assert "easy" in [each["name"] for each in listed["policies"]]
            await _check_report(client, made["id"])
        assert [entry.action for entry in world.store.audit][-1] == "what_if.start"

    played(scenario)


async def _check_report(client: httpx.AsyncClient, run: str) -> None:
    link = (await client.post(f"/v1/what-if/{run}/report-links")).json()["path"]
    del client.headers["Authorization"]
    report = await client.get(link)
    assert report.status_code == 200
    policy = report.headers["content-security-policy"]
    assert policy.startswith("sandbox allow-scripts; default-src 'none'; script-src 'sha256-")
    assert "allow-same-origin" not in policy
    assert "'unsafe-inline'" not in policy.partition("style-src")[0]
    assert report.headers["x-frame-options"] == "SAMEORIGIN"
    assert "<h1>What if</h1>" in report.text
    assert (await client.get(link)).status_code == 404


def test_a_question_that_cannot_be_answered_says_what_is_wrong() -> None:
    async def scenario(world: World, _client: httpx.AsyncClient) -> None:
        async with _with(world, SIMULATOR) as client:
            wrong: list[tuple[dict[str, Any], str]] = [
                ({"origin": "present"}, "no job with GPUs runs or waits now"),
                ({"origin": "history"}, "no job with GPUs has run and ended"),
                ({"policy": "tetris"}, "there is no policy 'tetris'; choose from: fifo"),
                ({"settings": {"order": "upwards"}}, "order"),
                ({"teams": {"chess": {"weight": 2}}}, "there is no team chess"),
                ({"nodes": {"n9": 4}}, "there is no node n9"),
                ({"nodes": {"n1": 0}}, "a cluster has at least one node"),
            ]
            for body, problem in wrong:
                answer = await client.post("/v1/what-if", json=body)
                assert answer.status_code == 422, answer.text
                assert problem in answer.json()["detail"]

    played(scenario)


def test_simulations_wait_for_one_another_up_to_a_bound_and_can_be_cancelled() -> None:
    async def scenario(world: World, _client: httpx.AsyncClient) -> None:
        await _one_that_runs(world)
        async with _with(world, DEAF) as client:
            answers = [await client.post("/v1/what-if", json={"origin": "present"}) for _ in range(6)]
            assert [each.status_code for each in answers] == [201] * 5 + [429]
            first = answers[0].json()["id"]
            assert (await client.post(f"/v1/what-if/{first}/report-links")).status_code == 409
            for each in answers[:5]:
                gone = await client.delete(f"/v1/what-if/{each.json()['id']}")
                assert gone.json()["state"] == "cancelled"
            assert (await client.post("/v1/what-if", json={"origin": "present"})).status_code == 201
        assert [entry.action for entry in world.store.audit].count("what_if.cancel") == 5

    played(scenario)


def test_a_simulator_that_ends_without_an_answer_is_a_failure_that_is_told() -> None:
    async def scenario(world: World, _client: httpx.AsyncClient) -> None:
        await _one_that_runs(world)
        for simulator, problem in ((MUTE, "took too long or too much memory"), (("/nowhere",), "could not be run")):
            async with _with(world, simulator) as client:
                made = (await client.post("/v1/what-if", json={"origin": "present"})).json()
                run = await _ended(client, made["id"])
                assert run["state"] == "failed"
                assert problem in run["problem"]

    played(scenario)
