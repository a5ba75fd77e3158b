"""What was found wrong in one schedule, with what is needed to see why."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Violations:
    """The first moment at which something was wrong; nothing when all was well."""

    seed: int
    problems: tuple[str, ...] = ()
    at_ms: int = 0
    during: str = ""
    """What had just happened."""
    story: str = ""
    """How the first job named got where it is."""
    events: int = 0
    """How many events the log had."""
    partial_gangs: int = 0
    """Gangs of which some processes were gone and others alive after the engine had given them up."""
    partial_ms: int = 0
    """The longest that one was so while all of it could be reached."""
    log_hash: str = ""

    def __bool__(self) -> bool:
        return bool(self.problems)

    def __str__(self) -> str:
        if not self.problems:
            return f"schedule {self.seed}: {self.events} events, nothing wrong"
        lines = [f"schedule {self.seed}: at {self.at_ms} ms, after {self.during}:", *self.problems]
        return "\n  ".join(lines) + (f"\n{self.story}" if self.story else "")
