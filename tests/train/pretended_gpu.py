"""A GPU that is only a timeline: streams that work one thing after the other, events, and a process that runs ahead.

It stands in for `torch.cuda`. As with the real one, an event has a time only when the GPU has come to it, and reading
it before is an error. There is no way to wait for an event, so what would do that fails.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

COLLECTIVE_MS = 2.0


class PretendedGpu:
    """The device, the process that gives it work, and one other rank that comes late to each collective."""

    def __init__(self) -> None:
        self.now_ms = 0.0
        self.is_capturing = False
        self.Event = events_of(self)
        self.Stream = streams_of(self)
        self.stream: Any = self.Stream()
        self.communication: Any = self.Stream()
        self.after: Any = self.Stream()
        work = works_of(self)
        self.group = groups_of(self, work)()
        c10d = SimpleNamespace(ProcessGroup=type(self.group), Work=work, Store=type("Store", (), {}))
        future = type("Future", (), {})
        internals = SimpleNamespace(_distributed_c10d=c10d, Future=future, _current_graph_task_id=lambda: -1)
        self.torch = SimpleNamespace(_C=internals, ops=SimpleNamespace(), cuda=self)

    def current_stream(self) -> Any:
        return self.stream

    def is_current_stream_capturing(self) -> bool:
        return self.is_capturing

    @contextmanager
    def using(self, stream: Any) -> Iterator[None]:
        """Give work to another stream."""
        before, self.stream = self.stream, stream
        yield
        self.stream = before

    def compute(self, took_ms: float) -> None:
        """Put work into the present stream. The process goes on at once."""
        self.stream.at_ms = max(self.stream.at_ms, self.now_ms) + took_ms

    def read(self) -> None:
        """The process waits until the GPU is done, as with `loss.item()`."""
        self.now_ms = max(self.now_ms, self.stream.at_ms)


# Classes of their own for each GPU, because what is tested changes their methods.


def streams_of(gpu: PretendedGpu) -> Any:
    class Stream:
        def __init__(self) -> None:
            self.at_ms = 0.0

        def wait_event(self, event: Any) -> None:
            self.at_ms = max(self.at_ms, event.at_ms)

        def wait_stream(self, other: Any) -> None:
            self.wait_event(other.record_event())

        def record_event(self) -> Any:
            event = gpu.Event()
            event.record(self)
            return event

    return Stream


def events_of(gpu: PretendedGpu) -> Any:
    class Event:
        def __init__(self, enable_timing: bool = False) -> None:
            self.at_ms, self.has_time = 0.0, enable_timing

        def record(self, stream: Any = None) -> None:
            stream = gpu.stream if stream is None else stream
            stream.at_ms = self.at_ms = max(stream.at_ms, gpu.now_ms)

        def query(self) -> bool:
            return bool(self.at_ms <= gpu.now_ms)

        def elapsed_time(self, end: Any) -> float:
            assert self.has_time
            assert end.has_time
            assert self.query()
            assert end.query()
            return float(end.at_ms - self.at_ms)

    return Event


def works_of(gpu: PretendedGpu) -> Any:
    class Work:
        def __init__(self, ended: Any = None, until_ms: float = 0.0) -> None:
            self.ended, self.until_ms = ended, until_ms

        def wait(self) -> None:
            gpu.now_ms = max(gpu.now_ms, self.until_ms)
            if self.ended is not None:
                gpu.stream.at_ms = max(gpu.stream.at_ms, self.ended.at_ms)

    return Work


def groups_of(gpu: PretendedGpu, work: Any) -> Any:
    class ProcessGroup:
        def allreduce(self, ready_ms: float, is_async: bool = False, on_gpu: bool = True) -> Any:
            if not on_gpu:
                return work(until_ms=max(gpu.now_ms, ready_ms) + COLLECTIVE_MS)
            stream = gpu.stream
            if is_async:
                stream = gpu.communication
                stream.at_ms = max(stream.at_ms, gpu.stream.at_ms)
            stream.at_ms = max(stream.at_ms, gpu.now_ms, ready_ms) + COLLECTIVE_MS
            return work(ended=stream.record_event()) if is_async else None

    return ProcessGroup
