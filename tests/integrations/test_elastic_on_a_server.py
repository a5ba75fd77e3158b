"""An elastic torchrun loses a node of a real server: its survivor goes on in the same attempt, with a replacement."""

import json
import os
import re
import signal
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from muster.home import Home
from tests.chaos import processes
from tests.e2e.conftest import Shell, eventually

CONFIGURATION = """
[server]
port = 0

[local]
nodes = "2x1"
"""

TRAIN = """
import os, sys, time
from datetime import timedelta

import torch
import torch.distributed as dist
from muster.train import Checkpointer

dist.init_process_group("gloo", timeout=timedelta(seconds=30))
rank, world = dist.get_rank(), dist.get_world_size()
total = torch.zeros(1)
state = {"total": total}
with Checkpointer(every="1s") as checkpoints:
    first = checkpoints.restore(state) or 0
    with open(sys.argv[1], "a") as ledger:
        ledger.write(f"attempt {os.environ['MUSTER_ATTEMPT']} rank {rank} of {world} from {first}\\n")
    step = first
    while True:
        step += 1
        part = torch.tensor([1.0 / world, float(os.path.exists(sys.argv[2]))])
        dist.all_reduce(part)
        total += part[0]
        if not checkpoints.step(step, state) or part[1] > 0:
            break
        time.sleep(0.05)
print(f"rank {rank} counted {round(float(total))} in {step} steps", flush=True)
dist.barrier()
dist.destroy_process_group()
"""

JOB = """
name: train
launch: torchrun
workers: "1..2"
resources: {{gpus: 1}}
max_duration: 1h
checkpoint: {{path: {folder}/saved, every: 1s}}
run: {python} {folder}/train.py {folder}/ledger {folder}/end
"""

FORMED = re.compile(r"^attempt (\d+) rank (\d) of (\d) from (\d+)$", re.MULTILINE)
MARK = "elastic-on-a-server"


class Fleet(Shell):
    """A shell beside two nodes with one GPU each."""

    def job(self, job: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.says("show", job, "-o", "json"))
        return found

    def formed(self) -> list[tuple[int, int, int, int]]:
        """Attempt, rank, number of ranks and first step of every process that has met the others."""
        ledger = self.folder / "ledger"
        found = FORMED.findall(ledger.read_text()) if ledger.exists() else []
        return [(int(attempt), int(rank), int(world), int(step)) for attempt, rank, world, step in found]

    def kill_node(self, node: str) -> None:
        """End a node at once: its supervisor, and everything that it runs."""
        said = json.loads((Home(self.home).nodes / node / "supervisor.json").read_text())
        mark = self.variables[processes.MARK]
        assert processes.send(said["pid"], said["start_ticks"], mark, signal.SIGKILL)
        for each in processes.find(mark):
            with suppress(OSError):  # it may have ended with another one
                variables = Path(f"/proc/{each.pid}/environ").read_bytes().split(b"\0")
                if f"MUSTER_NODE={node}".encode() in variables:
                    processes.send(each.pid, each.ticks, mark, signal.SIGKILL)


@pytest.fixture
def fleet(tmp_path: Path) -> Iterator[Fleet]:
    (tmp_path / "muster.toml").write_text(CONFIGURATION, "utf-8")
    (tmp_path / "train.py").write_text(TRAIN)
    made = Fleet(home=tmp_path / "home", folder=tmp_path, variables={processes.MARK: f"{MARK}-{os.getpid()}"})
    up = made.run("up", "-d", "--config", str(tmp_path / "muster.toml"))
    try:
        assert up.returncode == 0, up.stderr
        yield made
    finally:
        made.run("down", "--jobs")


def test_a_survivor_goes_on_without_the_node_of_the_first_worker_and_a_replacement_joins(fleet: Fleet) -> None:
    job = fleet.says("submit", "-", "-q", input=JOB.format(folder=fleet.folder, python=sys.executable)).strip()
    eventually(lambda: sorted(fleet.formed())[-1:] == [(1, 1, 2, 0)], what="two ranks")
    eventually(lambda: fleet.job(job)["checkpointed"], what="a checkpoint of both")
    fleet.kill_node(fleet.job(job)["workers"][0]["node"])
    # The survivor may form a gang of its own first, if the replacement takes longer to come up.
    eventually(
        lambda: sorted(each[1:3] for each in fleet.formed()[2:][-2:]) == [(0, 2), (1, 2)], what="two ranks again"
    )
    assert all(attempt == 1 for attempt, *_ in fleet.formed())
    assert all(step > 0 for *_, step in fleet.formed()[2:]), "they resume from a checkpoint"
    began = fleet.job(job)["checkpointed"]
    eventually(lambda: fleet.job(job)["checkpointed"] > began, what="a checkpoint of the new gang")
    (fleet.folder / "end").touch()
    eventually(lambda: fleet.job(job)["state"] == "succeeded", what="its end")
    counted = re.findall(r"counted (\d+) in (\d+) steps", fleet.says("logs", job, "--rank", "1"))
    assert counted
    assert all(total == steps for total, steps in counted), "no step is lost, and none is counted twice"
    told = " ".join(fleet.says("story", job).split())
    assert "it goes on without rank 0, and rank 1 is its first worker now" in told
    assert "goes on with 2 workers instead of 1" in told
