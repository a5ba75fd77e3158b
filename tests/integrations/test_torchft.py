"""torchft: replica groups go on when one of them is lost, and a replacement joins them."""

import os
import re
import signal
import sys
from pathlib import Path

from muster.model.records import evolve
from muster.model.spec import JobSpec, Launch
from tests.launchers.gangs import a_gang, begin, codes, output, wait_until
from tests.local.machine import Machine, a_spec, is_alive

TRAIN = """
import os, sys, time
from datetime import timedelta
import torch
from torchft import Manager, ProcessGroupGloo
from torchft.ddp import DistributedDataParallel
from torchft.optim import OptimizerWrapper

torch.manual_seed(1)
model = torch.nn.Linear(8, 4)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)


def load(state):
    model.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])


manager = Manager(
    pg=ProcessGroupGloo(timeout=timedelta(seconds=10)),
    load_state_dict=load,
    state_dict=lambda: {"model": model.state_dict(), "optimizer": optimizer.state_dict()},
    min_replica_size=2,
    replica_id=f"group-{os.environ['REPLICA_GROUP_ID']}",
    hostname="127.0.0.1",
    timeout=timedelta(seconds=10),
)
wrapped, steps = DistributedDataParallel(manager, model), OptimizerWrapper(manager, optimizer)
while not os.path.exists(sys.argv[1]):
    steps.zero_grad()
    wrapped(torch.randn(4, 8)).square().mean().backward()
    steps.step()
    print(f"step {manager.current_step()} with {manager.num_participants()} at {time.time():.3f}", flush=True)
    time.sleep(0.05)
manager.shutdown(wait=False)
os._exit(0)
"""

STEP = re.compile(r"^step (\d+) with (\d+) at ([\d.]+)$", re.MULTILINE)


def steps_of(machine: Machine, rank: int) -> list[tuple[int, int, float]]:
    return [(int(step), int(count), float(at_s)) for step, count, at_s in STEP.findall(output(machine, rank))]


def groups_of(machine: Machine, rank: int) -> int:
    """With how many groups the last step was taken."""
    return steps_of(machine, rank)[-1][1] if steps_of(machine, rank) else 0


def a_training(folder: Path) -> tuple[JobSpec, Path]:
    (folder / "train.py").write_text(TRAIN)
    end = folder / "end"
    return a_spec(f"{sys.executable} {folder}/train.py {end}", launch=Launch.TORCHFT), end


def test_survivors_of_a_lost_group_go_on_stepping_and_a_replacement_joins(machine: Machine, tmp_path: Path) -> None:
    spec, end = a_training(tmp_path)
    gang = a_gang("n1", "n2", "n3")
    begin(machine, spec, gang)
    wait_until(lambda: all(groups_of(machine, rank) == 3 for rank in range(3)), lambda: output(machine, 0))
    machine.kill(1, generation=2)
    killed = codes(machine, 1)
    assert killed == {1: 128 + signal.SIGKILL}
    wait_until(lambda: groups_of(machine, 0) == groups_of(machine, 2) == 2, lambda: output(machine, 0))
    ended_s = steps_of(machine, 1)[-1][2]
    went_on_s = next(at_s for _, count, at_s in steps_of(machine, 0) if at_s > ended_s and count == 2)
    sys.stdout.write(f"the survivors stepped again after {went_on_s - ended_s:.2f} s\n")
    another = evolve(gang[1], rank=3)
    begin(machine, spec, (gang[0], gang[2], another), workers=(another,), generation=3)
    wait_until(lambda: groups_of(machine, 3) == 3 == groups_of(machine, 0), lambda: output(machine, 3))
    assert steps_of(machine, 3)[-1][0] > steps_of(machine, 1)[-1][0]
    end.touch()
    assert codes(machine, 4) == {0: 0, 1: 128 + signal.SIGKILL, 2: 0, 3: 0}


def test_a_training_goes_on_when_its_lighthouse_dies(machine: Machine, tmp_path: Path) -> None:
    spec, end = a_training(tmp_path)
    begin(machine, spec, a_gang("n1", "n2"))
    wait_until(lambda: groups_of(machine, 0) == 2, lambda: output(machine, 0))
    lighthouse = the_lighthouse(machine)
    os.kill(lighthouse, signal.SIGKILL)
    before = steps_of(machine, 0)[-1][0]
    wait_until(lambda: steps_of(machine, 0)[-1][0] > before + 20, lambda: output(machine, 0))
    assert not is_alive(lighthouse)
    end.touch()
    assert codes(machine, 2) == {0: 0, 1: 0}


def the_lighthouse(machine: Machine) -> int:
    """The process that serves the only gang of a machine."""
    (record,) = (machine.home / "services").glob("*.json")
    address = re.findall(r"--bind (\S+)", record.read_text())[0].encode()
    for process in Path("/proc").glob("[0-9]*"):
        arguments = (process / "cmdline").read_bytes().split(b"\0")
        if address in arguments and arguments[0] != b"/bin/sh":
            return int(process.name)
    raise AssertionError("no lighthouse")
