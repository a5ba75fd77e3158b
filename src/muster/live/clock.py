"""What time it is: the only place where the control plane asks the operating system for it.

Time passes at the pace of the kernel's own clock, which counts sleep, and slowly approaches the wall clock.
`engine/paced_clock.py` says how, and why.
"""

import time
from collections.abc import Callable
from typing import Protocol

from muster.engine.paced_clock import PacedClock


class Clock(Protocol):
    """Tells the time in milliseconds since 1970, and never goes back."""

    def now_ms(self) -> int:
        """The present moment."""
        ...

    def not_before(self, at_ms: int) -> None:
        """Continue from this moment if it is in the future: something is known to have happened then."""
        ...

    def from_wall(self, at_ms: int) -> int:
        """Convert a moment that was read from this machine's wall clock; the result is never after the present."""
        ...


class SystemClock(PacedClock):
    """The time of this machine, even when its wall clock is set."""

    def __init__(
        self,
        *,
        wall_ns: Callable[[], int] = time.time_ns,
        steady_ns: Callable[[], int] = lambda: time.clock_gettime_ns(time.CLOCK_BOOTTIME),
    ) -> None:
        super().__init__(wall_ns=wall_ns, steady_ns=steady_ns)
