"""Free capacity as seen by jobs of different lengths: promised GPUs are open to whoever is gone in time.

A horizon is a capacity from which all promises that start before its cut were taken away. A job uses the horizon
with the earliest cut that is not before its own end: it sees every GPU that it cannot keep anybody waiting on.
"""

from bisect import bisect_left

from muster.core.cluster.capacity import Capacity, Footprint
from muster.model.limits import BACKFILL_HORIZONS

FOREVER_MS = 1 << 60


class Horizons:
    """The capacities of all horizons, changed together."""

    __slots__ = ("_cuts", "_layers", "free")

    def __init__(self, free: Capacity) -> None:
        self.free = free
        """Without any promise taken away."""
        self._cuts: list[int] = [FOREVER_MS]
        self._layers: list[Capacity] = [free]
        """The last one is `free` itself until the first promise is made or somebody wants to keep it."""

    def until(self, end_ms: int) -> Capacity:
        """What a job that is gone by `end_ms` may use now."""
        return self._layers[bisect_left(self._cuts, end_ms)]

    @property
    def closed(self) -> Capacity:
        """What a job that never ends may use now; the same object for the whole cycle."""
        self._part_from_free()
        return self._layers[-1]

    def _part_from_free(self) -> None:
        """From now on what is promised is no longer free for everybody."""
        if self._layers[-1] is self.free:
            self._layers[-1] = self.free.fork()

    def take(self, footprint: Footprint) -> None:
        """Something starts now."""
        for capacity in self._layers if self._layers[-1] is self.free else (self.free, *self._layers):
            capacity.take(footprint)
            capacity.forget_marks()

    def reserve(self, footprint: Footprint, start_ms: int) -> None:
        """Promise capacity from `start_ms` on."""
        self._part_from_free()
        at = bisect_left(self._cuts, start_ms)
        if self._cuts[at] != start_ms and len(self._cuts) < BACKFILL_HORIZONS:
            self._layers.insert(at, self._layers[at].fork())
            self._cuts.insert(at, start_ms)
        for capacity in self._after(start_ms):
            capacity.take(footprint)
            capacity.forget_marks()

    def lift(self, footprint: Footprint, start_ms: int) -> None:
        """Take a promise back, exactly as it was made."""
        for capacity in self._after(start_ms):
            capacity.give(footprint)
            capacity.forget_marks()

    def reserves(self, start_ms: int, end_ms: int) -> bool:
        """True when a promise for `start_ms` is taken away from what a job gone by `end_ms` may use."""
        return self._cuts[bisect_left(self._cuts, end_ms)] > start_ms

    def _after(self, start_ms: int) -> list[Capacity]:
        """The horizons in which something is missing from `start_ms` on."""
        return [layer for cut, layer in zip(self._cuts, self._layers, strict=True) if cut > start_ms]
