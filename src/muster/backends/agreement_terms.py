"""What an agreement hears of ranks, and what it has to be sent to their nodes."""

from dataclasses import dataclass

from muster.model.ids import NodeName


@dataclass(slots=True, kw_only=True)
class RankNews:
    """What is known of one rank."""

    node: NodeName
    worker: int
    world: int
    step: int
    board: int
    """Differs when the process of the rank was replaced."""
    is_closed: bool
    heard_ms: float
    step_us: int = 0
    """The median duration of its steps; 0 when it is not known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownStep:
    """What the board of one rank said after an announcement was shown on it."""

    rank: int
    world: int
    step: int
    board: int
    is_closed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Announce:
    """Show an announcement on all boards, and answer with their steps."""

    number: int
    kind: int
    step: int
    every: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Decide:
    """Commit or cancel an announcement."""

    number: int
    is_kept: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class GiveUp:
    """The ranks cannot agree to leave. They must be told in another way."""

    because: str
    is_ending: bool = False
    """True when ranks have ended their training: the others are about to, and need not be told at once."""


Action = Announce | Decide | GiveUp
