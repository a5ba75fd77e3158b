import os
import pty
import select
import termios
from pathlib import Path
from typing import Any

import pytest

from muster.cli.terminal.raw_terminal import raw_terminal
from tests.unit.cli.conftest import Terminal
from tests.unit.client.fake_server import FakeServer, a_running_job, an_ended_job


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HERE", "yes")
    return tmp_path


def test_a_command_becomes_a_job_and_its_output_is_shown(terminal: Terminal, server: FakeServer, folder: Path) -> None:
    server.later = [lambda each: each.jobs.update({"job-1": an_ended_job()})]
    server.logs["job-1", 0, 1] = b"hello\n"
    options = "--gpus 0.5 --gpu-type h100 --cpus 2 --memory 4GiB -e A=b -e HERE --team nlp --max-duration 1h"
    result = terminal.type("run", *options.split(), "--", "Echo.sh", "it's", "--loud")
    assert (result.exit_code, result.stdout) == (0, "hello\n")
    (sent,) = server.bodies("POST", "/v1/jobs")
    assert sent["job"] == {
        "name": "echo-sh",
        "team": "nlp",
        "workers": 1,
        "resources": {"gpus": 0.5, "gpu_type": ["h100"], "cpus": 2, "memory": "4GiB"},
        "run": "Echo.sh 'it'\"'\"'s' --loud",
        "workdir": str(folder),
        "env": {"A": "b", "HERE": "yes"},
        "max_duration": "1h",
    }


@pytest.mark.parametrize("options", [["--gpu", "1", "--"], ["--directory", "/data"], ["-x"]])
def test_an_option_that_run_does_not_have_is_not_the_command(
    terminal: Terminal, server: FakeServer, options: list[str]
) -> None:
    result = terminal.type("run", *options, "true")
    assert result.exit_code == 2
    assert f"No such option: {options[0]}" in result.stderr
    assert server.bodies("POST", "/v1/jobs") == []


def test_options_after_the_command_are_the_command_s(terminal: Terminal, server: FakeServer) -> None:
    server.later = [lambda each: each.jobs.update({"job-1": an_ended_job()})]
    assert terminal.type("run", "python", "train.py", "--gpus", "8", "-q").exit_code == 0
    assert server.bodies("POST", "/v1/jobs")[0]["job"]["run"] == "python train.py --gpus 8 -q"


def test_one_word_is_a_line_for_the_shell(terminal: Terminal, server: FakeServer) -> None:
    server.later = [lambda each: each.jobs.update({"job-1": an_ended_job(state="failed", exit_code=3)})]
    result = terminal.type("run", "echo a && exit 3")
    assert result.exit_code == 3
    assert server.bodies("POST", "/v1/jobs")[0]["job"]["run"] == "echo a && exit 3"
    assert "job-1 failed: exit code 3" in result.stderr


@pytest.mark.parametrize(
    ("end", "code"),
    [
        ({"state": "failed", "reason": "error", "exit_code": 137}, 137),
        ({"state": "failed", "reason": "node_failure", "exit_code": None}, 1),
        ({"state": "failed", "reason": "error", "exit_code": None, "problem": "there is no secret KEY"}, 1),
        ({"state": "timed_out", "reason": "timeout", "exit_code": 143}, 6),
        ({"state": "cancelled", "reason": "cancelled", "exit_code": 143}, 6),
        ({"state": "succeeded", "exit_code": 0}, 0),
    ],
)
def test_the_exit_code_is_that_of_the_program(
    terminal: Terminal, server: FakeServer, end: dict[str, Any], code: int
) -> None:
    server.later = [lambda each: each.jobs.update({"job-1": an_ended_job(**end)})]
    assert terminal.type("run", "--", "train").exit_code == code


def test_what_kept_the_program_from_starting_is_said(terminal: Terminal, server: FakeServer) -> None:
    ended = an_ended_job(state="failed", reason="error", exit_code=None, problem="there is no secret KEY")
    server.later = [lambda each: each.jobs.update({"job-1": ended})]
    assert "job-1 failed: there is no secret KEY" in terminal.type("run", "--", "train").stderr
    assert "there is no secret KEY" in terminal.shows("show", "job-1")


def test_it_is_said_when_only_one_of_several_workers_is_shown(terminal: Terminal, server: FakeServer) -> None:
    both = a_running_job(nodes=("n1", "n2"))
    server.later = [
        lambda each: each.jobs.update({"job-1": both}),
        lambda each: each.jobs.update({"job-1": an_ended_job()}),
    ]
    server.logs["job-1", 0, 1] = b"hello\n"
    told = terminal.type("run", "--workers", "2", "--", "train").stderr
    assert "only rank 0 is shown; `muster logs -r all job-1` shows the others" in told


def test_ctrl_c_cancels_it_without_a_question(terminal: Terminal, server: FakeServer) -> None:
    def interrupt(_: FakeServer) -> None:
        raise KeyboardInterrupt

    server.later = [lambda _: None, interrupt]
    result = terminal.type("run", "--", "sleep", "9")
    assert result.exit_code == 6
    assert "job-1 is cancelled" in result.stderr
    assert server.jobs["job-1"]["state"] == "cancelled"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--gpus 1.5", "--gpus: 1.5 GPUs"),
        ("--memory lots", "--memory: must be a size"),
        ("-e 1A=b", "--env: not the name"),
        ("--name A", "--name: 'A' is not a name"),
        ("-e MISSING", "--env: has no value"),
    ],
)
def test_a_wrong_option_is_named(terminal: Terminal, server: FakeServer, options: str, message: str) -> None:
    result = terminal.type("run", *options.split(), "--", "true")
    assert result.exit_code == 2
    assert message in result.stderr
    assert not server.requests


def test_a_terminal_is_asked_for_only_where_there_is_one(terminal: Terminal, server: FakeServer) -> None:
    result = terminal.type("run", "--pty", "--", "bash")
    assert result.exit_code == 2
    assert "--pty: standard input is not a terminal" in result.stderr
    assert not server.requests


def test_what_is_typed_before_the_terminal_is_attached_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    ours, theirs = pty.openpty()
    with os.fdopen(theirs, encoding="utf-8") as typed, os.fdopen(ours, "wb", buffering=0) as keys:
        monkeypatch.setattr("sys.stdin", typed)
        before = termios.tcgetattr(theirs)
        keys.write(b"date\n")
        with raw_terminal():
            assert select.select([theirs], [], [], 10)[0]
            assert os.read(theirs, 99) == b"date\n"
        assert termios.tcgetattr(theirs) == before
