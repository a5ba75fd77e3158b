"""Text that cannot be stored or shown is refused where it comes in, also as a key; nothing breaks over it."""

import json
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.api.world import World, job_file, played, submitted

HALF = "\ud800"
NUL = "a\0b"


def _requests(job: str, word: str) -> list[tuple[str, str, Any]]:
    a_job = job_file()
    return [
        ("PATCH", f"/v1/jobs/{job}", {"tags": {word: "x"}}),
        ("PATCH", f"/v1/jobs/{job}", {"tags": {"x": word}}),
        ("PATCH", f"/v1/jobs/{job}", {"tier": word}),
        ("PATCH", f"/v1/jobs/{job}", {"priority": 3, "reason": word}),
        ("PATCH", f"/v1/jobs/{job}", {word: 1}),
        ("POST", f"/v1/jobs/{job}/hold", {"reason": word}),
        ("PUT", "/v1/teams/nlp", {"reason": word}),
        ("PUT", "/v1/teams/nlp", {"limit": {word: 1}}),
        ("PUT", "/v1/policy", {"throughput": {word: 1}}),
        ("PUT", "/v1/pools", {word: {}}),
        ("PUT", "/v1/tiers", [{"name": word}]),
        ("POST", "/v1/tokens", {"name": "robot", "bindings": [{"role": "member", "team": word}]}),
        ("POST", "/v1/jobs", {"job": a_job | {word: 1}}),
        ("POST", "/v1/jobs", {"job": a_job | {"env": {word: "1"}}}),
        ("POST", "/v1/jobs", {"job": a_job | {"tags": {word: "1"}}}),
        ("POST", "/v1/jobs", {"job": a_job | {"roles": {word: {"run": "true"}}}}),
        ("POST", "/v1/jobs", {"job": a_job, "file": word}),
    ]


@pytest.mark.parametrize("word", [HALF, NUL])
def test_what_cannot_be_stored_is_refused(word: str, tmp_path: Path) -> None:
    async def scenario(world: World, client: httpx.AsyncClient) -> None:
        job = await submitted(client, held=True)
        for method, path, body in _requests(job, word):
            content = json.dumps(body).encode()
            answer = await client.request(method, path, content=content, headers={"content-type": "application/json"})
            assert (method, path, body, answer.status_code) == (method, path, body, 422)
            assert answer.json()["errors"]

    played(scenario, who="admin", home=tmp_path)


def test_a_tag_has_a_limit_to_its_key_as_to_its_value() -> None:
    async def scenario(world: World, client: httpx.AsyncClient) -> None:
        job = await submitted(client, held=True)
        for tags in ({"x" * 1001: "x"}, {"x": "x" * 1001}):
            assert (await client.patch(f"/v1/jobs/{job}", json={"tags": tags})).status_code == 422

    played(scenario)
