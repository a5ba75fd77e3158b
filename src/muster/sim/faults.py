"""How often things go wrong in a replay, and which jobs crash or are cancelled.

Which jobs crash and which are cancelled is drawn once for each job, in the order of the trace, so that all policies
get the same jobs. What happens to nodes is drawn in `node_faults`.
"""

from dataclasses import dataclass, fields
from random import Random

from muster.formats.text.units import BadValue, duration_ms, duration_text
from muster.model.errors import InvalidInput
from muster.model.policy import HOUR_MS, MINUTE_MS

SHORTEST_MS = MINUTE_MS
"""The shortest mean time between two faults of a kind. With more faults a replay would do nothing else, for ever."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultRates:
    """How often things go wrong. The defaults are a perfect world."""

    mtbf: int = 0
    """Mean time between failures of one node that is up. Here and below, 0 means never."""
    repair: int = 4 * HOUR_MS
    """Mean time until a node that failed or was reclaimed is back, or a bad GPU is replaced."""
    rack: float = 0.0
    """The part of node failures that take down the whole innermost domain."""
    gpu: int = 0
    """Mean time between faults of one GPU."""
    straggler: int = 0
    """Mean time from the end of one slow period of a node to the beginning of the next."""
    straggler_speed: float = 0.5
    """The part of its speed that a slow node keeps. With 0 it nearly stands still."""
    straggler_time: int = 2 * HOUR_MS
    """Mean length of a slow period."""
    crash: float = 0.0
    """The part of jobs that crash once, at a random point of their work."""
    cancel: float = 0.0
    """The part of jobs that their users cancel, at a random time within twice the run time after submission."""
    spot: int = 0
    """Mean time until a spot node is reclaimed."""
    notice: int = 2 * MINUTE_MS
    """How long before that the node's jobs are warned, so that they can save; 0 means no warning."""

    @property
    def disturb_jobs(self) -> bool:
        """True when a fault can end an attempt, so that it matters what a job has saved."""
        return bool(self.mtbf or self.gpu or self.crash or self.cancel or self.spot)


RATES = ("mtbf", "gpu", "straggler", "spot")
"""The keys that give the mean time between two faults."""


def fault_rates(text: str) -> FaultRates:
    """`mtbf=250d,repair=4h,rack=0.1`: the rates that a user gave on the command line."""
    kinds = {field.name: type(field.default) for field in fields(FaultRates)}
    given: dict[str, int | float] = {}
    for part in filter(None, (each.strip() for each in text.split(","))):
        name, _, value = (each.strip() for each in part.partition("="))
        name = name.replace("-", "_")
        if name not in kinds:
            raise InvalidInput(f"faults: {name!r} is not a fault; there are: {', '.join(kinds)}")
        if name in given:
            raise InvalidInput(f"faults: {name} is given twice; keep one")
        given[name] = _duration(name, value) if kinds[name] is int else _part(name, value)
    return FaultRates(**given)  # type: ignore[arg-type]  # Each value has the type of its default.


def _duration(name: str, value: str) -> int:
    try:
        time_ms = duration_ms(value)
    except BadValue as error:
        raise InvalidInput(f"faults: {name}: {error.problem}") from None
    if name in RATES and 0 < time_ms < SHORTEST_MS:
        shortest = duration_text(SHORTEST_MS)
        raise InvalidInput(f"faults: {name} must be at least {shortest}, or 0s for never, not {value!r}")
    return time_ms


def _part(name: str, value: str) -> float:
    try:
        part = float(value)
    except ValueError:
        part = -1.0
    if not 0 <= part <= 1:
        raise InvalidInput(f"faults: {name} must be a number between 0 and 1, not {value!r}")
    return part


@dataclass(frozen=True, slots=True, kw_only=True)
class JobFate:
    """Whether one job crashes, and whether its user cancels it."""

    crash_at: float | None = None
    """The part of its work after which it crashes."""
    cancel_after_ms: int | None = None
    """How long after its submission its user cancels it."""


WELL = JobFate()


def job_fate(rates: FaultRates, run_ms: int, chance: Random) -> JobFate:
    """Draw the fate of the next job, always with the same number of draws, so that rates do not shift each other."""
    crashes, crash_at, cancels, cancel_at = (chance.random() for _ in range(4))
    if crashes >= rates.crash and cancels >= rates.cancel:
        return WELL
    return JobFate(
        crash_at=crash_at if crashes < rates.crash else None,
        cancel_after_ms=int(cancel_at * 2 * run_ms) if cancels < rates.cancel else None,
    )
