"""When the ranks of one gang save next, so that an interruption never costs more work than their interval.

The work since a save is at risk until the next one is safe. How long that takes is measured: the longest of the last
few saves is expected of the next one, and twice as long is allowed for. While nothing was measured, what an earlier
attempt measured is expected, or else a long save.

Pure, like the agreement that uses it: it is told the time, in milliseconds of any monotonic clock.
"""

from collections import deque
from dataclasses import dataclass

from muster.core.lifecycle.save_interval import FIRST_SAVE_MS, SaveTime, pause_ms

SAVES_REMEMBERED = 4
"""The longest of so many saves is expected of the next one: under load some take twice as long as others."""

REPORT_MS = 300
"""How long after a part was written it is known here: nodes collect parts for a moment before they report them."""

STEADY_MILLI = 900
"""The ranks are told a tenth fewer steps than would fit: they count steps on their own while no control plane is there,
and steps that become a little slower must not stretch the time between saves."""


@dataclass(slots=True)
class _MeasuredSave:
    """One save, as far as it was reported."""

    step: int
    begun_ms: float
    time: SaveTime
    safe_ms: int


class SavePace:
    """The interval of one gang, and its latest saves."""

    def __init__(self) -> None:
        self.every_ms = 0
        """How much work may be lost; 0 while the ranks are not to save by themselves."""
        self._saves: deque[_MeasuredSave] = deque(maxlen=SAVES_REMEMBERED)
        self._newest: _MeasuredSave | None = None
        """The save that the next one follows; None while these ranks have not saved."""
        self._expected_ms = FIRST_SAVE_MS
        """After how long the first save is expected to be safe."""

    @property
    def step(self) -> int:
        """The step of the newest save that was reported; -1 while there is none."""
        return self._newest.step if self._newest is not None else -1

    @property
    def due_ms(self) -> float | None:
        """When the next save should begin at the latest; None while no save was reported."""
        if self._newest is None or not self.every_ms:
            return None
        return self._newest.begun_ms + self._pause_ms

    def expect(self, time: SaveTime, nodes: int) -> None:
        """A save took so long before these ranks were there, or before this control plane was."""
        self._expected_ms = time.safe_ms(nodes) + REPORT_MS

    def saved(self, step: int, time: SaveTime, nodes: int, now_ms: float) -> None:
        """Ranks on one of the nodes have saved their parts. What takes longest counts for the whole save."""
        if step < self.step:
            return
        begun_ms, safe_ms = now_ms - time.took_ms - REPORT_MS, time.safe_ms(nodes) + REPORT_MS
        last = self._newest
        if last is None or step > last.step:
            self._newest = _MeasuredSave(step, begun_ms, time, safe_ms)
            self._saves.append(self._newest)
            return
        last.begun_ms = min(last.begun_ms, begun_ms)
        last.safe_ms = max(last.safe_ms, safe_ms)
        cost_ms, took_ms = max(last.time.cost_ms, time.cost_ms), max(last.time.took_ms, time.took_ms)
        last.time = SaveTime(cost_ms=cost_ms, took_ms=took_ms)

    def forget_steps(self) -> None:
        """The ranks have gone back: steps are saved again. How long saves took is remembered."""
        self._newest = None

    def steps(self, step_us: int) -> int:
        """How many steps ranks make between saves if a step takes so long; 0 for no more saves."""
        if not self.every_ms or not step_us:
            return 0
        pause_ms = max(self._pause_ms * STEADY_MILLI // 1000, self.every_ms // 2)
        # The time of steps does not contain the time for which a save stops them.
        cost_ms = max((each.time.cost_ms for each in self._saves), default=0)
        return max((pause_ms - cost_ms) * 1000 // step_us, 1)

    @property
    def _pause_ms(self) -> int:
        safe_ms = max((each.safe_ms for each in self._saves), default=self._expected_ms)
        took_ms = max((each.time.took_ms for each in self._saves), default=0)
        return pause_ms(self.every_ms, safe_ms=safe_ms, took_ms=took_ms)
