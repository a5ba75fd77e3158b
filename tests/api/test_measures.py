"""What a training measured of itself, over the API."""

import asyncio
from typing import Any

import httpx

from muster.backends.base import BatchStep, MeasuredStep
from muster.live.watching.progress_watch import JobProgress
from muster.model.events import StragglerFound
from muster.model.ids import JobId, NodeName
from muster.model.telemetry import RankProgress, Straggler
from tests.api.world import World, eventually, played, submitted
from tests.builders import NOW_MS


def test_measured_steps_are_listed_with_their_attempt_and_time() -> None:
    async def scenario(world: World, client: httpx.AsyncClient) -> None:
        job = await submitted(client)
        world.backend.steps_measured = [
            MeasuredStep(attempt=1, at_ms=0, step=10, values={"loss": 2.5}),
            MeasuredStep(attempt=2, at_ms=1_000, step=11, values={"loss": 2.25, "rate": 0.5}),
        ]
        answer = await client.get(f"/v1/jobs/{job}/measures")
        assert answer.json() == {
            "items": [
                {"attempt": 1, "at": "1970-01-01T00:00:00Z", "step": 10, "values": {"loss": 2.5}, "no_numbers": []},
                {
                    "attempt": 2,
                    "at": "1970-01-01T00:00:01Z",
                    "step": 11,
                    "values": {"loss": 2.25, "rate": 0.5},
                    "no_numbers": [],
                },
            ],
            "next": None,
        }

    played(scenario)


def _report(rank: int, *, steps: int, step: int = 7) -> RankProgress:
    return RankProgress(
        job=JobId("job-1"),
        attempt=1,
        at_ms=NOW_MS,
        rank=rank,
        world=2,
        worker=rank,
        node=NodeName(f"n{rank + 1}"),
        step=step,
        step_ms=0,
        steps=steps,
        step_us=1_500_000 if steps else 0,
        busy_us=250_000 if steps and rank else 0,
    )


async def _a_running_job(client: httpx.AsyncClient) -> str:
    job = await submitted(client)

    async def has_begun() -> bool:
        return bool((await client.get(f"/v1/jobs/{job}")).json()["attempt"])

    await eventually(has_begun)
    return job


def test_each_rank_has_its_last_measured_step_time_and_its_slowdown() -> None:
    async def scenario(world: World, client: httpx.AsyncClient) -> None:
        job = await _a_running_job(client)
        assert (await client.get(f"/v1/jobs/{job}/ranks")).json() == {"items": [], "next": None}
        slow = Straggler(rank=1, worker=1, node=NodeName("n2"), gpus=(0,), slowdown_milli=1310, since_ms=NOW_MS)
        found = StragglerFound(at_ms=NOW_MS, job=JobId(job), attempt=1, straggler=slow)
        await asyncio.wrap_future(world.control.ask(lambda engine, _: engine.observe(found)))
        world.progress[job] = JobProgress(
            attempt=1,
            step=8,
            last_step_ms=0,
            p50_us=None,
            p99_us=None,
            ranks=(_report(1, steps=0, step=8), _report(0, steps=0)),
            timed=(_report(1, steps=3),),
        )
        first, second = (await client.get(f"/v1/jobs/{job}/ranks")).json()["items"]
        assert first == {
            "rank": 0,
            "worker": 0,
            "node": "n1",
            "step": 7,
            "last_step_at": "1970-01-01T00:00:00Z",
            "step_s": None,
            "busy_s": None,
            "saving": False,
            "slowdown": None,
        }
        assert (second["step"], second["step_s"], second["busy_s"], second["slowdown"]) == (8, 1.5, 0.25, 1.31)

    played(scenario)


def test_ranks_of_an_attempt_that_is_over_are_not_shown() -> None:
    async def scenario(world: World, client: httpx.AsyncClient) -> None:
        job = await _a_running_job(client)
        world.progress[job] = JobProgress(
            attempt=7, step=8, last_step_ms=0, p50_us=None, p99_us=None, ranks=(_report(0, steps=1),)
        )
        assert (await client.get(f"/v1/jobs/{job}/ranks")).json()["items"] == []

    played(scenario)


def test_the_steps_of_a_batch_job_are_listed() -> None:
    async def scenario(world: World, client: httpx.AsyncClient) -> None:
        job = await submitted(client)
        size: dict[str, Any] = {"tasks": 1, "cpus": 2, "gpus": 0, "nodes": ("n1",)}
        world.backend.steps_recorded = [
            BatchStep(step="batch", name="batch", began_ms=0, **size),
            BatchStep(step="0", name="true", began_ms=1_000, ended_ms=2_000, code=0, cpu_ms=1_500, **size),
        ]
        items = (await client.get(f"/v1/jobs/{job}/steps")).json()["items"]
        assert [(each["step"], each["ended"], each["exit_code"], each["cpu_s"]) for each in items] == [
            ("batch", None, None, None),
            ("0", "1970-01-01T00:00:02Z", 0, 1.5),
        ]

    played(scenario)
