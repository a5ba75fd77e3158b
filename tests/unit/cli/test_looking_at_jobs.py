import json

import httpx
import pytest

from tests.unit.cli.conftest import Terminal
from tests.unit.client.fake_server import FakeServer, a_job


@pytest.mark.parametrize(
    "command", ["ps -a", "show job-12", "why job-15", "story job-12", "nodes", "teams", "top", "token list"]
)
def test_json_is_nothing_but_the_answer(terminal: Terminal, day: FakeServer, command: str) -> None:
    assert json.loads(terminal.shows(*command.split(), "-o", "json"))


def test_quiet_prints_ids(terminal: Terminal, day: FakeServer) -> None:
    assert terminal.shows("ps", "-q").splitlines() == [f"job-{number}" for number in range(12, 20)]
    assert terminal.shows("nodes", "-q").splitlines()[:2] == ["n1", "n2"]
    assert "nlp/pretraining" in terminal.shows("teams", "-q").splitlines()


def test_filters_are_passed_on(terminal: Terminal, day: FakeServer) -> None:
    options = ["--state", "failed", "--state", "queued", "--team", "nlp", "--user", "ada"]
    terminal.shows("ps", *options, "--tier", "standard", "--name", "x")
    params = day.requests[-1].url.params
    assert params.get_list("state") == ["failed", "queued"]
    assert [params[key] for key in ("team", "user", "tier", "name")] == ["nlp", "ada", "standard", "x"]


def test_an_empty_list_says_what_to_do(terminal: Terminal) -> None:
    result = terminal.type("ps")
    assert (result.exit_code, result.stdout) == (0, "")
    assert "-a shows what has ended" in result.stderr
    assert "muster up --nodes" in terminal.type("nodes").stderr
    assert "muster quota set" in terminal.type("teams").stderr


def test_a_long_list_is_cut_and_says_so(terminal: Terminal, day: FakeServer) -> None:
    result = terminal.type("ps", "-a", "-q", "--limit", "2")
    assert result.stdout == "job-12\njob-13\n"
    assert "more than 2" in result.stderr


def test_what_does_not_exist_exits_with_4(terminal: Terminal) -> None:
    result = terminal.type("show", "job-99")
    assert (result.exit_code, result.stderr) == (4, "muster: there is no job job-99\n")


def test_markup_in_a_name_is_text(terminal: Terminal, server: FakeServer) -> None:
    server.jobs["job-1"] = a_job(name="[red]x[/red]", spec={"name": "[b]", "run": "a\nb"})
    assert "[red]x[/red]" in terminal.shows("ps")
    assert "run: |-\n    a\n    b" in terminal.shows("show", "job-1")


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("ps --state bogus", "--state: 'bogus' is not a state; there are blocked, held, queued"),
        ("token create ci --team nlp --role king", "--role: 'king' is not a role; there are viewer, member"),
        ("show job 1", "'job' is not the id of a job; an id is one word, such as job-1\n"),
        ("why 7", "'7' is not the id of a job; an id is one word, such as job-7\n"),
        ("hold job 15", "'job' is not the id of a job; an id is one word, such as job-15\n"),
    ],
)
def test_a_wrong_word_is_put_right_before_anything_is_asked(
    terminal: Terminal, server: FakeServer, command: str, message: str
) -> None:
    result = terminal.type(*command.split())
    assert result.exit_code == 2
    assert message in result.stderr
    assert not server.requests


def test_a_held_job_has_no_place_in_the_queue(terminal: Terminal, day: FakeServer) -> None:
    reason = {"code": "held", "message": "ada holds it", "would_help": "muster release job-17"}
    day.answers["GET /v1/jobs/job-17/why"] = {"job": "job-17", "state": "held", "position": 1, "reasons": [reason]}
    assert "in the queue" not in terminal.shows("why", "job-17")


def test_the_starts_of_waiting_jobs_are_listed_with_what_they_rest_on(terminal: Terminal, day: FakeServer) -> None:
    estimate = {"p50": "2026-03-01T20:30:00Z", "p90": "2026-03-02T08:00:00Z", "basis": "history"}
    said = {"rests_on": "how long such jobs took", "track_record": "Of the last 40 such estimates 36 held."}
    start = {"job": "job-15", "name": "big", "team": "nlp", "user": "ada", "gpus": 32}
    start |= {"submitted": "2026-03-01T08:00:00Z", "estimate": estimate | said, "hold": None}
    day.answers["GET /v1/starts"] = httpx.Response(200, json={"items": [start], "next": None})
    result = terminal.type("ps", "--start", "--team", "nlp")
    assert result.exit_code == 0
    assert "job-15" in result.stdout
    assert "Estimates rest on how long such jobs took. Of the last 40 such estimates 36 held." in result.stderr
    assert terminal.type("ps", "--start", "--all").exit_code == 2
    assert terminal.type("ps", "--since", "nonsense").exit_code == 2


def test_why_shows_the_sentences_of_the_server(terminal: Terminal, day: FakeServer) -> None:
    reason = {"code": "capacity", "message": "needs 8 GPUs", "would_help": "more", "detail": "job-3 has 8 GPUs."}
    remark = {"text": "It will probably start in 12 min.", "at": "2026-03-02T14:10:00Z"}
    day.answers["GET /v1/jobs/job-17/why"] = {
        "job": "job-17",
        "state": "queued",
        "headline": "It waits because too few GPUs are free.",
        "reasons": [reason],
        "starts_if": ["with 2 workers instead of 4"],
        "when": [remark, {"text": "No such estimate has been put to the test yet.", "at": None}],
    }
    lines = terminal.shows("why", "job-17").splitlines()
    assert "It waits because too few GPUs are free." in lines[1]
    assert [line.strip() for line in lines[2:6]] == [
        "capacity: needs 8 GPUs",
        "job-3 has 8 GPUs.",
        "would help: more",
        "it would start now with 2 workers instead of 4",
    ]
    assert lines[6].startswith("  It will probably start in 12 min.  (")
    assert lines[7].strip() == "No such estimate has been put to the test yet."
