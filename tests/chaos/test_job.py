"""The program of the jobs: what it claims no other process can claim, and what it writes is what happened."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.chaos import job
from tests.chaos.ledger import Line, Watcher, read_lines

DEADLINE_S = 30.0

Process = subprocess.Popen[bytes]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "claims").mkdir()
    (tmp_path / "saves").mkdir()
    return tmp_path


def begin(folder: Path, *, attempt: int = 1, node: str = "n1", gpus: str = "0", **script: object) -> Process:
    """Start a worker of job `one`."""
    given = {"folder": str(folder), "label": "one", "seconds": 600, **script}
    variables = {
        "MUSTER_JOB": "job-1",
        "MUSTER_ATTEMPT": str(attempt),
        "MUSTER_RANK": "0",
        "MUSTER_WORLD": "1",
        "MUSTER_NODE": node,
        "MUSTER_GPUS": gpus,
    }
    command = [sys.executable, "-S", "-E", "-B", str(job.__file__), json.dumps(given)]
    return subprocess.Popen(command, env=variables, stdout=subprocess.DEVNULL)


def lines_of(folder: Path, worker: Process, what: str) -> list[Line]:
    """The lines of a kind that a worker has written once it works."""
    until_s = time.monotonic() + DEADLINE_S
    while True:
        lines = [line for line in read_lines(folder / "ledger")[0] if line.pid == worker.pid]
        if any(line.what in ("step", "end") for line in lines):
            return [line for line in lines if line.what == what]
        assert time.monotonic() < until_s
        time.sleep(0.01)


def end(worker: Process, number: int = signal.SIGKILL) -> int:
    worker.send_signal(number)
    return worker.wait(DEADLINE_S)


def overs(folder: Path, worker: Process) -> list[str]:
    return [line.details["over"] for line in lines_of(folder, worker, "clash")]


def test_a_second_attempt_beside_the_first_names_the_process_that_lives(folder: Path) -> None:
    first = begin(folder)
    assert overs(folder, first) == []
    second = begin(folder, attempt=2, node="n2")
    [clash] = lines_of(folder, second, "clash")
    assert (clash.details["over"], clash.details["held_by"]) == ("attempt", [first.pid, job.RANKS])
    end(first)
    end(second)


def test_the_same_attempt_and_the_same_gpu_twice_are_both_seen(folder: Path) -> None:
    first = begin(folder)
    lines_of(folder, first, "start")
    second = begin(folder)
    assert overs(folder, second) == ["rank", "gpu"]
    end(first)
    end(second)


def test_claims_go_with_the_process_even_when_it_is_killed(folder: Path) -> None:
    watcher = Watcher(folder)
    first = begin(folder)
    lines_of(folder, first, "start")
    assert watcher.held() == ["job-one", "node-n1"]
    held = watcher.holder_of("one")
    assert held is not None
    assert held[0] == first.pid
    end(first)
    assert watcher.held() == []
    second = begin(folder, attempt=2)
    assert overs(folder, second) == []
    end(second)


def test_a_stop_is_heard_unless_the_script_is_stubborn(folder: Path) -> None:
    willing = begin(folder)
    lines_of(folder, willing, "start")
    assert end(willing, signal.SIGTERM) == 143
    stubborn = begin(folder, attempt=2, stubborn=True, seconds=0.5, code=7)
    lines_of(folder, stubborn, "start")
    assert end(stubborn, signal.SIGTERM) == 7
    [ended] = [line for line in read_lines(folder / "ledger")[0] if line.what == "end" and line.pid == stubborn.pid]
    assert ended.details["code"] == 7


def test_what_was_saved_is_not_done_again(folder: Path) -> None:
    first = begin(folder, saves=True)
    until_s = time.monotonic() + DEADLINE_S
    while not (folder / "saves" / "one-0").exists():
        assert time.monotonic() < until_s
        time.sleep(0.01)
    end(first)
    second = begin(folder, attempt=2, saves=True)
    assert lines_of(folder, second, "step")[0].details["step"] > job.SAVE_STEPS
    end(second)


def test_the_watcher_sees_a_process_die(folder: Path) -> None:
    watcher = Watcher(folder)
    watcher.start()
    worker = begin(folder)
    lines_of(folder, worker, "start")
    until_s = time.monotonic() + DEADLINE_S
    while not watcher.living():
        assert time.monotonic() < until_s
        time.sleep(0.01)
    end(worker)
    while not watcher.deaths:
        assert time.monotonic() < until_s
        time.sleep(0.01)
    watcher.stop()
    [run] = watcher.runs()
    assert not run.is_alive
    assert run.gone_s >= run.alive_s > run.started_s
