import pytest

from tests.unit.cli.conftest import Terminal
from tests.unit.client.fake_server import FakeServer, a_problem, an_ended_job


def test_a_job_that_is_not_there_does_not_keep_the_others_from_being_changed(
    terminal: Terminal, day: FakeServer
) -> None:
    result = terminal.type("cancel", "nope", "job-15", "gone", "-q", "--reason", "wrong data")
    assert (result.exit_code, result.stdout) == (4, "job-15\n")
    assert result.stderr == "muster: there is no job nope\nmuster: there is no job gone\n"
    assert day.bodies("POST", "/v1/jobs/job-15/cancel") == [{"reason": "wrong data"}]


@pytest.mark.parametrize(("command", "state"), [("hold", "held"), ("release", "queued"), ("retry", "queued")])
def test_a_job_is_shown_as_it_is_then(terminal: Terminal, day: FakeServer, command: str, state: str) -> None:
    assert terminal.shows(command, "job-15") == f"job-15  big-gang  {state}\n"


def test_what_a_job_asked_for_is_changed(terminal: Terminal, day: FakeServer) -> None:
    terminal.shows(*["update", "job-15", "--priority", "70", "--max-duration", "90m", "--tag", "a=b", "--tag", "c=d=e"])
    sent = {"priority": 70, "max_duration_s": 5400.0, "tags": {"a": "b", "c": "d=e"}}
    assert day.bodies("PATCH", "/v1/jobs/job-15") == [sent]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("", "nothing to change"),
        ("--tag x", "--tag: 'x' is not KEY=VALUE"),
        ("--max-duration soon", "--max-duration: must be a duration"),
    ],
)
def test_a_wrong_change_is_explained(terminal: Terminal, day: FakeServer, options: str, message: str) -> None:
    result = terminal.type("update", "job-15", *options.split())
    assert result.exit_code == 2
    assert message in result.stderr


@pytest.mark.parametrize("command", ["hold job-9", "release job-9", "update job-9 --priority 7"])
@pytest.mark.parametrize("is_told", [True, False])
def test_a_job_that_has_ended_is_not_changed(
    terminal: Terminal, day: FakeServer, command: str, *, is_told: bool
) -> None:
    word = command.split(maxsplit=1)[0]
    place = "PATCH /v1/jobs/job-9" if word == "update" else f"POST /v1/jobs/job-9/{word}"
    day.answers[place] = a_problem(409, "ended", "too late") if is_told else an_ended_job("job-9")
    result = terminal.type(*command.split())
    assert (result.exit_code, result.stdout) == (3, "")
    assert result.stderr == "muster: job-9 has ended; nothing was changed\n"


def test_another_conflict_is_told_as_it_is(terminal: Terminal, day: FakeServer) -> None:
    day.answers["POST /v1/jobs/job-15/hold"] = a_problem(409, "conflict", "it is being moved")
    result = terminal.type("hold", "job-15")
    assert (result.exit_code, result.stderr) == (3, "muster: it is being moved\n")
