"""What can be wrong with a checkpoint.

CheckpointError
├── DamagedCheckpoint     a file is missing or is not what was written, in all places
├── ForeignCheckpoint     the path holds checkpoints of another run
├── UnsavableState        the state holds something that cannot be saved
├── StateMismatch         the checkpoint does not fit the state
└── UnwritableCheckpoint  the place cannot be written: no disk space, no access, no connection
"""


class CheckpointError(Exception):
    """Something about a checkpoint. `code` does not change between versions."""

    code = "checkpoint"


class DamagedCheckpoint(CheckpointError):
    """A checkpoint cannot be restored, because a file is missing or damaged in all places."""

    code = "checkpoint_damaged"


class ForeignCheckpoint(CheckpointError):
    """The path holds checkpoints of another run, which are neither used nor overwritten."""

    code = "checkpoint_foreign"


class UnsavableState(CheckpointError):
    """The state holds something that cannot be saved."""

    code = "state_unsavable"


class StateMismatch(CheckpointError):
    """The checkpoint is whole, but does not fit the state that it is restored into."""

    code = "state_mismatch"


class UnwritableCheckpoint(CheckpointError):
    """The place for the checkpoint cannot be written."""

    code = "checkpoint_unwritable"


def in_words(error: BaseException) -> str:
    """An error in one line, also when it carries no words of its own."""
    text = " ".join(str(error).split())
    if isinstance(error, CheckpointError):
        return text
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
