import os
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from muster.client.transport import TRIES
from tests.unit.cli.conftest import Terminal
from tests.unit.client.fake_server import FakeServer, a_problem, a_running_job


@pytest.mark.parametrize("command", ["ps", "nodes", "why job-1", "cancel job-1", "top --once", "run -- true"])
def test_a_server_that_is_not_there_exits_with_5(terminal: Terminal, server: FakeServer, command: str) -> None:
    server.failures = [httpx.ConnectError("refused") for _ in range(TRIES)]
    result = terminal.type(*command.split())
    assert result.exit_code == 5
    assert "no server answers at http://127.0.0.1:8470" in result.stderr
    assert "muster up" in result.stderr


def test_without_any_server_it_says_how_to_start_one(
    terminal: Terminal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("MUSTER_URL")
    monkeypatch.setenv("MUSTER_HOME", str(tmp_path))
    result = terminal.type("ps")
    assert result.exit_code == 5
    assert "muster up -d" in result.stderr


@pytest.mark.parametrize(
    ("status", "code", "exit_code"),
    [(401, "unauthenticated", 3), (403, "refused", 3), (404, "not_found", 4), (422, "invalid", 2), (500, "x", 5)],
)
def test_a_problem_has_its_exit_code(
    terminal: Terminal, server: FakeServer, status: int, code: str, exit_code: int
) -> None:
    server.answers["GET /v1/nodes"] = a_problem(status, code, "that is why")
    result = terminal.type("nodes")
    assert result.exit_code == exit_code
    assert result.stderr.startswith("muster: that is why")


def test_leaving_a_followed_log_is_no_failure(terminal: Terminal, server: FakeServer) -> None:
    def interrupt(_: FakeServer) -> None:
        raise KeyboardInterrupt

    server.jobs["job-1"] = a_running_job()
    server.later = [interrupt]
    result = terminal.type("logs", "-f", "job-1")
    assert (result.exit_code, result.stderr) == (0, "")


def test_leaving_a_wait_says_that_the_jobs_go_on(terminal: Terminal, server: FakeServer) -> None:
    def interrupt(_: FakeServer) -> None:
        raise KeyboardInterrupt

    server.later = [interrupt]
    result = terminal.type("wait", "job-1")
    assert result.exit_code == 6
    assert "the jobs go on" in result.stderr


def test_a_folder_that_cannot_be_made_is_named(terminal: Terminal, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    result = terminal.type("up", "-d", "--home", str(tmp_path / "file" / "home"))
    assert result.exit_code == 2
    assert result.stderr.startswith(f"muster: {tmp_path / 'file'}")
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize("words", ["plan examples/demo.yaml", "plan examples/demo.yaml -o json", "--version"])
def test_a_reader_that_closes_the_pipe_is_no_failure(words: str) -> None:
    read, write = os.pipe()
    os.close(read)
    program = "from muster.cli.main import main; main()"
    command = [sys.executable, "-c", program, *words.split()]
    root = Path(__file__).parents[3]
    done = subprocess.run(command, stdout=write, stderr=subprocess.PIPE, cwd=root, text=True, check=False)
    os.close(write)
    assert (done.returncode, done.stderr) == (0, "")


SIMULATE = "simulate --trace sample --first 3 --cluster 4x8 --policy fifo"


@pytest.mark.parametrize("words", [SIMULATE, f"{SIMULATE} -o json"])
@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-"])
def test_an_output_that_is_closed_is_no_failure(words: str, closed: str) -> None:
    program = "from muster.cli.main import main; main()"
    command = ["sh", "-c", f'exec "$0" -c "$1" {words} {closed}', sys.executable, program]
    done = subprocess.run(command, capture_output=True, cwd=Path(__file__).parents[3], text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert bool(done.stdout) == (closed == "2>&-")


@pytest.mark.parametrize("words", ["simulate --help", "plan --help", "token create --help", "--help"])
def test_a_flag_takes_no_value_and_help_asks_for_none(terminal: Terminal, words: str) -> None:
    result = terminal.type(*words.split())
    assert result.exit_code == 0
    assert "--help" in result.stdout
    assert "bool" not in result.stdout.lower()


def test_as_a_module_it_is_the_same_program() -> None:
    command = [sys.executable, "-m", "muster.cli.main", "plan", "nowhere.yaml"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith("muster: nowhere.yaml: there is no such file")
