"""What could come free under each horizon: what leaves anyway, and which jobs could be told to leave.

Most gangs look under the closed horizon, which keeps out of everything that is promised. A gang that is gone before a
promise begins may have the promised GPUs until then.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from muster.core.cluster.horizons import FOREVER_MS
from muster.core.planning.displacing.candidates import Candidates
from muster.core.planning.displacing.departures import Departures
from muster.core.planning.draft import PlanDraft
from muster.model.ids import JobId

Key = tuple[int, int, int, bool]
"""Which victims a class may have: their kind, its tier, its team's claim, and whether it may stop jobs of lower tiers.
The claim is a number, because this is looked up for every class of a long queue."""


class HorizonRoom:
    """One horizon."""

    def __init__(self, number: int, departures: Departures) -> None:
        self.number = number
        """0 for the closed one. What is found out under one horizon says nothing of another."""
        self.departures = departures
        self.candidates: dict[Key, Candidates] = {}


class Sight(NamedTuple):
    """What a search looks at."""

    room: HorizonRoom
    holder: JobId | None = None
    """The job whose own promise is put aside for the search. What failed with it in the way may work for this job."""

    @property
    def key(self) -> tuple[int, JobId | None]:
        """What fails under one key says nothing of another."""
        return self.room.number, self.holder


class HorizonRooms:
    """All horizons of one cycle, each made when it is first asked for."""

    def __init__(self, draft: PlanDraft, strike_off: Callable[[JobId], None]) -> None:
        self._draft = draft
        self.closed = HorizonRoom(0, Departures(draft, strike_off))
        self._others: dict[int, HorizonRoom] = {}
        """By the cut of the horizon."""

    def __iter__(self) -> Iterator[HorizonRoom]:
        yield self.closed
        yield from self._others.values()

    def until(self, end_ms: int) -> HorizonRoom:
        """What a job that is gone by a time may look at."""
        horizons = self._draft.horizons
        cut = horizons.cut(end_ms)
        if cut == FOREVER_MS:
            return self.closed
        # Whoever was told to leave since is struck off everywhere when the closed one takes note of it.
        self.closed.departures.call_roll()
        room = self._others.get(cut)
        if room is None:
            departures = Departures(self._draft, lambda _: None, horizons.until(cut))
            room = self._others[cut] = HorizonRoom(len(self._others) + 1, departures)
        return room

    def forget_departures(self) -> None:
        """A job that was told to leave may stay."""
        self.closed.departures.forget()
        self._others.clear()
