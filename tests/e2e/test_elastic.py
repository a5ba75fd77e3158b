"""Elastic jobs on a real server: each world has every rank once, from 0 on, whatever grows, shrinks and is lost."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import Shell, eventually

CONFIGURATION = """
[server]
port = 0

[local]
nodes = "2x2"

[policy]
min_runtime = "1s"
restart_cost = "1s"
stop_grace = "20s"
"""

WORKER = """
import json, os, signal, sys, time

rank = os.environ.get("JAX_PROCESS_ID", os.environ.get("RANK"))
world = os.environ.get("JAX_NUM_PROCESSES", os.environ.get("WORLD_SIZE"))
told = []
signal.signal(signal.SIGTERM, lambda *_: told.append(True))
with open(sys.argv[1], "a") as ledger:
    ledger.write(json.dumps([int(os.environ["MUSTER_ATTEMPT"]), int(rank), int(world)]) + "\\n")
while not told:
    if rank == "0":
        with open(os.environ["MUSTER_CHECKPOINT_NOTICE"], "w") as notice:
            notice.write("saved 1\\n")
    time.sleep(0.2)
sys.exit(1)
"""

ELASTIC = """
name: elastic
launch: {launch}
workers: "1..4"
resources: {{gpus: 1}}
max_duration: 1h
checkpoint: {{path: {folder}/saved, grace: 20s}}
run: exec python3 {folder}/worker.py {folder}/ledger
"""

GANG = "name: gang\nworkers: 2\nresources: {gpus: 1}\nmax_duration: 1h\nrun: sleep 1000\n"


class Fleet(Shell):
    """A shell beside two nodes with two GPUs each."""

    def job(self, job: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.says("show", job, "-o", "json"))
        return found

    def submit(self, text: str) -> str:
        return self.says("submit", "-", "-q", input=text).strip()

    def world_of(self, attempt: int) -> list[tuple[int, int]]:
        """The rank and the number of ranks that each process of an attempt was told, as they wrote them down."""
        ledger = self.folder / "ledger"
        lines = [json.loads(line) for line in ledger.read_text().splitlines()] if ledger.exists() else []
        return sorted((rank, world) for number, rank, world in lines if number == attempt)


@pytest.fixture
def fleet(tmp_path: Path) -> Iterator[Fleet]:
    (tmp_path / "muster.toml").write_text(CONFIGURATION, "utf-8")
    (tmp_path / "worker.py").write_text(WORKER)
    made = Fleet(home=tmp_path / "home", folder=tmp_path)
    up = made.run("up", "-d", "--config", str(tmp_path / "muster.toml"))
    try:
        assert up.returncode == 0, up.stderr
        yield made
    finally:
        made.run("down", "--jobs")


def whole(size: int) -> list[tuple[int, int]]:
    return [(rank, size) for rank in range(size)]


@pytest.mark.parametrize("launch", ["plain", "jax"])
def test_a_gang_that_shrinks_and_grows_again_has_every_rank_once_and_its_saves_count(fleet: Fleet, launch: str) -> None:
    elastic = fleet.submit(ELASTIC.format(launch=launch, folder=fleet.folder))
    eventually(lambda: fleet.world_of(1) == whole(4), what="four workers")
    gang = fleet.submit(GANG)
    eventually(lambda: fleet.is_in(gang, "running"), what="that it shrinks for a gang")
    eventually(lambda: fleet.world_of(2) == whole(2), what="two workers")
    eventually(lambda: fleet.job(elastic)["state"] == "running", what="that the two run")
    assert [worker["rank"] for worker in fleet.job(elastic)["workers"]] == [0, 1]
    eventually(
        lambda: "has room for one more worker" in (fleet.job(elastic)["no_larger"] or ""), what="why it is small"
    )
    assert "size       2 workers, no more: no node that it may use has room" in fleet.says("show", elastic)
    fleet.says("cancel", gang)
    eventually(lambda: fleet.world_of(3) == whole(4), what="four workers again")
    eventually(lambda: fleet.job(elastic)["state"] == "running", what="that the four run")
    begun = fleet.job(elastic)
    assert (begun["attempt"], begun["preemptions"], begun["retries"]) == (3, 0, 0)
    eventually(lambda: fleet.job(elastic)["checkpointed"] > begun["started"], what="a save that counts")
    told = fleet.says("story", elastic)
    assert "goes on with 2 workers instead of 4: it saves itself and starts again" in " ".join(told.split())
