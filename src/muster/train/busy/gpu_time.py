"""The time of steps on the timeline of a GPU without waiting for other ranks.

The processor only puts work into streams of the GPU, so its clock says nothing. Events do: one at the end of each step
and a pair around each wait, all in the stream that trains. The GPU notes when it comes to them, and steps are read when
their last event has happened, which is usually one or two steps later. Nothing here waits for the GPU.

What lies between two ends of steps, less what lies between the pairs, is what this rank did itself: its kernels, and
the time in which the stream was empty because the process was late, for instance with its data. A pair tells how long
the stream stood still, whether it waited in the GPU for another stream or the process waited on the processor.

Some libraries, such as FSDP2, run collectives in streams of their own and let the training stream wait for an event of
these. So a stream that a collective is put into is remembered, an event that is recorded there is marked, and a stream
that waits for a marked event belongs to them too, unless it is the one that trains.
"""

import contextlib
import threading
from collections import deque
from typing import Any

from muster.train.busy.own_time import backward_now

PENDING_MOST = 8
"""Steps that the GPU may be behind. Of those before that nothing is known."""

WAITS_MOST = 4096
"""Waits that are noted of one step: a step that never ends must not fill the memory with events."""

MARK = "_muster_is_after_collective"

Pair = tuple[Any, Any]


def timeline_of(torch: Any, kind: str) -> Any:
    """The module of torch for a kind of device, such as `torch.cuda`; None when it has no events with times."""
    module: Any = getattr(torch, kind, None)
    has_all = all(hasattr(module, name) for name in ("Event", "Stream", "current_stream"))
    return module if has_all and hasattr(module.Event, "elapsed_time") else None


class GpuTime:
    """Hears of waits, and says what is left of steps that the GPU has finished."""

    def __init__(self, torch: Any, device: Any) -> None:
        self._device = device
        self._backward_now = backward_now(torch)
        self._is_capturing = getattr(device, "is_current_stream_capturing", lambda: False)
        self._thread = threading.get_ident()
        self._stream = device.current_stream()
        self._others: set[Any] = set()
        """Streams of collectives."""
        self._spare: list[Any] = []
        self._pending: deque[tuple[Any, list[Pair], Any]] = deque()
        self._waits: list[Pair] = []
        self._began: Any = None
        self._record, self._wait_event = device.Event.record, device.Stream.wait_event
        self._start = self._marked()
        self._listen()

    def begins(self) -> bool:
        """A wait begins, if it is one of the stream that trains."""
        if not self._is_training():
            return False
        stream = self._device.current_stream()
        if stream != self._stream:
            self._others.add(stream)
            return False
        return self._begins_here()

    def ends(self) -> None:
        """The wait is over, as far as the process is concerned."""
        began, self._began = self._began, None
        if not self._is_capturing():
            self._waits.append((began, self._marked()))

    def take_us(self, _step_us: int, /) -> int:
        """The busy time of the oldest step that is not told yet; 0 when the GPU has not finished it."""
        if self._is_capturing():
            return 0
        end, stream = self._marked(), self._device.current_stream()
        if stream == self._stream and threading.get_ident() == self._thread:
            self._pending.append((self._start, self._waits, end))
        self._begin(end, stream)
        while len(self._pending) > PENDING_MOST:
            self._pending.popleft()
        return self._told_us()

    def restart(self) -> None:
        """The next step begins now."""
        if not self._is_capturing():
            self._begin(self._marked(), self._device.current_stream())

    def close(self) -> None:
        """Stop measuring."""
        if self._device.Event.record is self._recording:
            self._device.Event.record = self._record
        if self._device.Stream.wait_event is self._waiting:
            self._device.Stream.wait_event = self._wait_event
        self._pending.clear()

    def _begin(self, start: Any, stream: Any) -> None:
        self._start, self._stream, self._waits = start, stream, []
        self._thread = threading.get_ident()
        self._others.discard(stream)

    def _is_training(self) -> bool:
        """True in the thread that trains and in its backward passes."""
        return threading.get_ident() == self._thread or self._backward_now() >= 0

    def _begins_here(self) -> bool:
        if self._began is not None or len(self._waits) >= WAITS_MOST or self._is_capturing():
            return False
        self._began = self._marked()
        return True

    def _marked(self) -> Any:
        """An event in the current stream."""
        event = self._spare.pop() if self._spare else self._device.Event(enable_timing=True)
        self._record(event, self._device.current_stream())
        return event

    def _told_us(self) -> int:
        if not self._pending or not self._pending[0][2].query():
            return 0
        start, waits, end = self._pending.popleft()
        busy_ms = start.elapsed_time(end) - sum(began.elapsed_time(ended) for began, ended in waits)
        self._spare += [start, *(event for pair in waits for event in pair)]
        return max(1, int(busy_ms * 1000))

    def _listen(self) -> None:
        """Follow collectives through the streams of others, until it is closed."""

        def record(event: Any, stream: Any = None) -> None:
            self._record(event, stream)
            stream = self._device.current_stream() if stream is None else stream
            with contextlib.suppress(AttributeError):  # an event that takes no marks
                setattr(event, MARK, stream in self._others)

        def wait_event(stream: Any, event: Any) -> None:
            is_waiting = False
            if getattr(event, MARK, False) and self._is_training():
                if stream != self._stream:
                    self._others.add(stream)
                else:
                    is_waiting = stream == self._device.current_stream() and self._begins_here()
            try:
                self._wait_event(stream, event)
            finally:
                if is_waiting:
                    self.ends()

        self._recording, self._waiting = record, wait_event
        self._device.Event.record, self._device.Stream.wait_event = record, wait_event
