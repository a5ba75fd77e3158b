"""How the workers of one attempt behave."""

from dataclasses import dataclass

KILLED = 137
"""The exit code of a process that was killed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardScript:
    """How the processes of a gang save their parts of a checkpoint."""

    step_ms: int = 60_000
    """How long a step takes."""
    skew_ms: int = 0
    """How much later than one node the next one has written its parts."""
    silent_node: int | None = None
    """The processes on this node, counted from the first of the gang, never write their parts."""
    upload_ms: int = 60_000
    """From the last part to durable storage."""
    upload_failures: int = 0
    """How often the copy fails before it succeeds."""
    gives_up_ms: int | None = None
    """How long after it cannot be restored a gang exits with code 1; None means that it waits to be ended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GangScript:
    """How the workers of one attempt behave."""

    start_ms: int = 0
    """From the command until the process is alive."""
    cannot_start: bool = False
    run_ms: int | None = 60_000
    """From being alive to exiting by itself; None means never."""
    exit_code: int = 0
    oom: bool = False
    crash_rank: int | None = None
    """This rank exits with code 1, and not as the others do."""
    crash_ms: int = 0
    """How long after being alive it crashes."""
    stop_ms: int | None = 0
    """From being told to stop to exiting; None means that it ignores the signal."""
    stop_exit_code: int = 1
    """torchrun exits 1 even after a clean save, so that is the default."""
    saves: bool = False
    """Saves a checkpoint when asked, and before it leaves when told to."""
    save_every_ms: int | None = None
    """Saves a checkpoint this often without being asked."""
    save_cost_ms: int = 0
    shards: ShardScript | None = None
    """Saves by steps, in parts; None for a program that saves everything in its own way."""
