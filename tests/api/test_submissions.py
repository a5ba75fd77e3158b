"""Submitting over HTTP: what is let in, what is refused, and asking twice."""

import asyncio
from typing import Any

import httpx
import pytest

from muster.model.events import JobSubmitted
from tests.api.world import World, job_file, played

YAML = """\
name: train
team: nlp
resources:
  gpus: 2
run: python train.py
"""


async def _submit(client: httpx.AsyncClient, key: str = "", **body: Any) -> httpx.Response:
    headers = {"Idempotency-Key": key} if key else {}
    return await client.post("/v1/jobs", json=body, headers=headers)


def _submissions(world: World) -> int:
    return sum(isinstance(event, JobSubmitted) for event in world.store.read())


def test_a_file_is_taken_as_text_or_as_an_object() -> None:
    async def scenario(world: World, client: httpx.AsyncClient) -> None:
        as_text = await _submit(client, text=YAML)
        as_object = await _submit(client, job=job_file(gpus=2))
        assert as_text.status_code == as_object.status_code == 201
        assert as_text.json()["spec"] == as_object.json()["spec"]
        assert as_text.headers["Location"] == f"/v1/jobs/{as_text.json()['id']}"

    played(scenario)


def test_every_mistake_in_a_file_is_named_with_its_line_and_field() -> None:
    async def scenario(world: World, client: httpx.AsyncClient) -> None:
        text = YAML.replace("gpus: 2", "gpus: two").replace("name: train", "name: Train It")
        answer = await _submit(client, text=text, file="big.yaml")
        assert answer.status_code == 422
        problem = answer.json()
        assert problem["code"] == "invalid_file"
        assert [(each["field"], each["line"], each["file"]) for each in problem["errors"]] == [
            ("name", 1, "big.yaml"),
            ("resources.gpus", 4, "big.yaml"),
        ]
        as_object = await _submit(client, job=job_file(gpus=-1))
        assert as_object.json()["errors"][0]["field"] == "resources.gpus"
        open_variable = await _submit(client, job=job_file(env={"TOKEN_FILE": None}))
        assert open_variable.json()["errors"][0]["field"] == "env.TOKEN_FILE"

    played(scenario)


@pytest.mark.parametrize("body", [{}, {"job": {}, "text": "x"}, {"job": []}, {"text": ""}, {"job": job_file(), "x": 1}])
def test_a_body_that_is_not_a_submission_is_refused(body: dict[str, Any]) -> None:
    async def scenario(world: World, client: httpx.AsyncClient) -> None:
        answer = await client.post("/v1/jobs", json=body)
        assert answer.status_code == 422
        assert answer.json()["errors"]
        assert _submissions(world) == 0

    played(scenario)


def test_the_same_request_under_the_same_key_is_one_job() -> None:
    async def scenario(world: World, client: httpx.AsyncClient) -> None:
        first = await _submit(client, key="abc", job=job_file(gpus=2))
        await client.patch(f"/v1/jobs/{first.json()['id']}", json={"priority": 3})
        again = await _submit(client, key="abc", text=YAML)
        assert (first.status_code, again.status_code) == (201, 200)
        assert again.json()["id"] == first.json()["id"]
        other = await _submit(client, key="abc", job=job_file(gpus=3))
        assert other.status_code == 409
        assert other.json()["code"] == "key_reused"
        assert other.json()["retry_helps"] is False
        held = await _submit(client, key="abc", text=YAML, held=True)
        assert held.status_code == 409
        async with world.client("colleague") as colleague:
            assert (await _submit(colleague, key="abc", text=YAML)).status_code == 201
        assert _submissions(world) == 2
        assert [entry.action for entry in world.store.audit].count("jobs.submit") == 2

    played(scenario)


def test_many_at_once_under_one_key_are_one_job() -> None:
    async def scenario(world: World, client: httpx.AsyncClient) -> None:
        answers = await asyncio.gather(*(_submit(client, key="k", job=job_file()) for _ in range(20)))
        assert sorted(answer.status_code for answer in answers) == [200] * 19 + [201]
        assert len({answer.json()["id"] for answer in answers}) == 1

    played(scenario)


def test_a_job_that_can_never_run_is_refused_with_the_reason() -> None:
    async def scenario(world: World, client: httpx.AsyncClient) -> None:
        answer = await _submit(client, job=job_file(gpus=16))
        assert answer.status_code == 403
        assert answer.json()["code"] == "never_fits"
        assert "the largest node has 8" in answer.json()["detail"]
        unknown = await _submit(client, job=job_file(team="nlp/nowhere"))
        assert unknown.status_code == 422
        assert "there is no team nlp/nowhere" in unknown.json()["detail"]
        lost = await _submit(client, job=job_file(depends_on=["job-77"]))
        assert lost.json()["code"] == "dependency"
        assert _submissions(world) == 0

    played(scenario)


@pytest.mark.parametrize("path", ["/v1/jobs", "/v1/jobs?dry_run=true"])
def test_a_dependency_that_one_may_not_see_does_not_exist(path: str) -> None:
    async def scenario(world: World, client: httpx.AsyncClient) -> None:
        async with world.client("other") as other:
            hidden = (await _submit(other, job=job_file(team="vision"))).json()["id"]
        own = (await _submit(client, job=job_file())).json()["id"]
        problems = []
        for job in (hidden, "job-77"):
            answer = await client.post(path, json={"job": job_file(depends_on=[own, job])})
            problems.append((answer.status_code, answer.json()["code"], answer.json()["detail"].replace(job, "…")))
        assert problems[0] == problems[1]
        assert problems[0][:2] == (403, "dependency")
        assert (await client.post(path, json={"job": job_file(depends_on=[own])})).is_success

    played(scenario)


def test_a_dry_run_decides_and_changes_nothing() -> None:
    async def scenario(world: World, client: httpx.AsyncClient) -> None:
        version = world.store.version

        async def dry(**fields: Any) -> dict[str, Any]:
            answer = await client.post("/v1/jobs?dry_run=true", json={"job": job_file(**fields)})
            assert answer.status_code == 200, answer.text
            return dict(answer.json())

        starts = await dry(gpus=4, expected_duration="3h")
        assert starts["placement"][0]["node"] == "n1"
        assert starts["cost"] == {"gpu_hours": 12, "price": None}
        never = await client.post("/v1/jobs?dry_run=true", json={"job": job_file(gpus=16)})
        assert (never.status_code, never.json()["code"]) == (403, "never_fits")
        assert world.store.version == version
        await _submit(client, job=job_file(gpus=8, workers=4, max_duration="2h"))
        waits = await dry(gpus=8, array="0-3")
        assert waits["placement"] is None
        assert "capacity" in [each["code"] for each in waits["reasons"]]
        assert waits["estimate"]["p50"] is not None

    played(scenario)


def test_a_dry_run_has_a_price_where_a_pool_has_one() -> None:
    async def scenario(world: World, client: httpx.AsyncClient) -> None:
        async with world.client("operator") as operator:
            assert (await operator.patch("/v1/pools/main", json={"price": 0.5})).status_code == 200
        job = job_file(gpus=4, expected_duration="3h")
        answer = await client.post("/v1/jobs?dry_run=true", json={"job": job})
        assert answer.json()["cost"] == {"gpu_hours": 12, "price": 6}

    played(scenario)


def test_a_submission_that_cannot_be_written_did_not_happen() -> None:
    async def scenario(world: World, client: httpx.AsyncClient) -> None:
        world.store.is_full = True
        answer = await _submit(client, key="k", job=job_file())
        assert answer.status_code == 503
        assert answer.json()["retry_helps"] is True
        world.store.is_full = False
        while (again := await _submit(client, key="k", job=job_file())).status_code == 503:
            await asyncio.sleep(0.01)
        assert again.status_code == 201
        assert _submissions(world) == 1

    played(scenario)
