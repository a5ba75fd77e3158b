"""What every rank of a data-parallel training does: meet, add up, and agree."""

import os

import torch
import torch.distributed as dist

dist.init_process_group("gloo")
total = torch.tensor([float(dist.get_rank())])
dist.all_reduce(total)
print(
    f"rank {dist.get_rank()} of {dist.get_world_size()} local {os.environ['LOCAL_RANK']} sum {int(total)}", flush=True
)
dist.destroy_process_group()
