"""What was found wrong in one schedule, with what is needed to find out why."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Violations:
    """What was wrong at the first moment with a problem. It is false if nothing was wrong."""

    seed: int
    is_crowd: bool = False
    is_failover: bool = False
    problems: tuple[str, ...] = ()
    at_ms: int = 0
    during: str = ""
    """What had happened just before."""
    story: str = ""
    """The story of the first job that the problems name."""
    events: int = 0
    """How many events the log had."""
    partial_gangs: int = 0
    """Gangs of which some processes were gone and others still alive while the gang was to leave."""
    partial_ms: int = 0
    """The longest time that a gang was partial while all its remaining processes could be reached."""
    longest_wait_ms: int = 0
    """The longest wait of a job, where waits are looked at."""
    log_hash: str = ""

    def __bool__(self) -> bool:
        return bool(self.problems)

    def __str__(self) -> str:
        name = f"{'crowd' if self.is_crowd else 'failover' if self.is_failover else 'schedule'} {self.seed}"
        if not self.problems:
            return f"{name}: {self.events} events, nothing wrong"
        lines = [f"{name}: at {self.at_ms} ms, after {self.during}:", *self.problems]
        return "\n  ".join(lines) + (f"\n{self.story}" if self.story else "")
