"""How often a caller may send requests: a token bucket for each, which fills as time passes."""

import math
import time
from collections.abc import Callable

from muster.model.client_limits import ADDRESSES_REMEMBERED
from muster.model.errors import TooMany


class Rates:
    """Token buckets by key, such as a subject or an address."""

    def __init__(self, per_s: float, at_once: float, *, now_s: Callable[[], float] = time.monotonic) -> None:
        self._per_s = per_s
        self._at_once = at_once
        self._now_s = now_s
        self._left: dict[str, tuple[float, float]] = {}
        """The content of each bucket, and when it was measured. A bucket that is not here is full."""

    def take(self, key: str, cost: float = 1) -> float:
        """Take the cost of a request. Returns 0, or how many seconds to wait when the bucket is empty.

        A request that costs more than the bucket holds makes it negative, and the requests after it wait for that.
        """
        wait_s = self.wait_s(key)
        if wait_s <= 0:
            self.charge(key, cost)
        return wait_s

    def wait_s(self, key: str) -> float:
        """Seconds until the next request is allowed. Takes nothing from the bucket."""
        return max(0.0, (1 - self._present(key)) / self._per_s)

    def charge(self, key: str, cost: float) -> None:
        """Take a cost even if the bucket does not hold it, such as a cost that is known only after a request."""
        left = max(self._present(key) - cost, -self._at_once)
        self._left.pop(key, None)
        if len(self._left) >= ADDRESSES_REMEMBERED:
            del self._left[next(iter(self._left))]
        self._left[key] = (left, self._now_s())

    def _present(self, key: str) -> float:
        left, at_s = self._left.get(key, (self._at_once, 0.0))
        return min(self._at_once, left + (self._now_s() - at_s) * self._per_s)


def refuse_if_too_often(wait_s: float, who: str) -> None:
    """Raise when a caller has to wait before its next request."""
    if wait_s > 0:
        raise TooMany(f"{who} asks too often; come again in {math.ceil(wait_s)} s", retry_s=math.ceil(wait_s))
