"""No estimate is earlier than what forbids a start, and none is later than a start that the same answer tells."""

from datetime import UTC, datetime
from typing import Any

import httpx
import pytest

from muster.model.ids import JobId
from muster.model.policy import HOUR_MS
from tests.api.test_estimates import is_running
from tests.api.world import World, eventually, played, submitted


async def dry_run(client: httpx.AsyncClient, **fields: Any) -> dict[str, Any]:
    body = {
        "job": {"name": "tried", "team": "nlp", "run": "true", "resources": {"gpus": fields.pop("gpus", 8)}, **fields}
    }
    answer = await client.post("/v1/jobs?dry_run=true", json=body)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def wait_of(world: World, estimate: dict[str, str], key: str) -> float:
    return datetime.fromisoformat(estimate[key]).timestamp() - world.clock.now_ms() / 1000


def test_a_job_that_begins_in_two_hours_on_an_empty_cluster_is_not_estimated_to_start_before() -> None:
    async def scenario(world: World, client: httpx.AsyncClient) -> None:
        estimate = (await dry_run(client, begin="2h"))["estimate"]
        assert wait_of(world, estimate, "p50") == pytest.approx(2 * 3600, abs=5)
        assert 2 * 3600 - 5 <= wait_of(world, estimate, "p90") <= 2 * 3600 + 300

    played(scenario)


def test_a_submitted_job_that_begins_in_two_hours_is_told_what_its_dry_run_was_told() -> None:
    async def scenario(world: World, client: httpx.AsyncClient) -> None:
        job = await submitted(client, begin="2h")
        why = (await client.get(f"/v1/jobs/{job}/why")).json()
        assert [reason["code"] for reason in why["reasons"]] == ["begin"]
        assert wait_of(world, why["estimate"], "p50") == pytest.approx(2 * 3600, abs=5)
        assert (await client.get(f"/v1/jobs/{job}/why")).json()["estimate"] == why["estimate"]
        assert (await client.post(f"/v1/jobs/{job}/hold")).status_code == 200
        assert (await client.get(f"/v1/jobs/{job}/why")).json()["estimate"] is None

    played(scenario)


def test_a_job_whose_nodes_are_all_set_aside_is_not_estimated_to_start_before_their_end() -> None:
    async def scenario(world: World, client: httpx.AsyncClient) -> None:
        waiting = await set_aside_for_an_hour(world, client)
        why = (await client.get(f"/v1/jobs/{waiting}/why")).json()
        assert why["reasons"][0]["code"] == "reservation"
        assert wait_of(world, why["estimate"], "p50") >= 3600 - 5

    played(scenario)


def test_an_estimate_in_a_dry_run_is_not_later_than_the_start_that_it_tells() -> None:
    """A job that takes the place of another starts once that has left, which the dry run says."""

    async def scenario(world: World, client: httpx.AsyncClient) -> None:
        for number in range(4):
            await submitted(client, gpus=8, name=f"low-{number}", tier="exploratory", checkpoint={"path": "/c"})
        await eventually(lambda: is_running(world))
        world.clock.advance(HOUR_MS)
        tried = await dry_run(client, tier="standard")
        assert tried["preempts"]
        assert any("nothing needed: it starts on" in each["would_help"] for each in tried["reasons"])
        assert tried["estimate"]["basis"] == "promise"
        assert wait_of(world, tried["estimate"], "p90") < 120

    played(scenario)


async def set_aside_for_an_hour(world: World, client: httpx.AsyncClient) -> JobId:
    """Set all nodes aside for an hour, and return a job that waits for one of them."""
    now_s = world.clock.now_ms() // 1000
    nodes = [f"n{number}" for number in range(1, 5)]
    start, end = (datetime.fromtimestamp(now_s + after_s, UTC).isoformat() for after_s in (0, 3600))
    async with world.client("operator") as operator:
        answer = await operator.post(
            "/v1/reservations", json={"name": "fw", "nodes": nodes, "start": start, "end": end}
        )
    assert answer.status_code < 300, answer.text
    return await submitted(client, gpus=8, name="late", max_duration="30m")
