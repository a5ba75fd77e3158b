"""One policy in the report: its replay, its label and colour, and the sorted numbers of its jobs."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from muster.model.job import JobState
from muster.model.resources import GPU_MILLI
from muster.sim.outcome import JobOutcome, Replay
from muster.sim.report.figures.wording import count_text

SLOTS = ("muster", "fifo", "greedy", "easy", "sjf-oracle", "srsf-oracle", "las", "fair")
"""The built-in policies. Each has the same colour in every report."""
DASHES = ("solid", "dash", "dashdot", "longdash", "dot", "longdashdot", "solid", "dash")
"""The line style of each colour, for readers who cannot tell colours apart."""
SYMBOLS = ("circle", "square", "diamond", "triangle-up", "cross", "plus", "triangle-down", "line-ns")
"""The mark of each colour, for the same readers."""
MS_PER_S = 1000


@dataclass(frozen=True, kw_only=True)
class Contender:
    """One policy in the report."""

    replay: Replay
    label: str
    slot: int
    """The number of its colour in the palette."""
    summary: Mapping[str, Any] = field(default_factory=dict)
    """The figures of `muster simulate -o json`, if they are known."""
    rhos: Sequence[float] = ()
    """Finish-time fairness of the jobs that finished, sorted."""

    @property
    def colour(self) -> str:
        """A name from the style sheet, which has colours for light and dark."""
        return f"var(--policy-{self.slot})"

    @property
    def dash(self) -> str:
        """How its lines are drawn."""
        return DASHES[self.slot]

    @property
    def line(self) -> dict[str, Any]:
        """The stroke and the mark of its curves. The marks of several policies do not lie on one another."""
        return {
            "line": {"color": self.colour, "dash": self.dash, "width": 2, "shape": "hv"},
            "marker": {"color": self.colour, "symbol": self.symbol, "size": 8, "shift": (1 + self.slot) / len(SLOTS)},
        }

    @property
    def symbol(self) -> str:
        """How its points are drawn."""
        return SYMBOLS[self.slot]

    def figure(self, *path: str) -> float | None:
        """A figure of its summary; None if there is no number at this path."""
        value: Any = self.summary
        for name in path:
            value = value.get(name) if isinstance(value, Mapping) else None
        return float(value) if isinstance(value, int | float) else None

    def tells(self, *path: str) -> bool:
        """True if its summary has an entry at this path, even if its value is None."""
        *inner, last = path
        value: Any = self.summary
        for name in inner:
            value = value.get(name) if isinstance(value, Mapping) else None
        return isinstance(value, Mapping) and last in value

    @property
    def outcomes(self) -> tuple[JobOutcome, ...]:
        """Every job, in the order of the trace."""
        return self.replay.outcomes

    @cached_property
    def completions_s(self) -> list[float]:
        """Completion times of the jobs that finished, sorted."""
        return completions_s(self.outcomes)

    @cached_property
    def waits_s(self) -> list[float]:
        """First waits, sorted, of the jobs that started."""
        return waits_s(self.outcomes)


def candidate(contenders: Sequence[Contender]) -> Contender:
    """The policy that the report judges: the default of the live system if it is among them, else the last."""
    return next((each for each in contenders if each.replay.policy == SLOTS[0]), contenders[-1])


def completion_s(outcome: JobOutcome) -> float | None:
    """Submission to end in seconds; None if the job did not succeed."""
    completion_ms = outcome.completion_ms
    return completion_ms / MS_PER_S if completion_ms is not None and outcome.state is JobState.SUCCEEDED else None


def completions_s(outcomes: Iterable[JobOutcome]) -> list[float]:
    """Submission to end in seconds, sorted, of the jobs that finished."""
    return sorted(length for length in map(completion_s, outcomes) if length is not None)


def waits_s(outcomes: Iterable[JobOutcome]) -> list[float]:
    """Submission to first start in seconds, sorted, of the jobs that started."""
    return sorted(each.first_wait_ms / MS_PER_S for each in outcomes if each.first_wait_ms is not None)


def labels(replays: Sequence[Replay]) -> list[str]:
    """A distinct label for each: the policy, with the cluster size or a number where that is needed."""
    policies = Counter(each.policy for each in replays)
    sized = [
        each.policy
        if policies[each.policy] == 1
        else f"{each.policy}, {count_text(each.capacity_milli // GPU_MILLI)} GPUs"
        for each in replays
    ]
    return distinct(sized)


def distinct(names: Sequence[str]) -> list[str]:
    """The same names, with a number after each name that appeared before."""
    met: Counter[str] = Counter()
    numbered = []
    for name in names:
        met[name] += 1
        numbered.append(name if met[name] == 1 else f"{name} ({met[name]})")
    return numbered


def slots(names: Sequence[str]) -> list[int]:
    """The palette number of each name. A built-in policy has its own. Others take the free ones, then all in turn."""
    free = [slot for slot, name in enumerate(SLOTS) if name not in names]
    spare = iter(free + list(range(len(SLOTS))) * len(names))
    return [
        SLOTS.index(name) if name in SLOTS and name not in names[:place] else next(spare)
        for place, name in enumerate(names)
    ]
