"""What training code imports: checkpoints that survive, progress, and being asked to leave.

    from muster.train import Checkpointer

Saving and restoring:

    checkpointer   what user code calls: restore, step, save, watch, close
    surroundings   what the environment says about the run, and which rank this process is
    agreement      at which step all ranks save or leave, as the board announces it
    announcer      the same agreement among the ranks of one training outside Muster
    state_tree     the user's state taken apart: what is saved for each rank, and what the ranks share
    torch_state    models and optimizers in names that fit any number of ranks
    torch_files    the shared tensors as files, by torch.distributed.checkpoint
    rank_file      the file with what belongs to one rank: plain values and arrays, without code in it
    shards         arrays of which each rank holds a part
    staging        copies of tensors and arrays that are written while training goes on
    own_clock      when a process that is alone saves
    durations      how often, as users write it
    saving         one save from the copy to the committed part
    restoring      one checkpoint found, verified and put into the user's state
    peers          the other ranks, asked in the background and never by a collective of training

The store:

    parts          the list of files of one rank, and the manifest of a whole checkpoint
    stores         folders and object storage with checkpoints
    places         where checkpoints of a run are: the hot tiers of nodes, and durable storage
    retention      which checkpoints are kept
    uploads        one checkpoint sent to durable storage
    uploader       the process that copies checkpoints to a neighbour and to durable storage
    inventory      which checkpoints there are, and whether they are whole

What the supervisor sees:

    board          the page of memory that a training process shares with the supervisor of its node
    notice_pipe    lines that a training process writes to its supervisor
    busy           how long each rank is busy itself in a step
    stacks         where a process is, written when the supervisor asks

    lightning      a callback for Lightning
    huggingface    a callback for the Trainer of Hugging Face
    errors         what can be wrong with a checkpoint
    failpoints     places at which a test can kill the process
    optional       packages that are imported when the state needs them

Standard library only until the state holds tensors, and nothing else of Muster: supervisors put this package on the
path of every worker. It runs on Python 3.10 and newer, because training images are older than control planes.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from muster.train.checkpointer import Checkpointer
    from muster.train.shards import Shard

__all__ = ["Checkpointer", "Shard"]

_HOMES = {"Checkpointer": "muster.train.checkpointer", "Shard": "muster.train.shards"}


def __getattr__(name: str) -> Any:
    # Imported when it is asked for: a supervisor needs the board only.
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module  # noqa: PLC0415

    return getattr(import_module(_HOMES[name]), name)
