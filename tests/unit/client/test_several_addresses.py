"""A client of several control planes: whichever answers is asked, and nothing is done twice."""

from collections.abc import Callable

import httpx
import pytest

from muster import Client
from muster.model.errors import TimedOut, Unreachable
from tests.unit.client.fake_server import FakeServer, a_problem

FIRST, SECOND = "http://127.0.0.1:1", "http://127.0.0.1:2"
JOB = {"name": "train", "run": "python train.py"}


class Pair(httpx.BaseTransport):
    """Two control planes with the same jobs behind them, one of which may be unwell."""

    def __init__(self, unwell: Callable[[httpx.Request], httpx.Response], *urls: str) -> None:
        self.server = FakeServer()
        self.asked: list[str] = []
        self._unwell = unwell
        self._urls = urls or (FIRST,)

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        url = f"{request.url.scheme}://{request.url.host}:{request.url.port}"
        self.asked.append(url)
        request.read()
        return self._unwell(request) if url in self._urls else self.server.transport.handle_request(request)


def refuse(request: httpx.Request) -> httpx.Response:
    raise httpx.ConnectError("refused", request=request)


def say_nothing(request: httpx.Request) -> httpx.Response:
    raise httpx.ReadTimeout("stopped", request=request)


def stand_by(request: httpx.Request) -> httpx.Response:
    return a_problem(503, "not_leading", "the leader cannot be reached")


def lose_the_answer(request: httpx.Request) -> httpx.Response:
    return a_problem(504, "timed_out", "the leader took the request and did not answer")


def client_of(pair: Pair, pauses: list[float]) -> Client:
    return Client(f"{FIRST},{SECOND}", "secret", transport=pair, sleep=pauses.append)


@pytest.mark.parametrize("unwell", [refuse, say_nothing, stand_by, lose_the_answer])
def test_the_next_one_is_asked_and_asked_first_from_then_on(
    unwell: Callable[[httpx.Request], httpx.Response],
) -> None:
    pair, pauses = Pair(unwell), list[float]()
    with client_of(pair, pauses) as client:
        assert client.submit(JOB).id == "job-1"
        assert client.job("job-1").id == "job-1"
        assert client.url == SECOND
    assert pair.asked == [FIRST, SECOND, SECOND]
    assert pauses == []
    assert len(pair.server.jobs) == 1


def test_all_are_asked_for_as_long_as_a_failover_takes() -> None:
    pair, pauses = Pair(refuse, FIRST, SECOND), list[float]()
    with client_of(pair, pauses) as client, pytest.raises(Unreachable):
        client.job("job-1")
    assert set(pair.asked) == {FIRST, SECOND}
    assert 15 < sum(pauses) < 60


def test_a_lost_answer_of_what_is_not_repeatable_is_not_asked_for_again() -> None:
    pair, pauses = Pair(lose_the_answer), list[float]()
    with client_of(pair, pauses) as client, pytest.raises(TimedOut):
        client._wire.json("POST", "/v1/jobs", repeatable=False, body={})
    assert pair.asked == [FIRST]
