"""What was used over time, as it is sent."""

import asyncio
from typing import Any

import httpx

from muster.model.ids import DEFAULT_POOL
from muster.model.policy import HOUR_MS, Pool
from muster.model.records import evolve
from tests.api.world import RULES, World, a_world, eventually, submitted


async def after_an_hour(world: World, member: httpx.AsyncClient, **job: Any) -> dict[str, Any]:
    """The history once a job has run for an hour."""
    job_id = await submitted(member, **job)

    async def runs() -> bool:
        return bool((await member.get(f"/v1/jobs/{job_id}")).json()["started"])

    await eventually(runs)
    world.clock.advance(HOUR_MS)
    found: dict[str, Any] = (await member.get("/v1/history", params={"step": "1h"})).json()
    return found


def test_a_running_job_is_used_gpu_time_of_its_pool_tier_and_teams() -> None:
    async def ask(world: World) -> None:
        async with world.client("member") as member:
            answer = await after_an_hour(world, member, team="nlp/pre", resources={"gpus": 2})
            queue = (await member.get("/v1/queue")).json()
        (pool,) = answer["pools"].values()
        covered_s, team, below = sum(answer["covered_s"]), answer["teams"]["nlp"], answer["teams"]["nlp/pre"]
        assert answer["step_s"] == 3600
        assert 3600 <= covered_s < 3700
        assert abs(sum(pool["gpu_s"]) - 32 * covered_s) < 1e-6
        assert 7200 <= sum(pool["used_gpu_s"]["standard"]) < 7400
        assert list(answer["tiers"]) == list(queue["tiers"])
        assert sum(answer["tiers"]["standard"]["starts"]) == 1
        assert team["used_gpu_s"] == below["used_gpu_s"] == below["borrowed_gpu_s"]
        assert sum(team["borrowed_gpu_s"]) == 0  # eight are guaranteed
        assert team["cost"] is None

    with a_world() as world:
        asyncio.run(ask(world))


def test_cost_is_told_where_a_pool_has_a_price() -> None:
    async def ask(world: World) -> None:
        async with world.client("member") as member:
            answer = await after_an_hour(world, member, team="nlp", resources={"gpus": 4})
        team = answer["teams"]["nlp"]
        assert abs(sum(team["cost"]) - 2.5 * sum(team["used_gpu_s"]) / 3600) < 1e-9
        assert 10 <= sum(team["cost"]) < 10.3

    with a_world(rules=evolve(RULES, pools=(Pool(name=DEFAULT_POOL, price_milli=2500),))) as world:
        asyncio.run(ask(world))


def test_the_step_is_the_finest_that_reaches_back_unless_it_is_given() -> None:
    async def ask(world: World) -> None:
        async with world.client("member") as member:
            now = (await member.get("/v1/history")).json()["start"]

            async def step_s(**asked: str) -> int:
                found: int = (await member.get("/v1/history", params=asked)).json()["step_s"]
                return found

            assert await step_s() == 600
            assert await step_s(since=now) == 60
            assert await step_s(since=now, step="1d") == 86_400
            assert await step_s(since="1960-01-01T00:00:00Z") == 86_400
            assert (await member.get("/v1/history", params={"step": "7m"})).status_code == 422
            assert (await member.get("/v1/history", params={"since": "12"})).status_code == 422

    with a_world() as world:
        asyncio.run(ask(world))


def test_of_a_time_that_has_not_come_at_most_the_present_step_is_told() -> None:
    async def ask(world: World) -> None:
        async with world.client("member") as member:
            later = (await member.get("/v1/history", params={"since": "2200-01-01T00:00:00Z"})).json()
        assert len(later["covered_s"]) <= 1

    with a_world() as world:
        asyncio.run(ask(world))


def test_a_restart_loses_nothing_of_it() -> None:
    async def ask(world: World) -> None:
        async with world.client("member") as member:
            before = await after_an_hour(world, member, team="nlp", resources={"gpus": 1})
        world.control.stop()
        world.control._fold()
        async with world.client("member") as member:
            after = (await member.get("/v1/history", params={"step": "1h"})).json()
        assert after["tiers"] == before["tiers"]
        used = [sum(each["teams"]["nlp"]["used_gpu_s"]) for each in (before, after)]
        assert 0 <= used[1] - used[0] < 1

    with a_world() as world:
        asyncio.run(ask(world))


def test_the_share_of_a_team_is_what_it_used_and_uses_over_its_weight() -> None:
    async def ask(world: World) -> None:
        async with world.client("member") as member:
            await after_an_hour(world, member, team="nlp", resources={"gpus": 4})
            team = (await member.get("/v1/teams/nlp")).json()
        assert team["average_gpus"] >= 0
        assert abs(team["share"] - (team["average_gpus"] + 4) / team["weight"]) < 1e-5

    with a_world() as world:
        asyncio.run(ask(world))
