import httpx
import pytest

from muster import Client
from muster.client.transport import KEYED_TRIES, TRIES
from muster.model.errors import Unreachable
from tests.unit.client.fake_server import FakeServer

JOB = {"name": "train", "run": "python train.py"}


@pytest.fixture
def server() -> FakeServer:
    return FakeServer()


@pytest.fixture
def client(server: FakeServer) -> Client:
    return Client("http://127.0.0.1:1", "secret", transport=server.transport, sleep=lambda _: None)


def test_what_must_not_be_done_twice_is_not_repeated_after_a_lost_answer(client: Client, server: FakeServer) -> None:
    server.failures = [httpx.ReadError("reset")]
    with pytest.raises(Unreachable, match="broke off"):
        client.create_token(name="ci")
    assert len(server.requests) == 1


def test_a_slow_server_is_named_as_such(client: Client, server: FakeServer) -> None:
    server.failures = [httpx.ReadTimeout("slow")]
    with pytest.raises(Unreachable, match="too long"):
        client.job("job-1")


def test_a_submission_that_takes_too_long_is_sent_again_under_its_key(client: Client, server: FakeServer) -> None:
    server.failures = [httpx.ReadTimeout("slow")]
    assert client.submit(JOB).id == "job-1"
    assert len({request.headers["Idempotency-Key"] for request in server.requests}) == 1
    server.failures = [httpx.ReadTimeout("slow") for _ in range(TRIES)]
    with pytest.raises(Unreachable, match=r"too long .*`muster ps` whether the job is there"):
        client.submit(JOB)
    assert len(server.requests) == 2 + KEYED_TRIES
