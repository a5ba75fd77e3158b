"""PyTorch's own ways of meeting, with real processes on the CPU."""

import re
import sys
from pathlib import Path

from muster.model.spec import Launch
from tests.launchers.gangs import a_gang, begin, codes, output
from tests.local.machine import Machine, a_spec

TRAIN = """
import os
import sys
import torch
import torch.distributed as dist
from torch.distributed.fsdp import fully_shard
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo")
rank = dist.get_rank()
who = " ".join(os.environ[name] for name in ("MUSTER_RANK", "LOCAL_RANK", "TORCHELASTIC_RUN_ID", "MUSTER_RESTART"))
print(f"rank {rank} of {dist.get_world_size()} is {who}")


def losses(wrap):
    torch.manual_seed(1)
    model = wrap(torch.nn.Linear(8, 4))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    seen = []
    for step in range(3):
        generator = torch.Generator().manual_seed(100 * step + rank)
        loss = model(torch.randn(4, 8, generator=generator)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total = loss.detach().clone()
        dist.all_reduce(total)
        seen.append(round(float(total), 5))
    return seen


ddp = losses(DistributedDataParallel)
fsdp = losses(lambda model: fully_shard(model, mesh=torch.distributed.init_device_mesh("cpu", (4,))))
if rank == 0:
    print("DDP", ddp)
    print("FSDP2", fsdp)
sys.stdout.flush()
dist.barrier()
os._exit(0)  # FSDP2 on gloo sometimes aborts at the end of a process, whoever started it
"""

MEETS = """
import os
import torch
import torch.distributed as dist
dist.init_process_group("gloo", init_method="env://")
total = torch.tensor([float(os.environ["MUSTER_RANK"]) + 1])
dist.all_reduce(total)
print("rank", dist.get_rank(), "of", dist.get_world_size(), "sums to", int(total), "with", os.environ["MUSTER_GPUS"])
dist.destroy_process_group()
"""


def script(folder: Path, text: str) -> str:
    file = folder / "train.py"
    file.write_text(text)
    return f"{sys.executable} {file}"


def test_torchrun_trains_with_ddp_and_fsdp2_on_two_workers_of_two_processes(machine: Machine, tmp_path: Path) -> None:
    gang = a_gang("n1", "n2", gpus=2)
    begin(machine, a_spec(script(tmp_path, TRAIN), launch=Launch.TORCHRUN), gang)
    assert codes(machine, 2) == {0: 0, 1: 0}, output(machine, 0)
    logs = [output(machine, rank) for rank in (0, 1)]
    # Not line by line: two processes may write a line at the same moment.
    ranks = [sorted(re.findall(r"rank (\d) of 4 is (\d) (\d) job-1-run-1 0", log)) for log in logs]
    # Ranks are contiguous along workers, which are in the order of the topology.
    assert ranks == [[("0", "0", "0"), ("1", "0", "1")], [("2", "1", "0"), ("3", "1", "1")]]
    (ddp,), (fsdp,) = (
        re.findall(r"^DDP (.*)$", logs[0], re.MULTILINE),
        re.findall(r"^FSDP2 (.*)$", logs[0], re.MULTILINE),
    )
    assert ddp == fsdp
    assert "DDP" not in logs[1]


def test_a_failing_process_ends_the_gang_without_a_restart_by_torchrun(machine: Machine, tmp_path: Path) -> None:
    run = script(tmp_path, "import sys; print('once'); sys.exit(5)")
    begin(machine, a_spec(run, launch=Launch.TORCHRUN), a_gang("n1"))
    assert codes(machine, 1) == {0: 1}
    assert output(machine, 0).count("once") == 1


def test_a_plain_gang_is_one_process_per_worker_that_sees_all_its_gpus(machine: Machine, tmp_path: Path) -> None:
    begin(machine, a_spec(script(tmp_path, MEETS)), a_gang("n1", "n2", gpus=2))
    assert codes(machine, 2) == {0: 0, 1: 0}, output(machine, 0)
    for rank in (0, 1):
        assert f"rank {rank} of 2 sums to 3 with 0,1" in output(machine, rank).splitlines()


def test_a_compound_line_that_calls_torchrun_needs_no_flags(machine: Machine, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("import os; print('rank', os.environ['RANK'], 'of', os.environ['WORLD_SIZE'])")
    run = f"echo first | cat; {sys.executable} -m torch.distributed.run {tmp_path}/train.py"
    begin(machine, a_spec(run, launch=Launch.TORCHRUN), a_gang("n1", "n1"))
    assert codes(machine, 2) == {0: 0, 1: 0}, output(machine, 0)
    for rank in (0, 1):
        # A busy machine makes PyTorch print more, such as that a connection is tried again.
        assert {"first", f"rank {rank} of 2"} <= set(output(machine, rank).splitlines())
