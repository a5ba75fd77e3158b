"""Which jobs must leave so that a gang fits, when running jobs are ranked: the worst first, no more than needed."""

from bisect import bisect_left
from typing import NamedTuple

from muster.core.cluster.capacity import Capacity, Footprint
from muster.core.cluster.gang import Choice, Gang
from muster.core.planning.placement import Seating, fits, place
from muster.model.ids import JobId

JobRank = tuple[int, int, int]
"""How jobs of a tier compare. The smallest comes first."""


class Candidate(NamedTuple):
    """A running job that may be told to leave."""

    rank: JobRank
    started_ms: int
    job: JobId
    footprint: Footprint


class Room(NamedTuple):
    """How a gang can be seated once the victims have left."""

    choice: Choice
    seating: Seating
    victims: list[Candidate]


class RoomSearch:
    """Finds the jobs that must leave so that one gang fits. Leaves the capacity as it was."""

    def __init__(self, capacity: Capacity, gang: Gang, choice: Choice, widest: int) -> None:
        self._capacity = capacity
        self._gang = gang
        self._choice = choice
        self._widest = widest

    def room(self, candidates: list[Candidate]) -> Room | None:
        """Seats for the gang and the victims for it: none of better rank than necessary, and no more than needed."""
        told = self._fewest(candidates)
        if told is None:
            return None
        mark = self._capacity.mark()
        room = self._seated(candidates[:told], mark)
        self._capacity.rollback(mark)
        return room

    def _fewest(self, candidates: list[Candidate]) -> int | None:
        """How many of the first candidates must leave so that the gang fits; None when all are not enough."""
        fewest = self._fewest_by_count(candidates)
        if fewest is None or self._is_enough(candidates[:fewest]):
            return fewest
        if not self._is_enough(candidates):
            return None
        counts = range(len(candidates) + 1)
        return bisect_left(counts, True, fewest + 1, key=lambda count: self._is_enough(candidates[:count]))

    def _is_enough(self, victims: list[Candidate]) -> bool:
        mark = self._capacity.mark()
        self._leave(victims)
        is_enough = self._fits()
        self._capacity.rollback(mark)
        return is_enough

    def _leave(self, victims: list[Candidate]) -> None:
        for victim in victims:
            self._capacity.give(victim.footprint)

    def _fits(self) -> bool:
        return fits(self._capacity, self._gang, self._choice, self._widest)

    def _fewest_by_count(self, candidates: list[Candidate]) -> int | None:
        """A cheap lower bound on how many of the first candidates must leave: it counts only GPUs by node."""
        capacity, parts, asks = self._capacity, self._gang.parts, self._choice.asks
        needed = sum(part.workers * ask.gpu_milli for part, ask in zip(parts, asks, strict=True))
        unit = max(asks[0].gpu_milli, 1) if len(parts) == 1 else 1
        room = [capacity.free_on(node) if suits else -1 for node, suits in enumerate(capacity.suits(asks))]
        missing = needed // unit - sum(free // unit for free in room if free > 0)
        for count, candidate in enumerate(candidates):
            if missing <= 0:
                return count
            for use in candidate.footprint:
                free = room[use.node]
                if free >= 0:
                    room[use.node] = after = free + sum([milli for _, milli in use.devices])
                    missing -= after // unit - free // unit
        return len(candidates) if missing <= 0 else None

    def _seated(self, victims: list[Candidate], mark: int) -> Room | None:
        """Seat the gang and prune victims that it does not need, those of better rank first."""
        self._leave(victims)
        seating = self._place()
        self._capacity.rollback(mark)
        if seating is None:
            return None
        nodes = {use.node: None for use in seating.footprint}
        victims = [each for each in victims if any(use.node in nodes for use in each.footprint)]
        self._leave(victims)
        needed = []
        for victim in reversed(victims):
            self._capacity.take(victim.footprint)
            if not self._fits():
                self._capacity.give(victim.footprint)
                needed.append(victim)
        seating = self._place()
        return None if seating is None else Room(self._choice, seating, needed[::-1])

    def _place(self) -> Seating | None:
        return place(self._capacity, self._gang, self._choice, self._widest)
