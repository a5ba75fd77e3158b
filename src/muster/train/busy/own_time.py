"""The time of steps on the CPU without waiting for other ranks.

Only the thread that trains waits for the training. Backward passes that torch runs in threads of its own belong to it.
Time in which the thread could have run but had no processor is no work of its own either, and is left out where the
system tells it. Sleeping and reading are work of its own: a rank whose data comes late is a slow one.
"""

import threading
import time
from typing import Any

from muster.train.busy.run_delays import RunDelays


class OwnTime:
    """Hears of waits, and says what is left of a step."""

    def __init__(self, torch: Any) -> None:
        self._thread = threading.get_ident()
        self._backward_now = backward_now(torch)
        self._delays = RunDelays()
        self._is_waiting = False
        self._began_ns = self._waited_ns = 0
        self._clock_ns = self._now_ns()

    def begins(self) -> bool:
        """A wait begins."""
        if self._is_waiting or (threading.get_ident() != self._thread and self._backward_now() < 0):
            return False
        self._is_waiting, self._began_ns = True, self._now_ns()
        return True

    def ends(self) -> None:
        """The wait is over."""
        self._is_waiting = False
        self._waited_ns += self._now_ns() - self._began_ns

    def take_us(self, step_us: int, /) -> int:
        """The busy part of a step that took this long, and begin the next."""
        before_ns, waited_ns = self._clock_ns, self._waited_ns
        self.restart()
        return max(1, min(step_us, (self._clock_ns - before_ns - waited_ns) // 1000))

    def restart(self) -> None:
        """The next step begins now."""
        if threading.get_ident() != self._thread:  # from now on another thread trains
            self.close()
            self._thread, self._delays = threading.get_ident(), RunDelays()
        self._clock_ns, self._waited_ns = self._now_ns(), 0

    def close(self) -> None:
        """Stop measuring."""
        self._delays.close()

    def _now_ns(self) -> int:
        """A clock that stands still while the thread has no processor."""
        return time.monotonic_ns() - self._delays.total_ns()


def backward_now(torch: Any) -> Any:
    """A function that says which backward pass the calling thread is in; a negative number when it is in none."""
    return getattr(torch._C, "_current_graph_task_id", lambda: -1)  # noqa: SLF001 (there is no other way to know)
