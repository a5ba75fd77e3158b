"""What the environment says about the run, and which of how many processes this one is."""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from muster.train.optional import loaded

OUTSIDE = "outside"
"""The run of checkpoints that were made outside Muster."""

RANKS = (
    ("RANK", "WORLD_SIZE"),
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
    ("JAX_PROCESS_ID", "JAX_NUM_PROCESSES"),
    ("SLURM_PROCID", "SLURM_NTASKS"),
    ("MUSTER_RANK", "MUSTER_WORLD"),
)
"""Who says which process this is. Those that count processes come before those that count workers."""

KEEP = 3
"""How many checkpoints are kept when nobody says so: the newest, one before it in case the newest is damaged, and one
in case the damage was older."""

_FOLDER_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,200}")


@dataclass(frozen=True, kw_only=True)
class Surroundings:
    """The variables of docs/TRAINING.md, as far as they are set."""

    run: str = OUTSIDE
    is_in_muster: bool = False
    attempt: int = 0
    path: str | None = None
    step: int | None = None
    keep: int = KEEP
    hot: str | None = None
    node: str = ""
    neighbour: str | None = None
    boards: str | None = None
    notice: str | None = None
    ask: str | None = None
    resume_run: str | None = None

    @property
    def runs(self) -> tuple[str, ...]:
        """Runs whose checkpoints this one may restore."""
        return (self.run,) if self.resume_run is None else (self.run, self.resume_run)


def surroundings(environ: Mapping[str, str] = os.environ) -> Surroundings:
    """Read the environment."""
    run = environ.get("MUSTER_RUN_ID") or None
    node = environ.get("MUSTER_NODE", "")
    hot = environ.get("MUSTER_HOT") or None
    is_placed = run is not None and bool(_FOLDER_NAME.fullmatch(run)) and bool(_FOLDER_NAME.fullmatch(node))
    return Surroundings(
        run=run or OUTSIDE,
        is_in_muster=run is not None or "MUSTER_CHECKPOINT_NOTICE" in environ,
        attempt=_number(environ, "MUSTER_RESTART") or 0,
        path=environ.get("MUSTER_CHECKPOINT_PATH") or None,
        step=_number(environ, "MUSTER_CHECKPOINT_STEP"),
        keep=max(1, _number(environ, "MUSTER_CHECKPOINT_KEEP") or KEEP),
        hot=hot if is_placed else None,
        node=node,
        neighbour=environ.get("MUSTER_NEIGHBOUR") or None,
        boards=environ.get("MUSTER_BOARDS") or None,
        notice=environ.get("MUSTER_CHECKPOINT_NOTICE") or None,
        ask=environ.get("MUSTER_CHECKPOINT_ASK") or None,
        resume_run=environ.get("MUSTER_RESUME_RUN") or None,
    )


def place_in_world(environ: Mapping[str, str] = os.environ) -> tuple[int, int]:
    """The rank of this process and the number of processes, as the framework counts them."""
    torch: Any = loaded("torch")
    if torch is not None and torch.distributed.is_available() and torch.distributed.is_initialized():
        return int(torch.distributed.get_rank()), int(torch.distributed.get_world_size())
    for rank_name, world_name in RANKS:
        if rank_name == "SLURM_PROCID" and "SLURM_STEP_ID" not in environ:
            continue  # the batch script itself, which runs once whatever the number of tasks
        rank, world = _number(environ, rank_name), _number(environ, world_name)
        if rank is not None and world is not None and rank < world:
            return rank, world
    return 0, 1


def _number(environ: Mapping[str, str], name: str) -> int | None:
    text = environ.get(name, "")
    return int(text) if text.isdigit() and len(text) < 16 else None
