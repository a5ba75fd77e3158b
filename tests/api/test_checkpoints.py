"""What a job has saved, over the API: listing, verifying, removing."""

from typing import Any

import httpx
import pytest

from muster.backends.base import FoundCheckpoint
from muster.engine.engine import Engine
from muster.model.errors import Unavailable
from muster.model.events import CheckpointUploaded, ShardsSaved
from muster.model.ids import JobId, NodeName
from tests.api.world import World, eventually, played, submitted

SAVES = {"checkpoint": {"path": "s3://bucket/run/"}}


async def _running(world: World, client: httpx.AsyncClient, **keys: Any) -> str:
    """A job that runs and can resume."""
    job = await submitted(client, gpus=2, **(keys or SAVES))

    async def is_in(state: str) -> bool:
        return str((await client.get(f"/v1/jobs/{job}")).json()["state"]) == state

    await eventually(lambda: is_in("starting"))
    world.backend.advance(world.clock.now_ms() + 10_000)
    world.control.nudge()
    await eventually(lambda: is_in("running"))
    return job


async def _saved(world: World, job: str, *steps: int, ranks: tuple[int, ...] = (0, 1), took_ms: int = 0) -> None:
    """All ranks, or some, have saved these steps."""

    def observed(engine: Engine, now_ms: int) -> int:
        return engine.observe(
            *(
                ShardsSaved(
                    at_ms=now_ms,
                    job=JobId(job),
                    attempt=1,
                    node=NodeName("n1"),
                    step=step,
                    world=2,
                    ranks=ranks,
                    bytes=1000,
                    cost_ms=800,
                    took_ms=took_ms,
                )
                for step in steps
            )
        )

    world.control.ask(observed).result(20)


async def _listed(client: httpx.AsyncClient, job: str) -> list[dict[str, Any]]:
    answer = await client.get(f"/v1/jobs/{job}/checkpoints")
    assert answer.status_code == 200, answer.text
    items: list[dict[str, Any]] = answer.json()["items"]
    return items


async def _ended(world: World, client: httpx.AsyncClient, job: str) -> None:
    """Cancel a job and wait until it has left."""
    await client.post(f"/v1/jobs/{job}/cancel")
    world.backend.advance(world.clock.now_ms() + 600_000)
    world.control.nudge()

    async def has_ended() -> bool:
        return str((await client.get(f"/v1/jobs/{job}")).json()["state"]) == "cancelled"

    await eventually(has_ended)


def test_checkpoints_are_listed_with_where_they_are() -> None:
    async def scenario(world: World, client: httpx.AsyncClient) -> None:
        job = await _running(world, client)
        assert await _listed(client, job) == []
        await _saved(world, job, 10)
        await _saved(world, job, 20, ranks=(1,))
        world.control.ask(
            lambda engine, now: engine.observe(CheckpointUploaded(at_ms=now, job=JobId(job), attempt=1, step=10))
        ).result(20)
        first, second = await _listed(client, job)
        assert first.pop("at").endswith("Z")
        assert first == {
            "step": 10,
            "bytes": 1000,
            "ranks": 2,
            "complete": True,
            "verified": None,
            "where": ["hot", "durable"],
            "path": "s3://bucket/run/step-000000000010",
            "problem": None,
            "unread": None,
        }
        assert (second["complete"], second["where"]) == (False, ["hot"])

    played(scenario)


def test_a_job_says_how_often_it_saves_itself_and_why() -> None:
    async def scenario(world: World, client: httpx.AsyncClient) -> None:
        job = await _running(world, client)

        async def saves() -> dict[str, Any]:
            found: dict[str, Any] = (await client.get(f"/v1/jobs/{job}")).json()["saves"]
            return found

        assert (await saves())["because"] == "no save was measured yet"
        await _saved(world, job, 10)
        assert (await saves())["because"].startswith("a save stalls 0.8 s, one interruption per ")
        other = await _running(world, client, checkpoint={"path": "/c", "every": "15m"})
        answer = (await client.get(f"/v1/jobs/{other}")).json()["saves"]
        assert answer == {"every_s": 900, "because": "the job file says so", "upload_problem": None}
        for took_ms, told in (
            (60_000, ""),
            (200_000, "; a save takes 200.0 s until it is safe, so each begins 500.0 s after the one before"),
            (600_000, "; but a save takes 600.0 s until it is safe, so up to 1350.0 s of work may be lost"),
        ):
            await _saved(world, other, took_ms, took_ms=took_ms)
            answer = (await client.get(f"/v1/jobs/{other}")).json()["saves"]
            assert answer["because"] == f"the job file says so{told}"

    played(scenario)


def test_files_are_verified_by_the_backend() -> None:
    async def scenario(world: World, client: httpx.AsyncClient) -> None:
        job = await _running(world, client)
        world.backend.stored = [
            FoundCheckpoint(step=10, ranks=2, is_complete=True, is_verified=True, places=("hot",)),
            FoundCheckpoint(step=20, ranks=2, is_complete=True, is_verified=False, problems=("x differs", "y is gone")),
        ]
        answer = await client.post(f"/v1/jobs/{job}/checkpoints/verify")
        assert [(each["step"], each["verified"], each["problem"]) for each in answer.json()["items"]] == [
            (10, True, None),
            (20, False, "x differs; y is gone"),
        ]
        one = await client.post(f"/v1/jobs/{job}/checkpoints/verify", json={"step": 20})
        assert [each["step"] for each in one.json()["items"]] == [20]
        none = await client.post(f"/v1/jobs/{job}/checkpoints/verify", json={"step": 30})
        assert none.status_code == 404

    played(scenario)


def test_the_only_good_checkpoint_of_a_job_that_goes_on_stays() -> None:
    async def scenario(world: World, client: httpx.AsyncClient) -> None:
        job = await _running(world, client)
        await _saved(world, job, 10, 20)
        world.backend.stored = [FoundCheckpoint(step=step, ranks=2) for step in (10, 20)]
        assert (await client.delete(f"/v1/jobs/{job}/checkpoints/20")).status_code == 204
        assert [each["step"] for each in await _listed(client, job)] == [10]
        assert [each.step for each in world.backend.stored] == [10]
        refused = await client.delete(f"/v1/jobs/{job}/checkpoints/10")
        assert refused.status_code == 409
        assert "only good checkpoint" in refused.json()["detail"]
        assert [each.step for each in world.backend.stored] == [10]

    played(scenario)


def test_of_a_job_that_has_ended_what_is_in_storage_is_listed_and_can_go() -> None:
    async def scenario(world: World, client: httpx.AsyncClient) -> None:
        job = await _running(world, client)
        await _ended(world, client, job)
        [run] = world.backend.runs_over
        assert run.startswith(f"{job}-"), "nodes may remove their hot checkpoints"
        world.backend.stored = [FoundCheckpoint(step=10, ranks=2, is_complete=True, places=("durable",))]
        assert [each["where"] for each in await _listed(client, job)] == [["durable"]]
        assert (await client.delete(f"/v1/jobs/{job}/checkpoints/10")).status_code == 204
        assert await _listed(client, job) == []

    played(scenario)


def test_while_storage_is_away_what_is_known_of_an_ended_job_is_listed_and_why_no_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def scenario(world: World, client: httpx.AsyncClient) -> None:
        job = await _running(world, client)
        await _saved(world, job, 10, 20)
        uploaded = CheckpointUploaded(at_ms=world.clock.now_ms(), job=JobId(job), attempt=1, step=20)
        world.control.ask(lambda engine, _: engine.observe(uploaded)).result(20)
        await _ended(world, client, job)
        other = await _running(world, client)
        await _saved(world, other, 10)
        await _ended(world, client, other)

        def away(*_: object, **__: object) -> None:
            raise Unavailable("the checkpoints cannot be read: no route to host")

        monkeypatch.setattr(world.backend, "stored_checkpoints", away)
        nothing = await client.get(f"/v1/jobs/{other}/checkpoints")
        assert nothing.status_code == 503, "nothing is known to be in storage, so an empty list would be a guess"
        [known] = await _listed(client, job)
        assert (known["step"], known["complete"], known["verified"], known["where"]) == (20, True, None, ["durable"])
        assert known["unread"] == "the checkpoints cannot be read: no route to host"

    played(scenario)
