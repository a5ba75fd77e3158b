"""A small training, one rank of which becomes slow or stops.

    python uneven_training.py ddp|fsdp LEDGER SLOW_RANK SLOW_FROM STUCK_RANK STUCK_FROM

As most trainings do, the ranks add up their losses in each step, and with FSDP2 also the norm of their gradients. The
work of a step is sleeping, so that four ranks need no more than one processor. Rank 0 writes into the ledger at
which time each step was over.
"""

import sys
import time

import torch
import torch.distributed
from torch.distributed.fsdp import fully_shard
from torch.nn.parallel import DistributedDataParallel

from muster.train import Checkpointer

STEPS = 100_000
STEP_S = 0.1
SLOWER = 1.3


def train(kind: str, ledger: str, slow: int, slow_from: int, stuck: int, stuck_from: int) -> None:
    torch.set_num_threads(1)
    torch.distributed.init_process_group("gloo")
    rank = torch.distributed.get_rank()
    model: torch.nn.Module = torch.nn.Linear(16, 4)
    if kind == "fsdp":
        fully_shard(model)
    else:
        model = DistributedDataParallel(model)
    optimizer = torch.optim.SGD(model.parameters(), 1e-3)
    state = {"model": model, "optimizer": optimizer}
    with Checkpointer() as checkpoints, open(ledger, "a", encoding="utf-8") as file:
        step = checkpoints.restore(state)
        checkpoints.watch(model)
        while step < STEPS:
            while rank == stuck and step >= stuck_from:
                stand_still()
            time.sleep(STEP_S * (SLOWER if rank == slow and step >= slow_from else 1))
            loss = model(torch.randn(4, 16)).square().mean()
            optimizer.zero_grad()
            loss.backward()
            if kind == "fsdp":
                torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            shown = loss.detach()
            torch.distributed.all_reduce(shown)
            step += 1
            if rank == 0:
                file.write(f"{step} {time.time()}\n")
                file.flush()
            if not checkpoints.step(step, state):
                break
    torch.distributed.destroy_process_group()


def stand_still() -> None:
    time.sleep(1)


if __name__ == "__main__":
    train(sys.argv[1], sys.argv[2], *map(int, sys.argv[3:]))
