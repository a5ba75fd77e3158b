"""Errors are problem documents, whatever goes wrong, and tell nothing that is not for the client."""

import asyncio
import json
import logging
from collections.abc import AsyncIterator

import httpx
import pytest

from muster.api.deps import Settings
from tests.api.world import World, job_file, played

SMALL = Settings(job_body_bytes=1000)


def _checked(answer: httpx.Response, status: int) -> dict[str, object]:
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    problem = dict(answer.json())
    assert problem["status"] == status
    assert {"type", "title", "detail", "code", "retry_helps"} <= problem.keys()
    return problem


def test_every_kind_of_error_is_a_problem_document() -> None:
    async def scenario(world: World, client: httpx.AsyncClient) -> None:
        _checked(await client.get("/v1/nowhere"), 404)
        _checked(await client.get("/v1/jobs/job-9"), 404)
        wrong_way = await client.put("/v1/jobs", json={})
        _checked(wrong_way, 405)
        assert wrong_way.headers["allow"]
        _checked(await client.get("/v1/jobs?limit=many"), 422)
        _checked(await client.post("/v1/jobs", content="{", headers={"content-type": "application/json"}), 422)
        _checked(await client.post("/v1/jobs", content="[" * 50_000, headers={"content-type": "application/json"}), 422)
        _checked(await client.post("/v1/jobs", content=b"\xff\xfe"), 422)
        _checked(await client.post("/v1/jobs", json=job_file()), 422)

    played(scenario)


@pytest.mark.parametrize(
    "header", ["", "Bearer", "Bearer x", "Basic abc", "Bearer muster_000000000000_" + "a" * 43, "muster_1_2"]
)
def test_a_caller_without_a_good_token_is_asked_for_one(header: str) -> None:
    async def scenario(world: World, client: httpx.AsyncClient) -> None:
        answer = await client.get("/v1/whoami", headers={"Authorization": header} if header else {})
        _checked(answer, 401)
        assert answer.headers["www-authenticate"] == "Bearer"

    played(scenario, who=None)


def test_a_body_that_is_too_large_is_refused_however_it_is_sent() -> None:
    async def chunks() -> AsyncIterator[bytes]:
        for _ in range(100):
            yield b"x" * 100

    async def scenario(world: World, client: httpx.AsyncClient) -> None:
        announced = await client.post("/v1/jobs", content=b"x" * 1001, headers={"content-type": "application/json"})
        assert _checked(announced, 413)["code"] == "too_large"
        streamed = await client.post("/v1/jobs", content=chunks(), headers={"content-type": "application/json"})
        assert _checked(streamed, 413)["code"] == "too_large"
        fits = json.dumps({"job": job_file()}).encode()
        lies = {"content-type": "application/json", "content-length": "5000"}
        _checked(await client.post("/v1/jobs", content=fits, headers=lies), 413)
        kind = {"content-type": "application/json"}
        assert (await client.post("/v1/jobs", content=fits.ljust(1000), headers=kind)).status_code == 201

    played(scenario, settings=SMALL)


def test_a_fault_is_logged_under_an_id_and_tells_the_client_nothing_else(caplog: pytest.LogCaptureFixture) -> None:
    async def scenario(world: World, client: httpx.AsyncClient) -> None:
        def broken(*_: object, **__: object) -> None:
            raise RuntimeError("the password is swordfish")

        world.app.state.services.job_list.any = broken
        with caplog.at_level(logging.ERROR):
            answer = await client.get("/v1/jobs")
        problem = _checked(answer, 500)
        assert "swordfish" not in answer.text
        assert "Traceback" not in answer.text
        record = next(each for each in caplog.records if each.name == "muster.api")
        assert record.__dict__["incident"] == problem["incident"]
        assert "swordfish" in str(record.exc_info and record.exc_info[1])

    played(scenario)


def test_a_full_inbox_is_said_so_and_helps_to_try_again() -> None:
    async def scenario(world: World, client: httpx.AsyncClient) -> None:
        world.control._inbox._requests = [None] * 10_000  # type: ignore[list-item]
        answer = await client.post("/v1/jobs", json={"job": job_file()})
        world.control._inbox._requests = []
        assert _checked(answer, 503)["retry_helps"] is True
        assert answer.headers["retry-after"] == "1"

    played(scenario, starts=False)


def test_many_requests_at_once_are_all_answered() -> None:
    async def scenario(world: World, client: httpx.AsyncClient) -> None:
        answers = await asyncio.gather(
            *(client.post("/v1/jobs", json={"job": job_file()}) for _ in range(100)),
            *(client.get("/v1/jobs") for _ in range(100)),
        )
        assert {answer.status_code for answer in answers} == {200, 201}

    played(scenario)
