"""What `muster up` and `muster down` make of the processes they start."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread

import pytest

from muster.cli.server import server_process
from muster.cli.server.server_process import end_server, run_down, start_detached
from muster.home import Home
from muster.locks import alone_in
from muster.model.errors import InvalidInput, MusterError, Refused, TimedOut, Unavailable
from muster.processes import entry
from tests.unit.cli.conftest import Terminal

STARTING = """
import json, os, sys, time
from pathlib import Path
from muster.locks import alone_in
from muster.processes import entry
home = Path(sys.argv[1])
with alone_in(home, "busy"):
    print("in", flush=True)
    time.sleep(0.3)
    ticks = entry(os.getpid()).start_ticks
    record = {"url": "http://127.0.0.1:1", "pid": os.getpid(), "start_ticks": ticks}
    (home / "server.json").write_text(json.dumps(record))
    time.sleep(100)
"""


def test_a_server_that_is_just_starting_is_ended_too(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", STARTING, str(tmp_path)], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"in\n"
        # Ended from another thread's point of view: the thread that waits for it must be there to see it gone.
        waiting = Thread(target=process.wait)
        waiting.start()
        assert end_server(tmp_path)
        waiting.join()
    assert process.returncode == -signal.SIGTERM
    assert not end_server(tmp_path)


def test_a_start_that_hangs_is_told_and_not_taken_for_no_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server_process, "START_S", 0.1)
    with alone_in(tmp_path, "busy"), pytest.raises(TimedOut, match="a server is starting in"):
        end_server(tmp_path)


@contextmanager
def a_stopped_server(home: Path, program: str) -> Iterator[subprocess.Popen[bytes]]:
    """A server that hangs: it has said where it is, or is just starting."""
    command = [sys.executable, "-c", program, str(home), "muster.main", "serve", "--home", str(home)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"in\n"
        os.kill(process.pid, signal.SIGSTOP)
        os.waitpid(process.pid, os.WUNTRACED)
        try:
            yield process
        finally:
            process.kill()


IS_UP = (
    STARTING.replace("time.sleep(0.3)", "pass")
    .replace('print("in", flush=True)', "pass", 1)
    .replace("    time.sleep(100)", '    print("in", flush=True)\n    time.sleep(100)')
)


@pytest.mark.parametrize("program", [IS_UP, STARTING], ids=["up", "starting"])
def test_ending_everything_kills_a_server_that_hangs(
    terminal: Terminal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: str
) -> None:
    monkeypatch.setattr(server_process, "STOP_S", 0.1)
    monkeypatch.setattr(server_process, "START_S", 0.1)
    with a_stopped_server(tmp_path, program) as process:
        alone = terminal.type("down", "--home", str(tmp_path))
        assert alone.exit_code == TimedOut.exit_code
        assert process.poll() is None
        done = terminal.type("down", "--jobs", "--home", str(tmp_path))
        assert (done.exit_code, done.stdout[:32]) == (0, "Muster is down, and nothing runs"), done.stderr
        assert "had not stopped after 0 s, and was killed" in done.stderr
        assert process.wait() == -signal.SIGKILL


@pytest.mark.parametrize(("code", "error"), [(6, TimedOut), (1, Unavailable)])
def test_what_could_not_be_ended_is_told_with_its_exit_code(code: int, error: type[MusterError]) -> None:
    program = f"import sys; sys.stderr.write('muster: n1 goes on\\n'); sys.exit({code})"
    with pytest.raises(error, match="not all jobs could be ended: n1 goes on"):
        run_down([sys.executable, "-c", program])


def test_what_a_server_prints_and_logs_is_private_and_told_when_it_ends_at_once(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    log, output = home / "server.log", home / "server.out"
    log.write_text("an older line\n")
    output.write_text("an older word\n")
    output.chmod(0o644)
    program = f"print('printed'); open({str(log)!r}, 'a').write('logged\\n'); raise SystemExit(1)"
    with pytest.raises(Unavailable, match=r"(?s)exit code 1.*server\.out.*printed.*server\.log.*logged") as failure:
        start_detached([sys.executable, "-c", program], home)
    assert "older" not in str(failure.value)
    assert output.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(("code", "error"), [(2, InvalidInput), (3, Refused), (6, TimedOut), (1, Unavailable)])
def test_a_server_that_ends_at_once_passes_its_exit_code_on(
    tmp_path: Path, code: int, error: type[MusterError]
) -> None:
    program = f"import sys; sys.stderr.write('muster: wrong\\n'); sys.exit({code})"
    with pytest.raises(error, match=rf"exit code {code}; its last words, from .*:\n  muster: wrong") as caught:
        start_detached([sys.executable, "-c", program], tmp_path)
    assert caught.type is error


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Path]:
    """A home whose server runs: something that looks like it, and was started with --nodes 2x4."""
    program = "import sys; print('up', flush=True); sys.stdin.read()"
    command = [sys.executable, "-c", program, "serve", "--nodes", "2x4", "--insecure-bind"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "up\n"
        found = entry(process.pid)
        assert found is not None
        record = {"url": "http://127.0.0.1:1", "pid": process.pid, "start_ticks": found.start_ticks}
        Home(tmp_path).server.write_text(json.dumps(record), "utf-8")
        yield tmp_path
        process.communicate("")


def test_options_that_a_running_server_does_not_heed_are_named(terminal: Terminal, running: Path) -> None:
    other = terminal.type("up", "-d", "--home", str(running), "--nodes", "4x8", "--port", "1")
    assert other.exit_code == 0
    assert "--port, --nodes had no effect: the server is running already; `muster down` first" in other.stderr
    same = terminal.type("up", "-d", "--home", str(running), "--nodes", "2x4")
    assert (same.exit_code, "no effect" in same.stderr) == (0, False)


def test_a_second_server_in_the_foreground_is_told_where_the_first_is(terminal: Terminal, running: Path) -> None:
    result = terminal.type("up", "--home", str(running))
    assert result.exit_code == 3
    assert f"the server of {running} is running already, at http://127.0.0.1:1 (process" in result.stderr


def test_how_to_listen_is_passed_on(terminal: Terminal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[list[str]] = []

    def begin(_: str, command: list[str]) -> None:
        begun.append(command)
        raise InvalidInput("enough")

    monkeypatch.setattr(os, "execv", begin)
    (tmp_path / "pem").touch()
    tls = ["--tls-certificate", str(tmp_path / "pem"), "--tls-key", str(tmp_path / "pem")]
    terminal.type("up", "--home", str(tmp_path), *tls, "--insecure-bind")
    assert begun[0][-5:] == [*tls, "--insecure-bind"]
    missing = terminal.type("up", "--home", str(tmp_path), "--tls-key", str(tmp_path / "nothing"))
    assert missing.exit_code == 2
