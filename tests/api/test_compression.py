"""Long JSON answers are compressed, and only those."""

import asyncio
import gzip
from typing import Any

import httpx
import pytest
from starlette.types import Message, Receive, Scope, Send

from muster.api.front.compression import LEAST_BYTES, ON_A_THREAD_BYTES, Compression
from tests.api.world import World, played, submitted

JSON = {"content-type": "application/json"}


def answered(
    body: bytes, headers: dict[str, str], *, method: str = "GET", accept: str = "gzip", parts: int = 1
) -> tuple[dict[str, str], bytes]:
    """The headers and the body that a client gets of an application that answers this, in so many parts."""

    async def app(_scope: Scope, _receive: Receive, send: Send) -> None:
        pairs = [(name.encode(), value.encode()) for name, value in headers.items()]
        await send({"type": "http.response.start", "status": 200, "headers": pairs})
        size = -(-len(body) // parts)
        for part in range(parts):
            piece = body[part * size : (part + 1) * size]
            await send({"type": "http.response.body", "body": piece, "more_body": part < parts - 1})

    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    async def receive() -> Message:
        raise AssertionError("nothing is read")

    scope: dict[str, Any] = {"type": "http", "method": method, "headers": [(b"accept-encoding", accept.encode())]}
    asyncio.run(Compression(app)(scope, receive, send))
    found = {name.decode().lower(): value.decode() for name, value in sent[0]["headers"]}
    return found, b"".join(each["body"] for each in sent[1:])


@pytest.mark.parametrize("length", [LEAST_BYTES, ON_A_THREAD_BYTES])
def test_a_long_answer_is_compressed(length: int) -> None:
    headers, body = answered(b"x" * length, {**JSON, "content-length": str(length)})
    assert (headers["content-encoding"], headers["vary"]) == ("gzip", "Accept-Encoding")
    assert int(headers["content-length"]) == len(body) < length
    assert gzip.decompress(body) == b"x" * length


@pytest.mark.parametrize(
    ("given", "how"),
    [
        (JSON, {"accept": ""}),
        (JSON, {"accept": "br, gzip;q=0"}),
        (JSON, {"method": "POST"}),
        (JSON, {"parts": 2}),
        ({**JSON, "set-cookie": "session=secret"}, {}),
        ({**JSON, "content-encoding": "br"}, {}),
        ({"content-type": "text/event-stream"}, {}),
        ({"content-type": "text/plain"}, {}),
    ],
)
def test_what_is_secret_or_not_whole_or_not_json_stays_as_it_is(given: dict[str, str], how: dict[str, Any]) -> None:
    headers, body = answered(b"x" * LEAST_BYTES, given, **how)
    assert body == b"x" * LEAST_BYTES
    assert headers == given


def test_a_short_answer_stays_as_it_is() -> None:
    assert answered(b"x" * (LEAST_BYTES - 1), JSON) == (JSON, b"x" * (LEAST_BYTES - 1))


def test_a_list_of_jobs_is_compressed_and_read_all_the_same() -> None:
    async def scenario(world: World, client: httpx.AsyncClient) -> None:
        for _ in range(3):
            await submitted(client, team="nlp", gpus=8)
        answer = await client.get("/v1/jobs", headers={"Accept-Encoding": "gzip"})
        assert answer.headers["content-encoding"] == "gzip"
        assert answer.headers["cache-control"] == "no-store"
        assert len(answer.json()["items"]) == 3

    played(scenario, who="admin")
