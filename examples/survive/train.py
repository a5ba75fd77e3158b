"""A small GPT that learns to count, on any number of processes, and that survives.

What makes it survive are the five lines marked with `muster`. Data is a function of the step, so a training that was
interrupted goes on with exactly the numbers of one that was not.

    torchrun --nproc-per-node 2 train.py --steps 200 --path /tmp/counting      by hand
    muster submit job.yaml                                                     as a job
"""

import argparse
import os
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import fully_shard
from torch.nn.functional import cross_entropy
from torch.nn.parallel import DistributedDataParallel

from muster.train import Checkpointer  # muster

VOCABULARY, LENGTH, WIDTH, LAYERS = 64, 32, 64, 2
BATCH = 12
"""Sequences of one step, over all processes: a number that 1, 2, 3 and 4 divide."""


class Block(nn.Module):
    """Attention and a small network, each beside a shortcut."""

    def __init__(self) -> None:
        super().__init__()
        self.before, self.between = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.attention = nn.MultiheadAttention(WIDTH, 4, batch_first=True)
        self.network = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """One layer."""
        ahead = torch.triu(torch.ones(x.shape[1], x.shape[1], dtype=torch.bool), diagonal=1)
        normed = self.before(x)
        x = x + self.attention(normed, normed, normed, attn_mask=ahead, need_weights=False)[0]
        return x + self.network(self.between(x))


class Gpt(nn.Module):
    """Says which number follows."""

    def __init__(self) -> None:
        super().__init__()
        self.tokens, self.places = nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(LENGTH, WIDTH)
        self.blocks = nn.Sequential(*(Block() for _ in range(LAYERS)))
        self.head = nn.Linear(WIDTH, VOCABULARY)

    def forward(self, numbers: torch.Tensor) -> torch.Tensor:
        """Scores of the following number, at each place."""
        return self.head(self.blocks(self.tokens(numbers) + self.places(torch.arange(numbers.shape[1]))))


def batch(step: int, rank: int, world: int) -> tuple[torch.Tensor, torch.Tensor]:
    """The part of a rank of the sequences of a step: counting from somewhere in strides of one to seven."""
    chance = torch.Generator().manual_seed(step)
    start = torch.randint(VOCABULARY, (BATCH, 1), generator=chance)
    stride = torch.randint(1, 8, (BATCH, 1), generator=chance)
    sequence = (start + stride * torch.arange(LENGTH + 1)) % VOCABULARY
    mine = sequence[rank * BATCH // world : (rank + 1) * BATCH // world]
    return mine[:, :-1], mine[:, 1:]


def main() -> None:
    """Train, from the newest checkpoint on."""
    options = _options()
    torch.set_num_threads(1)
    if "RANK" in os.environ:
        dist.init_process_group("gloo")
    rank, world = (dist.get_rank(), dist.get_world_size()) if dist.is_initialized() else (0, 1)
    torch.manual_seed(0)
    model: nn.Module = Gpt()
    if options.fsdp:
        for block in model.blocks:
            fully_shard(block)
        fully_shard(model)
    elif dist.is_initialized():
        # So that gradients are summed in the same order in every step. Otherwise DDP arranges them anew after the first
        # step of a process, and a resumed training would differ in the last bits.
        model = DistributedDataParallel(model, find_unused_parameters=True)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    state = {"model": model, "optimizer": optimizer}

    with Checkpointer(options.path, every=options.every) as checkpoints:  # muster
        step = checkpoints.restore(state)  # muster
        checkpoints.watch(model)  # muster
        while step < options.steps:
            loss = train_one(model, optimizer, step, rank, world, options.pause)
            step += 1
            if rank == 0:
                _note(step, loss, options)
            if not checkpoints.step(step, state, loss=loss):  # muster
                break
    if dist.is_initialized():
        dist.destroy_process_group()


def train_one(
    model: nn.Module, optimizer: torch.optim.Optimizer, step: int, rank: int, world: int, pause_s: float
) -> float:
    """One step; returns the loss over all processes."""
    numbers, following = batch(step, rank, world)
    loss = cross_entropy(model(numbers).flatten(0, 1), following.flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    time.sleep(pause_s)
    shown = loss.detach().double()
    if world > 1:
        dist.all_reduce(shown)
    return float(shown) / world


def _note(step: int, loss: float, options: argparse.Namespace) -> None:
    if options.ledger:
        line = f"{step} {loss!r} {os.environ.get('MUSTER_RESTART', '0')} {time.time()!r}\n"
        with open(options.ledger, "a", encoding="utf-8") as ledger:
            ledger.write(line)
    if step % options.show == 0 or step == options.steps:
        print(f"step {step:5d}  loss {loss:.4f}", flush=True)  # noqa: T201 - it is what people look at


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Train a small GPT that counts.")
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--path", help="where to save outside of Muster")
    parser.add_argument("--every", type=int, help="save each time after so many steps, whatever the job file says")
    parser.add_argument("--fsdp", action="store_true", help="shard the model over the processes")
    parser.add_argument("--pause", type=float, default=0.0, help="seconds that a step takes longer")
    parser.add_argument("--show", type=int, default=20, help="print a line each time after so many steps")
    parser.add_argument("--ledger", help="a file for all losses, with the attempt and the time")
    return parser.parse_args()


if __name__ == "__main__":
    main()
