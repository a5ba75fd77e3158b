"""What a trial leaves for the judgement: what was asked for, what struck, what ran, what the server said."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from tests.chaos.ledger import Line, Run

FINAL = ("succeeded", "failed", "cancelled", "timed_out")


@dataclass(frozen=True, slots=True, kw_only=True)
class Violation:
    """A promise that was broken."""

    rule: str
    """Which one, in a word or two with hyphens."""
    told: str
    """What was seen, for people."""


@dataclass(slots=True, kw_only=True)
class Asked:
    """A job that was submitted, and what the server acknowledged of it."""

    label: str
    ends: str
    """How it must end when nothing harms it."""
    grace_s: float = 10
    limit_s: float | None = None
    is_elastic: bool = False
    labels: tuple[str, ...] = ()
    """What the ledger calls it: itself, or the tasks of an array."""
    id: str = ""
    """Empty until the server acknowledged it."""
    acked_s: float = 0
    cancel_asked_s: float | None = None
    cancel_acked_s: float | None = None
    is_closed: bool = False
    """True when nothing more will be asked about it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A job, or a task of an array, as the server shows it at the end."""

    id: str
    name: str
    state: str
    attempt: int = 1
    exit_code: int | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Struck:
    """A fault that really struck."""

    kind: str
    from_s: float
    until_s: float
    """When it was mended."""
    detail: str = ""
    nodes: tuple[str, ...] = ()
    """Whose supervisors it struck."""
    labels: tuple[str, ...] = ()
    """Jobs whose workers it struck: they may fail."""
    is_paired: bool = False


Interval = tuple[float, float]


@dataclass(slots=True, kw_only=True)
class Evidence:
    """Everything about one trial. Times are those of the ledger's clock."""

    asked: list[Asked] = field(default_factory=list)
    struck: list[Struck] = field(default_factory=list)
    runs: list[Run] = field(default_factory=list)
    clashes: list[Line] = field(default_factory=list)
    answers: dict[str, Answer] = field(default_factory=dict)
    """By label: what the server says of it at the end."""
    ended: dict[str, tuple[float, str]] = field(default_factory=dict)
    """By label: when the server first said that it had ended, and how."""
    reopened: list[tuple[str, float, str]] = field(default_factory=list)
    """Jobs that the server said had ended, when it first said so, and what it said afterwards."""
    logs: dict[tuple[str, int, int], str] = field(default_factory=dict)
    """By label, attempt and rank: what the server shows of its output."""
    unattended: dict[str, list[Interval]] = field(default_factory=dict)
    """By node: when it had no supervisor that could act."""
    rollbacks: list[Interval] = field(default_factory=list)
    """From when a backup was made until it was put back: what was acknowledged between is gone."""
    resets: list[float] = field(default_factory=list)
    """When another, empty database was begun on purpose: what was acknowledged before is gone."""
    found: list[Violation] = field(default_factory=list)
    """What was seen on the spot."""

    def may_be_gone(self, asked: Asked) -> bool:
        """True for what an operator gave up by restoring an old backup, or by beginning an empty database."""
        before = any(asked.acked_s <= reset_s for reset_s in self.resets)
        return before or any(from_s <= asked.acked_s <= until_s for from_s, until_s in self.rollbacks)

    def is_rewritten(self, asked: Asked) -> bool:
        """True when part of the job's history was taken back, so that it may have been run again."""
        return self.may_be_gone(asked) or any(asked.acked_s <= until_s for _, until_s in self.rollbacks)

    def is_outdated(self, asked_s: float) -> bool:
        """True for answers that were asked for before history was taken back: a job in them may live again since."""
        return any(asked_s <= reset_s for reset_s in self.resets) or any(
            asked_s <= until_s for _, until_s in self.rollbacks
        )

    def was_hit(self, label: str) -> bool:
        """True when a fault struck workers of this job themselves."""
        return any(label in struck.labels for struck in self.struck)

    def faults_upon(self, label: str) -> int:
        """How many faults struck workers of this job, or the supervisor of a node that they ran on."""
        nodes = {run.node for run in self.runs if run.label == label}
        return sum(label in struck.labels or not nodes.isdisjoint(struck.nodes) for struck in self.struck)

    def runs_by_attempt(self) -> dict[tuple[str, int], list[Run]]:
        """The processes of each attempt of each job."""
        found: dict[tuple[str, int], list[Run]] = {}
        for run in self.runs:
            found.setdefault((run.label, run.attempt), []).append(run)
        return found


def overlap_s(intervals: Iterable[Interval], from_s: float, until_s: float) -> float:
    """How much of a time lies in any of these."""
    total, reached_s = 0.0, from_s
    for begin_s, end_s in sorted(intervals):
        low, high = max(begin_s, reached_s), min(end_s, until_s)
        if high > low:
            total += high - low
            reached_s = high
    return total
