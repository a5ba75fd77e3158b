import json

import pytest

from tests.unit.cli.conftest import Terminal
from tests.unit.client.fake_server import FakeServer, an_ended_job


def test_the_last_attempt_is_printed(terminal: Terminal, day: FakeServer) -> None:
    assert terminal.shows("logs", "job-12").splitlines()[0] == "step 1 loss=4.6"
    assert terminal.shows("logs", "job-12", "--attempt", "1") == "step 1 loss=4.7\n"


def test_the_last_lines_are_printed(terminal: Terminal, day: FakeServer) -> None:
    assert terminal.shows("logs", "job-12", "-n", "2") == "step 2 loss=3.2\nstep 3 loss=3.1\n"
    assert terminal.shows("logs", "job-12", "-n", "99").count("\n") == 3


def test_several_ranks_are_told_apart(terminal: Terminal, day: FakeServer) -> None:
    text = terminal.shows("logs", "job-12", "-r", "0-1", "-n", "1")
    assert text == "0| step 3 loss=3.1\n1| ready again\n"


def test_following_ends_with_the_job(terminal: Terminal, day: FakeServer) -> None:
    day.later = [lambda _: None, lambda each: each.jobs.update({"job-12": an_ended_job("job-12", attempt=2)})]
    assert terminal.shows("logs", "-f", "job-12").splitlines()[:2] == ["step 1 loss=4.7", "step 1 loss=4.6"]


def test_several_ranks_are_followed_at_once(terminal: Terminal, day: FakeServer) -> None:
    day.jobs["job-12"] = an_ended_job("job-12", attempt=2)
    lines = terminal.shows("logs", "-f", "job-12", "-r", "0,1").splitlines()
    assert sorted(lines)[-2:] == ["1| ready", "1| ready again"]
    assert len(lines) == 6


def test_json_is_one_piece_to_a_line(terminal: Terminal, day: FakeServer) -> None:
    (piece,) = terminal.shows("logs", "job-12", "-o", "json").splitlines()
    assert json.loads(piece)["attempt"] == 2


def test_an_array_has_no_output_of_its_own(terminal: Terminal, day: FakeServer) -> None:
    result = terminal.type("logs", "-f", "job-18")
    assert result.exit_code == 2
    assert "name one of its tasks, such as job-18.0" in result.stderr


def test_a_rank_that_the_job_does_not_have_is_said(terminal: Terminal, day: FakeServer) -> None:
    day.jobs["job-12"]["spec"]["workers"] = 4
    for ranks in ("9", "0-9"):
        result = terminal.type("logs", "job-12", "-r", ranks)
        assert (result.exit_code, result.stdout) == (4, "")
        assert "job-12 has no worker" in result.stderr
    day.logs["job-12", 9, 1] = b"of a larger attempt\n"
    assert terminal.shows("logs", "job-12", "-r", "9") == "of a larger attempt\n"


def test_a_rank_is_a_number(terminal: Terminal, day: FakeServer) -> None:
    assert "--rank: 'x' is not a rank" in terminal.type("logs", "job-12", "-r", "x").stderr


def test_long_last_lines_are_whole(terminal: Terminal, day: FakeServer) -> None:
    lines = [b"begin", *(bytes(str(number), "ascii") * 4000 for number in range(1, 4))]
    day.logs["job-12", 0, 2] = b"\n".join(lines) + b"\n"
    assert terminal.shows("logs", "job-12", "-n", "2", piped=True) == b"\n".join(lines[2:]).decode() + "\n"
    assert terminal.shows("logs", "job-12", "-n", "4", piped=True) == b"\n".join(lines).decode() + "\n"


def test_a_line_without_an_end_is_cut_and_that_is_said(
    terminal: Terminal, day: FakeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("muster.cli.commands.logs.TAIL_BYTES", 1 << 20)
    day.logs["job-12", 0, 2] = b"x" * (3 << 20)
    result = terminal.type("logs", "job-12", "-n", "1")
    assert (result.exit_code, len(result.stdout)) == (0, 1 << 20)
    assert "rank 0: the last 1 lines are longer than 1 MiB; the first is cut" in result.stderr
