"""`GET /v1/jobs/{job}/story`: how a job got where it is, in words."""

from pathlib import Path

import httpx
import pytest

from muster.api.deps import Settings
from muster.api.problems.concealing import concealing
from muster.engine.engine import Engine
from muster.model.events import NodeLost
from muster.model.ids import NodeName
from tests.api.world import World, eventually, played, submitted

START_MS = 10_000
"""Longer than the pretended workers need to come up, and shorter than they run."""


async def _texts(client: httpx.AsyncClient, job: str) -> list[str]:
    answer = await client.get(f"/v1/jobs/{job}/story")
    assert answer.status_code == 200, answer.text
    return [each["text"] for each in answer.json()["sentences"]]


async def _runs(world: World, client: httpx.AsyncClient, job: str) -> None:
    """Wait until the job has its GPUs, and let its workers come up."""

    async def is_in(state: str) -> bool:
        return str((await client.get(f"/v1/jobs/{job}")).json()["state"]) == state

    await eventually(lambda: is_in("starting"))
    world.backend.advance(world.clock.now_ms() + START_MS)
    world.control.nudge()
    await eventually(lambda: is_in("running"))


def test_a_story_goes_from_the_submission_to_where_the_job_is() -> None:
    async def scenario(world: World, client: httpx.AsyncClient) -> None:
        job = await submitted(client, gpus=2)
        await _runs(world, client, job)
        answer = (await client.get(f"/v1/jobs/{job}/story")).json()
        assert (answer["job"], answer["state"], answer["left_out"]) == (job, "running", 0)
        assert [each["text"] for each in answer["sentences"]] == [
            "submitted by member, tier standard, 1 worker with 2 GPUs: it waits in the queue",
            "starts on n1 with 2 GPUs",
            "it runs",
        ]
        assert [each["kind"] for each in answer["sentences"]] == ["job_submitted", "job_started", "workers_started"]
        assert [each["state"] for each in answer["sentences"]] == ["queued", "starting", "running"]
        assert answer["sentences"][0]["at"].endswith("Z")

    played(scenario)


@pytest.mark.parametrize("is_kept", [False, True], ids=["in memory", "in a database"])
def test_what_a_node_did_to_a_job_is_in_its_story_although_the_event_does_not_name_the_job(
    is_kept: bool, tmp_path: Path
) -> None:
    async def scenario(world: World, client: httpx.AsyncClient) -> None:
        job = await submitted(client)
        await _runs(world, client, job)
        because = f"{tmp_path}/x is gone"

        def lose(engine: Engine, now_ms: int) -> None:
            engine.observe(NodeLost(at_ms=now_ms, node=NodeName("n4"), because="somewhere else"))
            engine.observe(NodeLost(at_ms=now_ms, node=NodeName("n1"), because=because))

        world.control.ask(lose).result()

        async def is_told() -> bool:
            return any("was lost" in each for each in await _texts(client, job))

        await eventually(is_told)
        lost = [each for each in await _texts(client, job) if "was lost" in each]
        assert lost == ["node n1 was lost ($MUSTER_HOME/x is gone): it waits in the queue again"]

    settings = Settings(conceal=concealing(tmp_path))
    played(scenario, settings=settings, home=tmp_path if is_kept else None)


def test_an_array_has_a_story_and_so_has_each_of_its_tasks() -> None:
    async def scenario(world: World, client: httpx.AsyncClient) -> None:
        array = await submitted(client, array="0-1", held=True)
        assert (await client.post(f"/v1/jobs/{array}/cancel")).status_code == 200
        assert await _texts(client, array) == [
            "submitted by member: 2 tasks, each tier standard, 1 worker with 1 GPU",
            "cancelled by member",
            "all tasks have ended: 2 cancelled",
        ]
        assert await _texts(client, f"{array}.1") == [
            (
                f"submitted by member as a task of {array}, tier standard, 1 worker with 1 GPU: "
                "it waits until somebody releases it"
            ),
            "cancelled by member: it is cancelled",
        ]

    played(scenario)


def test_a_job_of_another_team_has_no_story() -> None:
    async def scenario(world: World, client: httpx.AsyncClient) -> None:
        job = await submitted(client)
        async with world.client("other") as other:
            assert (await other.get(f"/v1/jobs/{job}/story")).status_code == 404
        assert (await client.get("/v1/jobs/nobody/story")).status_code == 404
        assert await _texts(client, job)

    played(scenario)


def test_of_a_very_long_story_the_middle_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("muster.api.routes.jobs.story.STORY_SENTENCES", 3)

    async def scenario(world: World, client: httpx.AsyncClient) -> None:
        job = await submitted(client, held=True)
        for priority in (60, 61, 62, 63):
            assert (await client.patch(f"/v1/jobs/{job}", json={"priority": priority})).status_code == 200
        answer = (await client.get(f"/v1/jobs/{job}/story")).json()
        assert answer["left_out"] == 2
        texts = [each["text"] for each in answer["sentences"]]
        assert texts[0].startswith("submitted")
        assert texts[1:] == ["changed by member: priority 62", "changed by member: priority 63"]

    played(scenario)
