"""One rank of four in a real training is slow, or stops: it is named, with its evidence, and by no other name."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from muster.client.client import Client
from muster.home import Home

TRAINING = Path(__file__).with_name("uneven_training.py")
PATIENCE_S = 240
"""Importing PyTorch alone takes seconds, and ten times as many on a machine that is busy."""

NEVER = 10**9
FROM = 60
"""The step from which one rank is slow or stuck: the ranks have been compared for some seconds by then."""


@contextmanager
def a_server(home: Path) -> Iterator[Client]:
    """A server with four nodes of one GPU slot each. Everything it started ends with it."""
    arguments = ("--home", str(home), "--nodes", "4x1", "--port", "0")
    server = subprocess.Popen([sys.executable, "-m", "muster.main", "serve", *arguments], stdout=subprocess.DEVNULL)
    try:
        whereabouts = Home(home).server
        until(whereabouts.exists)
        with Client(json.loads(whereabouts.read_text())["url"], Home(home).token.read_text().strip()) as client:
            yield client
    finally:
        server.terminate()
        server.wait(PATIENCE_S)
        subprocess.run([sys.executable, "-m", "muster.main", "down", "--home", str(home)], check=True)


def until(is_so: Callable[[], object]) -> Any:
    """Wait until something is so; what it said."""
    give_up_s = time.monotonic() + PATIENCE_S
    while time.monotonic() < give_up_s:
        if said := is_so():
            return said
        time.sleep(0.2)
    raise AssertionError("it has not happened")


def submitted(client: Client, folder: Path, *uneven: int, kind: str = "ddp", **more: Any) -> str:
    """A training of four ranks on four nodes; its id."""
    ledger = folder / "ledger"
    numbers = " ".join(map(str, uneven))
    file = {
        "name": "uneven",
        "workers": 4,
        "resources": {"gpus": 1},
        "launch": "torchrun",
        "run": f"{sys.executable} {TRAINING} {kind} {ledger} {numbers}",
        "env": {"PYTHONPATH": os.pathsep.join(each for each in sys.path if each)},
        "checkpoint": {"path": f"{folder}/checkpoints", "every": "10m"},
        **more,
    }
    return client.submit(file).id


def step_at(folder: Path, moment_s: float) -> int:
    """The last step that was over at a time."""
    lines = (line.split() for line in (folder / "ledger").read_text().splitlines())
    return max(int(step) for step, at in lines if float(at) <= moment_s)


@pytest.mark.parametrize("kind", ["ddp", "fsdp"])
def test_a_rank_that_is_slower_by_a_third_is_named_within_fifty_steps(kind: str, tmp_path: Path) -> None:
    with a_server(tmp_path / "home") as client:
        job = submitted(client, tmp_path, 2, FROM, -1, NEVER, kind=kind)
        (slow,) = until(lambda: client.job(job).stragglers)
        (found,) = [each for each in client.job_events(job) if each.kind == "straggler_found"]
        shown = client.job(job)
        node = next(worker.node for worker in shown.workers if worker.rank == 2)
        assert (slow.rank, slow.node, slow.gpus) == (2, node, (0,))
        assert slow.slowdown == pytest.approx(1.3, abs=0.1)
        assert found.at is not None
        assert 0 < step_at(tmp_path, found.at.timestamp()) - FROM <= 50
        assert shown.progress is not None
        assert shown.progress.step_s is not None
        assert shown.progress.step_s.p50 >= 0.1


def test_a_rank_that_stops_is_called_a_hang_with_its_stack_and_the_job_starts_again(tmp_path: Path) -> None:
    with a_server(tmp_path / "home") as client:
        job = submitted(client, tmp_path, -1, NEVER, 1, FROM, on_hang="restart")
        until(lambda: client.job(job).attempt == 2)
        (found,) = [each for each in client.job_events(job) if each.kind == "hang_found"]
        assert (found.document["ranks"], found.document["step"]) == ([1], FROM)
        kept = {each.rank: each.stack for each in client.stacks(job, attempt=1).stacks}
        assert sorted(kept) == [0, 1, 2, 3]
        assert "stand_still" in kept[1]
        assert "stand_still" not in kept[0]
        assert client.job(job).retries == 0
