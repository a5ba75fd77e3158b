"""Time that passes at the pace of a steady clock and slowly approaches a wall clock that may be set at any time.

Times in the log never go back, and timers have to come due. The wall clock alone guarantees neither: an operator may
set it, or a machine may learn the right time only after it has started.

    the wall clock is set back        time goes on a little slower until both agree; it never stands still
    the wall clock is set ahead       time goes on a little faster until both agree; no limit expires at once
    the machine sleeps                time has passed, if the steady clock counts sleep
    a restart                         starts from the wall clock, or from the end of the log if that is later

The caller passes both clocks in; nothing here asks the operating system.
"""

import threading
from collections.abc import Callable

from muster.model.compiling import mypyc_attr
from muster.model.limits import CLOCK_DRAW_PART

_NS_PER_MS = 1_000_000


@mypyc_attr(allow_interpreted_subclasses=True)
class PacedClock:
    """The time, even when the wall clock is set. Any thread may call it."""

    def __init__(self, *, wall_ns: Callable[[], int], steady_ns: Callable[[], int]) -> None:
        self._wall_ns = wall_ns
        self._steady_ns = steady_ns
        self._lock = threading.Lock()
        self._looked_ns = steady_ns()
        self._shown_ns = wall_ns()

    def now_ms(self) -> int:
        """The present moment."""
        with self._lock:
            return self._go_on(self._wall_ns()) // _NS_PER_MS

    def not_before(self, at_ms: int) -> None:
        """Continue from this moment if it is in the future."""
        with self._lock:
            self._shown_ns = max(self._go_on(self._wall_ns()), at_ms * _NS_PER_MS)

    def from_wall(self, at_ms: int) -> int:
        """Convert a moment of the wall clock to this clock.

        The result is as long before the present as the moment is on the wall clock. So a report gets the right time
        even while the two clocks differ, if the wall clock was not set between the report and now.
        """
        with self._lock:
            wall_ns = self._wall_ns()
            now_ns = self._go_on(wall_ns)
        ago_ms = round((wall_ns - at_ms * _NS_PER_MS) / _NS_PER_MS)
        return now_ns // _NS_PER_MS - max(ago_ms, 0)

    def _go_on(self, wall_ns: int) -> int:
        """Advance by what the steady clock measured, plus or minus a small part of it, towards the wall clock."""
        steady_ns = self._steady_ns()
        passed_ns, self._looked_ns = steady_ns - self._looked_ns, steady_ns
        at_most_ns = passed_ns // CLOCK_DRAW_PART
        apart_ns = wall_ns - (self._shown_ns + passed_ns)
        self._shown_ns += passed_ns + max(-at_most_ns, min(apart_ns, at_most_ns))
        return self._shown_ns
