"""What processes are doing, and how far a training is, as the API shows it."""

import asyncio
from datetime import datetime

import httpx
import pytest

from muster.api.rendering.times import moment_of
from muster.live.watching.progress_watch import JobProgress
from muster.model.events import HangFound, ObservedEvent, StragglerFound, WorkersExited
from muster.model.ids import JobId, NodeName
from muster.model.telemetry import Hang, Straggler
from tests.api.world import World, eventually, played, submitted
from tests.builders import NOW_MS


async def _a_running_job(world: World, client: httpx.AsyncClient) -> str:
    job = await submitted(client)

    async def is_running() -> bool:
        world.control.nudge()
        return bool((await client.get(f"/v1/jobs/{job}")).json()["state"] == "running")

    await eventually(is_running)
    return job


async def _observed(world: World, event: ObservedEvent) -> None:
    await asyncio.wrap_future(world.control.ask(lambda engine, _: engine.observe(event)))


def test_the_stacks_of_a_running_job_are_shown_by_rank() -> None:
    async def scenario(world: World, client: httpx.AsyncClient) -> None:
        job = await _a_running_job(world, client)
        world.stacks[job] = {1: "File b.py", 0: "File a.py"}
        answer = await client.get(f"/v1/jobs/{job}/stacks")
        assert answer.json() == {
            "job": job,
            "attempt": 1,
            "stacks": [{"rank": 0, "stack": "File a.py"}, {"rank": 1, "stack": "File b.py"}],
        }

    played(scenario)


@pytest.mark.parametrize("stacks", [None, {}])
def test_a_job_whose_processes_cannot_tell_says_so(stacks: dict[int, str] | None) -> None:
    async def scenario(world: World, client: httpx.AsyncClient) -> None:
        job = await _a_running_job(world, client)
        if stacks is not None:
            world.stacks[job] = stacks
        answer = await client.get(f"/v1/jobs/{job}/stacks")
        assert answer.status_code == 404
        assert "doing" in answer.json()["detail"]

    played(scenario)


def test_a_job_without_processes_has_no_stacks() -> None:
    async def scenario(_: World, client: httpx.AsyncClient) -> None:
        job = await submitted(client, held=True)
        answer = await client.get(f"/v1/jobs/{job}/stacks")
        assert (answer.status_code, "has no processes" in answer.json()["detail"]) == (404, True)

    played(scenario)


def test_stacks_of_an_attempt_that_stood_still_are_kept() -> None:
    async def scenario(world: World, client: httpx.AsyncClient) -> None:
        job = await submitted(client, held=True)
        world.kept_stacks[job, 3] = {0: "File a.py"}
        kept = (await client.get(f"/v1/jobs/{job}/stacks?attempt=3")).json()
        assert (kept["attempt"], kept["stacks"]) == (3, [{"rank": 0, "stack": "File a.py"}])
        missing = await client.get(f"/v1/jobs/{job}/stacks?attempt=2")
        assert (missing.status_code, "attempt 2" in missing.json()["detail"]) == (404, True)

    played(scenario)


def test_progress_slow_ranks_and_hangs_are_shown() -> None:
    async def scenario(world: World, client: httpx.AsyncClient) -> None:
        job = await _a_running_job(world, client)
        shown = (await client.get(f"/v1/jobs/{job}")).json()
        assert (shown["progress"], shown["stragglers"], shown["hang"]) == (None, [], None)
        world.progress[job] = JobProgress(attempt=1, step=7, last_step_ms=NOW_MS, p50_us=1_500_000, p99_us=2_000_000)
        straggler = Straggler(
            rank=2, worker=0, node=NodeName("n1"), gpus=(3,), slowdown_milli=1310, since_ms=NOW_MS, usual_milli=1000
        )
        hang = Hang(since_ms=NOW_MS, ranks=(0, 2), step=7)
        found = StragglerFound(at_ms=NOW_MS, job=JobId(job), attempt=1, straggler=straggler)
        await _observed(world, found)
        await _observed(world, HangFound(at_ms=NOW_MS, job=JobId(job), attempt=1, hang=hang, stacks="stacks.txt"))
        shown = (await client.get(f"/v1/jobs/{job}")).json()
        last = shown["progress"].pop("last_step_at")
        assert shown["progress"] == {"step": 7, "step_s": {"p50": 1.5, "p99": 2.0}}
        (slow,) = shown["stragglers"]
        assert {key: slow[key] for key in ("rank", "node", "gpus", "slowdown", "usual")} == {
            "rank": 2,
            "node": "n1",
            "gpus": [3],
            "slowdown": 1.31,
            "usual": 1,
        }
        assert shown["hang"] == {"since": last, "ranks": [0, 2], "step": 7}
        events = (await client.get(f"/v1/jobs/{job}/events")).json()["items"]
        kinds = {each["kind"]: each for each in events}
        assert (kinds["straggler_found"]["slowdown"], kinds["hang_found"]["stacks"]) == (1.31, "stacks.txt")

    played(scenario)


def test_a_training_before_its_first_step_has_no_step_time() -> None:
    async def scenario(world: World, client: httpx.AsyncClient) -> None:
        job = await submitted(client, held=True)
        world.progress[job] = JobProgress(attempt=1, step=0, last_step_ms=None, p50_us=None, p99_us=None)
        shown = (await client.get(f"/v1/jobs/{job}")).json()
        assert shown["progress"] == {"step": 0, "step_s": None, "last_step_at": None}

    played(scenario)


def test_the_last_step_of_a_job_that_has_ended_is_what_its_workers_said_and_needs_no_memory() -> None:
    async def scenario(world: World, client: httpx.AsyncClient) -> None:
        job = await _a_running_job(world, client)
        world.progress[job] = JobProgress(attempt=1, step=7, last_step_ms=NOW_MS, p50_us=1_500_000, p99_us=2_000_000)
        record = world.control.ask(lambda engine, _: engine.job(JobId(job))).result(20)
        end = WorkersExited(
            at_ms=NOW_MS + 9_000,
            job=record.id,
            attempt=1,
            generation=record.generation,
            ranks=tuple(worker.rank for worker in record.workers),
            exit_code=0,
            step=12,
            step_ms=NOW_MS + 8_000,
        )
        await _observed(world, end)
        for step_s in ({"p50": 1.5, "p99": 2.0}, None):
            shown = (await client.get(f"/v1/jobs/{job}")).json()
            assert shown["state"] == "succeeded"
            assert (shown["progress"]["step"], shown["progress"]["step_s"]) == (12, step_s)
            assert datetime.fromisoformat(shown["progress"]["last_step_at"]) == moment_of(NOW_MS + 8_000)
            world.progress.clear()  # as after a restart of the server

    played(scenario)
