"""What training code imports: checkpoints that survive, progress, and being asked to leave.

    from muster.train import Checkpointer

Saving and restoring:

    checkpointer   what user code calls: restore, step, save, watch, close
    surroundings   what the environment says about the run, and which rank this process is
    agreement      at which step all ranks save or leave, as the board announces it
    announcer      the same agreement among the ranks of one training outside Muster
    own_clock      when a process that is alone saves
    durations      how often, as users write it
    saving         one save from the copy to the committed part
    restoring      one checkpoint found, verified and put into the user's state
    peers          the other ranks, asked in the background and never by a collective of training
    state          what a training has in memory, and how it becomes files
    store          where checkpoints are kept
    catalog        what is in storage, for the control plane
    uploader       the process that copies checkpoints to a neighbour and to durable storage

What the supervisor sees:

    board          the page of memory that a training process shares with the supervisor of its node
    notice_pipe    lines that a training process writes to its supervisor
    busy           how long each rank is busy itself in a step
    stacks         where a process is, written when the supervisor asks

Around it:

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
    from muster.train.state.shards import Shard

__all__ = ["Checkpointer", "Shard"]

_HOMES = {"Checkpointer": "muster.train.checkpointer", "Shard": "muster.train.state.shards"}


def __getattr__(name: str) -> Any:
    # Imported when it is asked for: a supervisor needs the board only.
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module  # noqa: PLC0415

    return getattr(import_module(_HOMES[name]), name)
