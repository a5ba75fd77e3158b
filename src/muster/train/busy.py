"""How long each rank is busy itself in a step: the time of the step without waiting for other ranks.

For a model in DistributedDataParallel the waiting is measured where it happens: at the end of the backward pass, where
gradients of the other ranks arrive, and before the forward pass, where buffers do. No collective is added, and none is
changed. Time in which the process could have run but had no processor is no work of its own either, and is left out
where the system tells it. For other models on the CPU it is the processor time of the process.
"""

import contextlib
import os
import threading
import time
from typing import Any

from muster.train import optional


class BusyTime:
    """The busy time since the last step. The plain one is processor time."""

    def __init__(self) -> None:
        self._cpu_ns = time.process_time_ns()

    def take_us(self, step_us: int) -> int:
        """The busy part of a step that took this long, and begin the next."""
        before_ns, self._cpu_ns = self._cpu_ns, time.process_time_ns()
        return min(step_us, (self._cpu_ns - before_ns) // 1000)

    def close(self) -> None:
        """Stop measuring."""


class ReplicaBusyTime(BusyTime):
    """The busy time of a rank whose model is in DistributedDataParallel."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self._waited_ns = 0
        self._began_ns = 0
        self._is_asked = False
        self._delays = RunDelays()
        self._queue = optional.module("torch").autograd.Variable._execution_engine.queue_callback  # noqa: SLF001
        self._hooks = [
            model.register_forward_pre_hook(self._wait_begins),
            model.module.register_forward_pre_hook(self._wait_ends),
            model.register_forward_hook(self._watch_backward),
        ]
        self._clock_ns = self._now_ns()

    def take_us(self, step_us: int) -> int:
        """The busy part of a step that took this long, and begin the next."""
        before_ns, self._clock_ns = self._clock_ns, self._now_ns()
        busy_ns = self._clock_ns - before_ns - self._waited_ns
        self._waited_ns = 0
        return max(0, min(step_us, busy_ns // 1000))

    def close(self) -> None:
        """Stop measuring."""
        for hook in self._hooks:
            hook.remove()
        self._delays.close()

    def _now_ns(self) -> int:
        """A clock that stands still while the process has no processor."""
        return time.monotonic_ns() - self._delays.total_ns()

    def _wait_begins(self, *_: Any) -> None:
        self._began_ns = self._now_ns()

    def _wait_ends(self, *_: Any) -> None:
        if self._began_ns:
            self._waited_ns += self._now_ns() - self._began_ns
            self._began_ns = 0

    def _watch_backward(self, _module: Any, _inputs: Any, output: Any) -> None:
        tensor = _first_with_gradient(output)
        if tensor is not None:
            self._is_asked = False
            tensor.register_hook(self._backward_begins)

    def _backward_begins(self, _gradient: Any) -> None:
        # Called in order when the engine is done: this one before torch's own, which waits for the other ranks.
        if not self._is_asked:
            self._is_asked = True
            self._queue(self._backward_computed)

    def _backward_computed(self) -> None:
        self._wait_begins()
        self._queue(self._wait_ends)


class RunDelays:
    """How long the calling thread waited for a processor so far, as the system counts it."""

    def __init__(self) -> None:
        self._file: int | None = None
        with contextlib.suppress(OSError):
            self._file = os.open(f"/proc/self/task/{threading.get_native_id()}/schedstat", os.O_RDONLY | os.O_CLOEXEC)

    def total_ns(self) -> int:
        """Nanoseconds since the thread began; 0 where the system does not tell."""
        if self._file is None:
            return 0
        try:
            return int(os.pread(self._file, 100, 0).split()[1])
        except (OSError, ValueError, IndexError):
            return 0

    def close(self) -> None:
        """Let go of the file."""
        if self._file is not None:
            os.close(self._file)
            self._file = None


def busy_time_of(model: Any) -> BusyTime | None:
    """What measures the busy time of a model; None for one on a GPU that is not in DistributedDataParallel."""
    torch = optional.loaded("torch")
    if torch is None or not isinstance(model, torch.nn.Module):
        return BusyTime()
    inner = getattr(model, "_orig_mod", model)
    is_on_cpu = all(parameter.device.type == "cpu" for parameter in inner.parameters())
    if not is_on_cpu:
        return None
    return ReplicaBusyTime(inner) if isinstance(inner, torch.nn.parallel.DistributedDataParallel) else BusyTime()


def _first_with_gradient(output: Any) -> Any:
    if getattr(output, "requires_grad", False):
        return output
    if isinstance(output, dict):
        output = list(output.values())
    if isinstance(output, (list, tuple)):
        return next((found for each in output if (found := _first_with_gradient(each)) is not None), None)
    return None
