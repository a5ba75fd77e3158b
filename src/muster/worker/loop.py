"""One thread that waits for everything at once: files to read or write, timers, children that ended."""

import heapq
import os
import selectors
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass, field

Callback = Callable[[], None]


@dataclass(order=True, slots=True)
class Timer:
    """A callback at a given time, unless it is cancelled."""

    at_s: float
    number: int
    happen: Callback = field(compare=False)
    is_cancelled: bool = field(default=False, compare=False)
    is_over: bool = field(default=False, compare=False)
    """True once it has happened."""

    def cancel(self) -> None:
        """Keep it from happening."""
        self.is_cancelled = True


class Loop:
    """Runs the callbacks that are due until it is stopped. After every round it calls `settle` once."""

    def __init__(self, *, settle: Callback) -> None:
        self._selector = selectors.EpollSelector()
        self._settle = settle
        self._timers: list[Timer] = []
        self._made = 0
        self._tidy_at = 100
        self._is_stopped = False

    def watch(self, file: int, *, readable: Callback | None = None, writable: Callback | None = None) -> None:
        """Call back when the file can be read or written. With neither callback, stop watching it."""
        events = (selectors.EVENT_READ if readable else 0) | (selectors.EVENT_WRITE if writable else 0)
        is_known = file in self._selector.get_map()
        if not events:
            if is_known:
                self._selector.unregister(file)
        elif is_known:
            self._selector.modify(file, events, (readable, writable))
        else:
            self._selector.register(file, events, (readable, writable))

    def after(self, delay_ms: float, happen: Callback) -> Timer:
        """Call back once, after a delay."""
        self._made += 1
        self._forget_cancelled()
        timer = Timer(time.monotonic() + delay_ms / 1000, self._made, happen)
        heapq.heappush(self._timers, timer)
        return timer

    def on_signal(self, happen: Callable[[int], None]) -> None:
        """Call back for every signal that this process has a handler for, outside of the handler."""
        reading, writing = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.set_wakeup_fd(writing, warn_on_full_buffer=False)

        def read() -> None:
            for number in dict.fromkeys(os.read(reading, 4096)):
                happen(number)

        self.watch(reading, readable=read)

    def when_gone(self, process: int, happen: Callback) -> None:
        """Call back once when a process has ended, which need not be a child."""
        try:
            handle = os.pidfd_open(process)
        except OSError:
            self.after(0, happen)
            return

        def gone() -> None:
            self.watch(handle)
            os.close(handle)
            happen()

        self.watch(handle, readable=gone)

    def stop(self) -> None:
        """Return from `run` after this round."""
        self._is_stopped = True

    def close(self) -> None:
        """Stop watching everything. The loop cannot run again."""
        self._selector.close()

    def run(self) -> None:
        """Run what is due until `stop` is called."""
        while not self._is_stopped:
            for key, events in self._selector.select(self._timeout_s()):
                readable, writable = key.data
                # An earlier callback of this round may have ended the watch.
                if events & selectors.EVENT_READ and readable and self._is_watched(key):
                    readable()
                if events & selectors.EVENT_WRITE and writable and self._is_watched(key):
                    writable()
            self._fire()
            self._settle()

    def _is_watched(self, key: selectors.SelectorKey) -> bool:
        now = self._selector.get_map().get(key.fd)
        return now is not None and now.data is key.data

    def _timeout_s(self) -> float | None:
        while self._timers and self._timers[0].is_cancelled:
            heapq.heappop(self._timers)
        return max(self._timers[0].at_s - time.monotonic(), 0) if self._timers else None

    def _forget_cancelled(self) -> None:
        """Drop cancelled timers. A job of a second may have a limit of a week: its timer must not be kept that long."""
        if len(self._timers) >= self._tidy_at:
            self._timers = [timer for timer in self._timers if not timer.is_cancelled]
            heapq.heapify(self._timers)
            self._tidy_at = 2 * len(self._timers) + 100

    def _fire(self) -> None:
        now_s = time.monotonic()
        while self._timers and self._timers[0].at_s <= now_s:
            timer = heapq.heappop(self._timers)
            if not timer.is_cancelled:
                timer.is_over = True
                timer.happen()
