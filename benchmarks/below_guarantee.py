"""How long teams were below their guarantee although a job of theirs waited that would have been inside it.

A job counts from when it waits and fits, with all that its team uses at that moment, into the guarantee, until it
starts or no longer fits. Jobs that wait again after they gave way count apart: they may not preempt, so nothing is
promised to them but their place (`docs/ARCHITECTURE.md`).
"""

from collections.abc import Sequence
from dataclasses import dataclass

from muster.sim.outcome import JobOutcome

LEAVES, WAITS, STARTS = range(3)
"""In the order in which they count at one moment: GPUs that come free are there for a job that starts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Spell:
    """One wait of one job, or the part of it, in which the job would have been inside its team's guarantee."""

    since_ms: int
    until_ms: int
    is_first: bool
    """True before the job has run for the first time."""

    @property
    def length_ms(self) -> int:
        """How long it lasted."""
        return self.until_ms - self.since_ms


def spells(outcomes: Sequence[JobOutcome], guaranteed_milli: int) -> list[Spell]:
    """All such waits of the jobs of one team."""
    team, moments = _Team(outcomes, guaranteed_milli), sorted(_moments(outcomes))
    for number, moment in enumerate(moments):
        team.follow(*moment)
        if number + 1 == len(moments) or moments[number + 1][0] > moment[0]:
            team.settle(moment[0])
    return team.spells


class _Team:
    """What a team uses and which of its jobs wait, from moment to moment."""

    def __init__(self, outcomes: Sequence[JobOutcome], guaranteed_milli: int) -> None:
        self.spells: list[Spell] = []
        self._milli = [outcome.job.gpu_milli for outcome in outcomes]
        self._guaranteed_milli = guaranteed_milli
        self._used_milli = 0
        self._inside_ms: dict[int, int | None] = dict.fromkeys(sorted(set(self._milli)), 0)
        """Since when a job of each size would be inside the guarantee; None while it would not."""
        self._waiting: dict[int, tuple[int, bool]] = {}
        """Since when each job waits, and whether it is its first wait."""

    def follow(self, at_ms: int, kind: int, place: int, milli: int) -> None:
        """A job begins to wait, starts or leaves."""
        if kind == WAITS:
            self._waiting[place] = (at_ms, not milli)
        elif kind == STARTS:
            self._close(place, at_ms)
            del self._waiting[place]
            self._used_milli += milli
        else:
            self._used_milli -= milli

    def settle(self, at_ms: int) -> None:
        """Nothing else happens at this moment: find out which jobs would be inside from now on."""
        for milli, since_ms in self._inside_ms.items():
            is_inside = self._used_milli + milli <= self._guaranteed_milli
            if is_inside and since_ms is None:
                self._inside_ms[milli] = at_ms
            elif not is_inside and since_ms is not None:
                for place in self._waiting:
                    if self._milli[place] == milli:
                        self._close(place, at_ms)
                self._inside_ms[milli] = None

    def _close(self, place: int, at_ms: int) -> None:
        waits_ms, is_first = self._waiting[place]
        inside_ms = self._inside_ms[self._milli[place]]
        if inside_ms is not None and max(inside_ms, waits_ms) < at_ms:
            self.spells.append(Spell(since_ms=max(inside_ms, waits_ms), until_ms=at_ms, is_first=is_first))


def _moments(outcomes: Sequence[JobOutcome]) -> list[tuple[int, int, int, int]]:
    """When each job begins to wait, starts and leaves. A wait after the first has its GPUs as its last number."""
    found: list[tuple[int, int, int, int]] = []
    for place, outcome in enumerate(outcomes):
        since_ms, milli = outcome.job.submit_ms, 0
        for stint in (each for each in outcome.stints if each.start_ms < each.end_ms):
            found.append((since_ms, WAITS, place, milli))
            found.append((stint.start_ms, STARTS, place, stint.gpu_milli))
            found.append((stint.end_ms, LEAVES, place, stint.gpu_milli))
            since_ms, milli = stint.end_ms, stint.gpu_milli
    return found
