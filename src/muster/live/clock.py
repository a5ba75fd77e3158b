"""What time it is: the only place that asks the operating system."""

import time
from typing import Protocol


class Clock(Protocol):
    """Tells the time in milliseconds since 1970, and never goes back."""

    def now_ms(self) -> int:
        """The present moment."""
        ...


class SystemClock:
    """The wall clock. When somebody sets it back, time stands still here until it has caught up."""

    def __init__(self) -> None:
        self._latest_ms = 0

    def now_ms(self) -> int:
        """The present moment."""
        self._latest_ms = max(self._latest_ms, time.time_ns() // 1_000_000)
        return self._latest_ms
