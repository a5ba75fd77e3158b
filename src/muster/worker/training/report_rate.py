"""How often a job may report on its checkpoints: each report becomes an event that is kept, and a job writes them."""

import time

BURST = 32
"""Reports that may come at once: an uploader that was away for long finishes all checkpoints that are kept."""

PER_S = 1.0
"""Reports per second after that, for as long as it lasts."""


class ReportRate:
    """A bucket that each report takes one token from."""

    def __init__(self, burst: float = BURST, per_s: float = PER_S) -> None:
        self._burst = burst
        self._per_s = per_s
        self._tokens = float(burst)
        self._at_s: float | None = None

    def allows(self, now_s: float | None = None) -> bool:
        """True when another report may be made now; it counts as made. The time is that of a monotonic clock."""
        now_s = time.monotonic() if now_s is None else now_s
        since_s = 0.0 if self._at_s is None else now_s - self._at_s
        self._at_s = now_s
        self._tokens = min(self._tokens + since_s * self._per_s, self._burst)
        if self._tokens < 1:
            return False
        self._tokens -= 1
        return True
