"""A process that is killed while it writes has written all of a transaction or nothing, and all it said it had."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from muster.failpoints import VARIABLE
from muster.model.errors import Refused
from muster.store.sql import open_store
from tests.crash.appending import BATCH, LAYOUT, batch, body, record
from tests.postgres import Server

FAILPOINTS = ("append.before-commit", "append.after-commit", "save_state.before-commit", "save_state.after-commit")
KILLS = {"sqlite": 5, "postgresql": 2}
"""A server that loses a client is not the one that was killed: there is less to find."""
ROOT = Path(__file__).parents[2]


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/muster.db"
    server: Server = request.getfixturevalue("postgres")
    return server.new_url()


def run(url: str, failpoint: str) -> tuple[int, int]:
    """Let a process write until it is killed there. What it said was safe: version, version of the newest state."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), VARIABLE: failpoint}
    command = [sys.executable, "-m", "tests.crash.appending", url, "20"]
    ended = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert ended.returncode == -signal.SIGKILL, ended.stderr
    lines = ended.stdout.split("\n")
    versions = [int(line) for line in lines if line.isdigit()]
    states = [int(line.removeprefix("saved ")) for line in lines if line.startswith("saved ")]
    return max(versions), max(states, default=0)


@pytest.mark.parametrize("failpoint", FAILPOINTS)
def test_what_was_acknowledged_is_there_and_nothing_is_half_written(url: str, failpoint: str) -> None:
    saved = 0
    for kill in range(1, KILLS[url.partition(":")[0]] + 1):
        version, newly_saved = run(url, f"{failpoint}=kill@{kill}")
        saved = max(saved, newly_saved)
        with open_store(url, write=True) as store:
            found = store.log.version
            assert found in (version, version + BATCH)
            batches = found // BATCH
            assert list(store.log.read()) == [event for number in range(batches) for event in batch(number)]
            assert [each.entry.subject for each in store.audit.entries(0, 1_000)] == [str(n) for n in range(batches)]
            assert store.jobs.find([record(0).id]) == ({record(0).id: record(batches - 1)} if batches else {})
            state = store.states.load_state(LAYOUT)
            assert (state.version if state else 0) >= saved
            assert state is None or state.body == body(state.version)
            assert store.audit.verify().is_whole


def test_a_killed_writer_does_not_keep_the_next_one_out_and_a_living_one_does(url: str) -> None:
    run(url, "append.before-commit=kill@1")
    with open_store(url, write=True) as store:
        with pytest.raises(Refused, match="in use by"):
            open_store(url, write=True)
        assert store.log.version == 0
