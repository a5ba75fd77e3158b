"""How the workers of one attempt behave."""

from dataclasses import dataclass

KILLED = 137
"""The exit code of a process that was killed."""


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
