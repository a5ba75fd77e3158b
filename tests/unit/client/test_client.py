import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest

import muster
from muster import Client
from muster.client.trainings import PAGE_ITEMS
from muster.client.transport import CONNECT_TRIES, PAUSE_MAX_S, TRIES
from muster.model.errors import (
    Conflict,
    InvalidInput,
    JobFailed,
    MusterError,
    NotFound,
    Refused,
    TimedOut,
    TooMany,
    Unauthenticated,
    Unavailable,
    Unreachable,
)
from tests.unit.client.fake_server import FakeServer, a_job, a_node, a_problem, a_running_job, an_ended_job

JOB = {"name": "train", "run": "python train.py"}


@pytest.fixture
def server() -> FakeServer:
    return FakeServer()


@pytest.fixture
def pauses() -> list[float]:
    """How long the client slept."""
    return []


@pytest.fixture
def client(server: FakeServer, pauses: list[float]) -> Client:
    return Client("http://127.0.0.1:1", "secret", transport=server.transport, sleep=pauses.append)


def test_a_submitted_job_comes_back_with_its_id(client: Client, server: FakeServer) -> None:
    job = client.submit(JOB)
    assert (job.id, job.name, job.state) == ("job-1", "train", "queued")
    assert server.bodies("POST", "/v1/jobs") == [{"job": JOB, "held": False}]
    assert server.requests[0].headers["Authorization"] == "Bearer secret"


def test_a_lost_answer_never_submits_twice(client: Client, server: FakeServer, pauses: list[float]) -> None:
    server.lost_answers = 2
    assert client.submit(JOB).id == "job-1"
    assert len(server.jobs) == 1
    assert len({request.headers["Idempotency-Key"] for request in server.requests}) == 1
    assert len(pauses) == 2


def test_two_submissions_have_two_keys_unless_they_are_the_same(client: Client, server: FakeServer) -> None:
    client.submit(JOB)
    client.submit(JOB)
    assert client.submit(JOB, key="nightly").id == client.submit(JOB, key="nightly").id == "job-3"


def test_a_dry_run_says_where_a_job_would_go(client: Client, server: FakeServer) -> None:
    answer = client.submit(JOB, dry_run=True)
    assert answer.placement is not None
    assert answer.placement[0].node == "n1"
    assert answer.cost is not None
    assert answer.cost.gpu_hours == 4.0
    assert not server.jobs


def test_a_file_is_completed_from_here(
    client: Client, server: FakeServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WHO", "ada")
    Path("job.yaml").write_text("name: hello\nrun: echo $WHO\nenv: {WHO: null}\n", "utf-8")
    for source in ("job.yaml", Path("job.yaml"), Path("job.yaml").read_text("utf-8")):
        client.submit(source)
    sent = {"name": "hello", "workers": 1, "run": "echo $WHO", "workdir": str(tmp_path), "env": {"WHO": "ada"}}
    assert [body["job"] for body in server.bodies("POST", "/v1/jobs")] == [sent] * 3


def test_fields_that_a_newer_server_adds_are_ignored_and_kept(client: Client, server: FakeServer) -> None:
    server.jobs["job-1"] = a_running_job(shiny="new")
    job = client.job("job-1")
    assert job.workers[0].gpus == tuple(range(8))
    assert job.document["shiny"] == "new"
    assert job.started is not None
    assert job.started.isoformat() == "2026-03-02T09:10:00+00:00"


def test_fields_that_an_older_server_leaves_out_have_their_default(client: Client, server: FakeServer) -> None:
    server.jobs["job-1"] = {"id": "job-1", "name": "a", "state": "queued", "tags": None}
    job = client.job("job-1")
    assert (job.tags, job.workers, job.submitted) == ({}, (), None)


@pytest.mark.parametrize("answer", [{"name": "a"}, [1], "no", {"id": "a", "name": "b", "state": "c", "ended": "noon"}])
def test_an_answer_that_makes_no_sense_is_not_believed(client: Client, server: FakeServer, answer: Any) -> None:
    server.answers["GET /v1/jobs/x"] = httpx.Response(200, json=answer)
    with pytest.raises(Unreachable, match="not a Job"):
        client.job("x")


def test_pages_are_asked_for_as_they_are_needed(client: Client, server: FakeServer) -> None:
    server.jobs = {f"job-{number}": a_job(f"job-{number}") for number in range(PAGE_ITEMS + 1)}
    found = client.jobs()
    assert next(found).id == "job-0"
    assert len(server.requests) == 1
    assert len(list(found)) == PAGE_ITEMS
    assert len(server.requests) == 2


def test_a_limit_bounds_what_is_listed(client: Client, server: FakeServer) -> None:
    server.jobs = {f"job-{number}": a_job(f"job-{number}") for number in range(5)}
    assert len(list(client.jobs(limit=3))) == 3
    assert server.requests[0].url.params["limit"] == "3"


def test_filters_are_sent_only_when_given(client: Client, server: FakeServer) -> None:
    list(client.jobs(state=["queued", "running"], team="nlp"))
    params = server.requests[0].url.params
    assert params.get_list("state") == ["queued", "running"]
    assert "user" not in params


def test_a_story_is_told_in_sentences(client: Client, server: FakeServer) -> None:
    sentence = {"at": "2026-03-02T11:59:00Z", "kind": "job_started", "state": "starting", "text": "starts", "times": 1}
    server.answers["GET /v1/jobs/job-1/story"] = {"job": "job-1", "state": "running", "sentences": [sentence]}
    story = client.story("job-1")
    assert (story.job, story.state, story.left_out) == ("job-1", "running", 0)
    assert [(each.text, each.state, each.times) for each in story.sentences] == [("starts", "starting", 1)]
    assert story.sentences[0].at == datetime(2026, 3, 2, 11, 59, tzinfo=UTC)


def test_ids_are_quoted(client: Client, server: FakeServer) -> None:
    with pytest.raises(NotFound):
        client.job("a/../b?c")
    assert server.requests[0].url.raw_path == b"/v1/jobs/a%2F..%2Fb%3Fc"


@pytest.mark.parametrize(
    ("status", "code", "kind"),
    [
        (401, "unauthenticated", Unauthenticated),
        (403, "refused", Refused),
        (404, "not_found", NotFound),
        (409, "conflict", Conflict),
        (422, "invalid", InvalidInput),
        (422, "invalid_file", InvalidInput),
        (413, "too_large", InvalidInput),
        (429, "too_many", TooMany),
        (503, "unavailable", Unavailable),
        (500, "internal", Unavailable),
        (418, "teapot", InvalidInput),
    ],
)
def test_a_problem_becomes_the_error_that_it_means(
    client: Client, server: FakeServer, status: int, code: str, kind: type[MusterError]
) -> None:
    server.answers["GET /v1/jobs/x"] = a_problem(status, code, "that is why")
    with pytest.raises(kind, match="that is why"):
        client.job("x")


def test_every_mistake_in_a_job_is_told_with_its_place(client: Client, server: FakeServer) -> None:
    errors = [
        {"field": "workers", "problem": "too many", "hint": "at most 4", "line": 3},
        {"field": "name", "problem": "is required", "hint": None, "line": None},
    ]
    server.answers["POST /v1/jobs"] = a_problem(422, "invalid_file", "two mistakes", errors=errors)
    with pytest.raises(InvalidInput) as caught:
        client.submit(JOB)
    assert str(caught.value) == "job:3: workers: too many (at most 4)\njob: name: is required"


def test_something_that_is_no_muster_server_is_named(client: Client, server: FakeServer) -> None:
    server.answers["GET /v1/jobs/x"] = httpx.Response(200, text="<html>hello</html>")
    with pytest.raises(Unreachable, match="is there a Muster server"):
        client.job("x")
    server.answers["GET /v1/jobs/x"] = httpx.Response(302, headers={"Location": "/login"})
    with pytest.raises(Unreachable, match="answered 302 Found"):
        client.job("x")


def test_a_full_server_is_asked_again_when_it_says(client: Client, server: FakeServer, pauses: list[float]) -> None:
    server.jobs["job-1"] = a_job()
    for wait in ("3", "9999", "tomorrow"):
        busy = a_problem(503, "unavailable", "the inbox is full")
        busy.headers["Retry-After"] = wait
        server.failures.append(busy)
    assert client.job("job-1").id == "job-1"
    assert pauses[:2] == [3.0, PAUSE_MAX_S]
    assert 0 < pauses[2] < 2


def test_a_server_that_stays_full_is_given_up(client: Client, server: FakeServer) -> None:
    server.failures = [a_problem(429, "too_many", "too many requests") for _ in range(TRIES)]
    with pytest.raises(TooMany):
        client.submit(JOB)
    assert len(server.requests) == TRIES


def test_a_server_that_is_not_there_is_reported_soon_and_with_advice(client: Client, server: FakeServer) -> None:
    server.failures = [httpx.ConnectError("refused") for _ in range(TRIES)]
    with pytest.raises(Unreachable, match=r"no server answers at http://127.0.0.1:1; .*`muster up -d`") as caught:
        client.job("job-1")
    assert caught.value.exit_code == 5
    assert len(server.requests) == CONNECT_TRIES


def test_a_certificate_that_is_not_trusted_is_not_called_a_server_that_is_away(
    client: Client, server: FakeServer
) -> None:
    said = "[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed: self-signed certificate (_ssl.c:1006)"
    server.failures = [httpx.ConnectError(said) for _ in range(TRIES)]
    with pytest.raises(Unreachable, match=r"is not trusted \(certificate verify failed: self-signed.*SSL_CERT_FILE"):
        client.job("job-1")


def test_waiting_ends_with_the_job(client: Client, server: FakeServer, pauses: list[float]) -> None:
    server.jobs["job-1"] = a_job()
    server.later = [lambda _: None, lambda each: each.jobs.update({"job-1": an_ended_job()})]
    assert client.wait("job-1").succeeded
    assert pauses == [0.1]


def test_waiting_has_an_end(client: Client, server: FakeServer) -> None:
    server.jobs["job-1"] = a_job()
    with pytest.raises(TimedOut, match="still queued"):
        client.wait("job-1", timeout=0)


def test_a_long_log_is_read_piece_by_piece(client: Client, server: FakeServer) -> None:
    text = b"0123456789" * 200_000
    server.logs["job-1", 0, 1] = text
    assert b"".join(piece.text for piece in client.logs("job-1")) == text
    assert len(server.requests) == 2


def test_the_end_of_a_log_is_read_by_a_negative_offset(client: Client, server: FakeServer) -> None:
    server.logs["job-1", 0, 1] = b"hello\nworld\n"
    (piece,) = client.logs("job-1", offset=-6)
    assert (piece.text, piece.start, piece.end, piece.complete) == (b"world\n", 6, 12, True)


def test_following_waits_for_the_start_and_the_first_output(
    client: Client, server: FakeServer, pauses: list[float]
) -> None:
    server.jobs["job-1"] = a_job()
    server.later = [
        lambda _: None,
        lambda each: each.jobs.update({"job-1": a_running_job()}),
        lambda each: each.logs.update({("job-1", 0, 1): b"hello\n"}),
    ]
    assert b"".join(piece.text for piece in client.logs("job-1", follow=True)) == b"hello\n"
    assert len(pauses) == 3


def test_following_a_job_that_ends_without_a_word_ends(client: Client, server: FakeServer) -> None:
    server.jobs["job-1"] = an_ended_job(state="cancelled")
    assert list(client.logs("job-1", follow=True)) == []


def test_following_an_array_says_how_a_task_is_named(client: Client, server: FakeServer) -> None:
    server.jobs["job-1"] = a_job(tasks={"queued": 3})
    with pytest.raises(InvalidInput, match=r"name one of its tasks, such as job-1\.0"):
        list(client.logs("job-1", follow=True))


def test_a_job_that_does_not_exist_is_not_waited_for(client: Client) -> None:
    with pytest.raises(NotFound, match="no job job-1"):
        list(client.logs("job-1", follow=True))


def test_a_job_is_asked_for_what_comes_next(client: Client, server: FakeServer) -> None:
    job = client.submit(JOB)
    server.logs["job-1", 0, 1] = b"hello\n"
    assert b"".join(piece.text for piece in job.logs()) == b"hello\n"
    assert job.cancel(reason="enough").state == "cancelled"
    assert server.bodies("POST", "/v1/jobs/job-1/cancel") == [{"reason": "enough"}]
    assert (job.state, job.refresh().state, job.wait(timeout=1).state) == ("queued", "cancelled", "cancelled")
    server.jobs["job-1"]["reason"] = "cancelled"
    with pytest.raises(JobFailed, match=r"^job-1 cancelled; `muster logs job-1` says more$"):
        job.result()


def test_a_job_that_runs_a_command_and_succeeds_has_no_result(client: Client, server: FakeServer) -> None:
    server.jobs["job-1"] = an_ended_job()
    assert client.job("job-1").result() is None
    assert client.job("job-1") == next(iter(client.jobs()))


def test_a_followed_log_goes_on_where_the_connection_broke(client: Client, server: FakeServer) -> None:
    server.logs["job-1", 0, 2] = b"hello\n"

    def broken() -> Any:
        yield b"hel"
        raise httpx.ReadError("reset")

    headers = {"Muster-Log-Start": "0", "Muster-Log-Attempt": "2"}
    server.failures = [httpx.Response(200, headers=headers, content=broken())]
    assert b"".join(piece.text for piece in client.logs("job-1", follow=True)) == b"hello\n"
    again = next(request for request in server.requests if request.url.params.get("offset") == "3")
    assert (again.url.params["attempt"], again.url.params["follow"]) == ("2", "true")


def test_a_log_that_is_not_over_when_the_server_stops_is_followed_further(client: Client, server: FakeServer) -> None:
    headers = {"Muster-Log-Start": "0", "Muster-Log-Attempt": "1"}
    server.failures = [
        httpx.Response(200, headers=headers, content=b"hel"),
        httpx.Response(200, headers={**headers, "Muster-Log-Complete": "false"}, content=b""),
    ]
    server.logs["job-1", 0, 1] = b"hello\n"
    assert b"".join(piece.text for piece in client.logs("job-1", follow=True)) == b"hello\n"


def test_a_log_that_is_quiet_for_hours_is_followed_for_hours(client: Client, server: FakeServer) -> None:
    server.logs["job-1", 0, 1] = b"hello\n"

    def quiet(text: bytes) -> Any:
        yield text
        raise httpx.ReadTimeout("nothing was printed")

    headers = {"Muster-Log-Start": "0", "Muster-Log-Attempt": "1"}
    later = {**headers, "Muster-Log-Start": "3"}
    server.failures = [httpx.Response(200, headers=headers, content=quiet(b"hel"))]
    server.failures += [httpx.Response(200, headers=later, content=quiet(b"")) for _ in range(50)]
    assert b"".join(piece.text for piece in client.logs("job-1", follow=True)) == b"hello\n"
    assert {request.url.params.get("offset") for request in server.requests[1:51]} == {"3"}


def test_streams_of_events_that_end_as_they_should_are_no_failures(client: Client, server: FakeServer) -> None:
    server.failures = [httpx.Response(200, content=b": hello\n\n") for _ in range(50)]
    server.failures += [httpx.ConnectError("restarting")] * 5
    server.events = [{"version": 1, "kind": "JobStarted", "job": "job-1"}]
    assert next(iter(client.events())).version == 1


def test_events_go_on_where_the_connection_broke(client: Client, server: FakeServer) -> None:
    server.events = [{"version": number, "kind": "JobStarted", "job": "job-1"} for number in (1, 2, 3)]
    events = client.events(after=1)
    assert [next(events).version, next(events).version] == [2, 3]
    server.events.append({"version": 4, "kind": "JobStarted", "job": "job-1"})
    assert next(events).version == 4
    assert [request.url.params["after"] for request in server.requests] == ["1", "3"]


def test_a_node_is_drained_with_a_reason(client: Client, server: FakeServer) -> None:
    server.nodes = [a_node("n1", jobs=["job-1"])]
    assert client.drain("n1", reason="smoke").state == "draining"
    assert server.bodies("POST", "/v1/nodes/n1/drain") == [{"reason": "smoke"}]
    assert client.undrain("n1").state == "ready"
    assert [node.name for node in client.nodes()] == ["n1"]


def test_only_what_changes_is_sent(client: Client, server: FakeServer) -> None:
    server.jobs["job-1"] = a_job()
    client.update("job-1", priority=70)
    assert server.bodies("PATCH", "/v1/jobs/job-1") == [{"priority": 70}]


def test_quotas_are_sent_whole(client: Client, server: FakeServer) -> None:
    server.answers["PUT /v1/teams/nlp/pretraining"] = {"path": "nlp/pretraining", "guaranteed": {"h100": 64}}
    team = client.put_team("nlp/pretraining", guaranteed={"h100": 64})
    assert team.guaranteed == {"h100": 64}
    sent = json.loads(server.requests[0].content)
    assert sent == {"guaranteed": {"h100": 64}, "limit": {}, "weight": 1}


def test_what_users_import_is_shown_by_dir() -> None:
    assert {"Client", "submit_function", "map_array"} <= set(dir(muster))
    assert not {"TYPE_CHECKING", "import_module"} & set(dir(muster))
