"""Free capacity as seen by jobs of different lengths: promised GPUs are open to jobs that are gone in time.

A horizon is a capacity from which all promises that start before its cut were taken away. A job uses the horizon
with the earliest cut that is not before its own end. So it sees every GPU on which it cannot delay a promise, as long
as there are enough horizons: beyond `BACKFILL_HORIZONS` a promised start is treated as earlier, which is safe.
"""

from bisect import bisect_left

from muster.core.cluster.capacity import Capacity
from muster.core.cluster.node_use import Footprint
from muster.core.cluster.windows import ReservedWindow
from muster.model.limits import BACKFILL_HORIZONS

FOREVER_MS = 1 << 60


class Horizons:
    """The capacities of all horizons, changed together."""

    __slots__ = ("_cuts", "_layers", "_unmade", "free")

    def __init__(self, free: Capacity) -> None:
        self.free = free
        """Without any promise taken away."""
        self._cuts: list[int] = [FOREVER_MS]
        self._layers: list[Capacity] = [free]
        """The last one is `free` itself until the first promise is taken away or a caller asks for `closed`."""
        self._unmade: list[tuple[int, Footprint]] = []
        """Promises not yet taken away from any layer: many are renewed in a row before a caller asks for a layer."""

    def until(self, end_ms: int) -> Capacity:
        """What a job that is gone by `end_ms` may use now."""
        self._make()
        return self._layers[bisect_left(self._cuts, end_ms)]

    def cut(self, end_ms: int) -> int:
        """The cut of what a job that is gone by `end_ms` may use. In a cycle it always stands for the same capacity."""
        self._make()
        return self._cuts[bisect_left(self._cuts, end_ms)]

    @property
    def closed(self) -> Capacity:
        """What a job that never ends may use now. The same object for the whole cycle."""
        self._make()
        self._part_from_free()
        return self._layers[-1]

    def _part_from_free(self) -> None:
        """Make the last layer a copy of its own: promises are taken away from it and not from `free`."""
        if self._layers[-1] is self.free:
            self._layers[-1] = self.free.fork()

    def take(self, footprint: Footprint) -> None:
        """Occupy capacity from now on."""
        self._make()
        for capacity in self._layers if self._layers[-1] is self.free else (self.free, *self._layers):
            capacity.take(footprint)
            capacity.forget_marks()

    def reserve(self, footprint: Footprint, start_ms: int) -> None:
        """Promise capacity from `start_ms` on."""
        if self._layers[-1] is self.free:
            self._unmade.append((start_ms, footprint))
            return
        self._cut(start_ms)
        for capacity in self._after(start_ms):
            capacity.take(footprint)
            capacity.forget_marks()

    def _cut(self, start_ms: int) -> None:
        """Add a cut between jobs that are gone by this time and jobs that stay longer, if a horizon is left for it."""
        at = bisect_left(self._cuts, start_ms)
        if self._cuts[at] != start_ms and len(self._cuts) < BACKFILL_HORIZONS:
            self._cuts.insert(at, start_ms)
            if self._layers[-1] is not self.free:
                self._layers.insert(at, self._layers[at].fork())

    def _make(self) -> None:
        """Make the first layers, each from the one before it, so that every promise is taken away only once."""
        if not self._unmade:
            return
        for start_ms, _ in self._unmade:
            self._cut(start_ms)
        by_start = sorted(self._unmade, key=lambda promise: promise[0])
        self._unmade = []
        self._layers = []
        layer, at = self.free, 0
        for cut in self._cuts:
            layer = layer.fork()
            while at < len(by_start) and by_start[at][0] < cut:
                layer.take(by_start[at][1])
                at += 1
            layer.forget_marks()
            self._layers.append(layer)

    def lift(self, footprint: Footprint, start_ms: int) -> None:
        """Take a promise back, exactly as it was made."""
        self._make()
        for capacity in self._after(start_ms):
            capacity.give(footprint)
            capacity.forget_marks()

    def reserves(self, start_ms: int, end_ms: int) -> bool:
        """True when a promise for `start_ms` is taken away from what a job gone by `end_ms` may use."""
        self._make()
        return self._cuts[bisect_left(self._cuts, end_ms)] > start_ms

    def _after(self, start_ms: int) -> list[Capacity]:
        """The horizons from which a promise for `start_ms` is taken away."""
        return [layer for cut, layer in zip(self._cuts, self._layers, strict=True) if cut > start_ms]


def horizons_at(free: Capacity, windows: tuple[ReservedWindow, ...], now_ms: int) -> Horizons:
    """The horizons of a capacity under these reservations. Those that have begun are taken away from it for good."""
    made = Horizons(free)
    for window in windows:
        if now_ms < window.reservation.to_ms and window.reservation.from_ms <= now_ms:
            free.take(window.footprint)
            free.forget_marks()
    for window in windows:
        if window.reservation.from_ms > now_ms:
            made.reserve(window.footprint, window.reservation.from_ms)
    return made
