"""Elastic torchrun: agents of survivors form the gang again, and a replacement joins it."""

import re
import signal
import sys
from pathlib import Path

from muster.model.records import evolve
from muster.model.spec import Launch
from tests.launchers.gangs import a_gang, begin, codes, elastic, output, wait_until
from tests.local.machine import Machine, a_spec

TRAIN = """
import os, sys, time
from datetime import timedelta
import torch
import torch.distributed as dist

dist.init_process_group("gloo", timeout=timedelta(seconds=20))
formed = f"rank {dist.get_rank()} of {dist.get_world_size()} is worker {os.environ['MUSTER_RANK']}"
print(formed, f"at {time.time():.3f}", flush=True)
while True:
    over = torch.tensor([float(os.path.exists(sys.argv[1]))])
    dist.all_reduce(over)
    if over > 0:
        break
    time.sleep(0.05)
dist.barrier()
dist.destroy_process_group()
"""

FORMED = re.compile(r"^rank (\d) of (\d) is worker (\d) at ([\d.]+)$", re.MULTILINE)


def formations(machine: Machine, rank: int) -> list[tuple[int, int]]:
    """Which rank of how many a worker was, each time the gang was formed."""
    return [(int(own), int(size)) for own, size, _, _ in FORMED.findall(output(machine, rank))]


def formed_s(machine: Machine, rank: int) -> float:
    """When the gang was formed last."""
    return float(FORMED.findall(output(machine, rank))[-1][3])


def test_survivors_form_the_gang_again_and_a_replacement_joins_it(machine: Machine, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(TRAIN)
    end = tmp_path / "end"
    spec = a_spec(f"{sys.executable} {tmp_path}/train.py {end}", launch=Launch.TORCHRUN)
    spec, gang = elastic(spec, 2, 3), a_gang("n1", "n2", "n3")
    begin(machine, spec, gang)
    wait_until(lambda: all(formations(machine, rank)[-1:] == [(rank, 3)] for rank in range(3)), "three workers")
    # The first worker: nothing that the gang needs is in it.
    machine.kill(0, generation=2)
    killed = codes(machine, 1)
    killed_s = max(event.at_ms for event in machine.events) / 1000
    assert killed == {0: 128 + signal.SIGKILL}
    wait_until(lambda: formations(machine, 1)[-1] == (0, 2) and formations(machine, 2)[-1] == (1, 2), "two workers")
    sys.stdout.write(f"two workers after {formed_s(machine, 2) - killed_s:.1f} s\n")
    another = evolve(gang[0], rank=3)
    begin(machine, spec, (gang[1], gang[2], another), workers=(another,), generation=3)
    wait_until(lambda: formations(machine, 3)[-1:] == [(2, 3)] and formations(machine, 1)[-1] == (0, 3), "three again")
    sys.stdout.write(f"three workers {formed_s(machine, 3) - formed_s(machine, 2):.1f} s\n")
    end.touch()
    assert codes(machine, 4) == {0: 128 + signal.SIGKILL, 1: 0, 2: 0, 3: 0}
