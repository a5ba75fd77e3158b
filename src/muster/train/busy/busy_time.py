"""What measures the busy time of a rank: the time of a step without waiting for other ranks.

In a training with torch.distributed the waits are measured where they happen, on the clock or on the timeline of the
GPU. So what a rank does for itself counts, also when it sleeps or reads. Where other trainings wait is not known. Their
busy time is the processor time of the process.
"""

import time
from typing import Any, Protocol

from muster.train import optional
from muster.train.busy.gpu_time import GpuTime, timeline_of
from muster.train.busy.own_time import OwnTime
from muster.train.busy.replicas import ReplicaWaits, replicas_in
from muster.train.busy.waits import Waits


class BusyTime(Protocol):
    """The busy time since the last step."""

    def take_us(self, step_us: int, /) -> int:
        """The busy part of a step that took this long, and begin the next; 0 when it is not known."""
        ...

    def restart(self) -> None:
        """The next step begins now."""
        ...

    def close(self) -> None:
        """Stop measuring."""
        ...


class ProcessorTime:
    """The processor time of the process."""

    def __init__(self) -> None:
        self._cpu_ns = time.process_time_ns()

    def take_us(self, step_us: int, /) -> int:
        """The busy part of a step that took this long, and begin the next."""
        before_ns, self._cpu_ns = self._cpu_ns, time.process_time_ns()
        return min(step_us, (self._cpu_ns - before_ns) // 1000)

    def restart(self) -> None:
        """The next step begins now."""
        self._cpu_ns = time.process_time_ns()

    def close(self) -> None:
        """Stop measuring."""


class TorchTime:
    """The time of a rank of torch.distributed without its waits."""

    def __init__(self, torch: Any, model: Any, own: OwnTime | GpuTime) -> None:
        self._own = own
        self._replicas = [ReplicaWaits(torch, replica, own) for replica in replicas_in(torch, model)]
        self._waits = Waits(torch, own)

    def take_us(self, step_us: int, /) -> int:
        """The busy part of a step, and begin the next."""
        return self._own.take_us(step_us)

    def restart(self) -> None:
        """The next step begins now."""
        self._own.restart()

    def close(self) -> None:
        """Stop measuring."""
        self._waits.close()
        for each in self._replicas:
            each.close()
        self._own.close()


def busy_time_of(model: Any) -> BusyTime | None:
    """What measures the busy time of a model; None for one on a device whose timeline cannot be read."""
    torch = optional.loaded("torch")
    if torch is None or not isinstance(model, torch.nn.Module):
        return ProcessorTime()
    kinds = {each.device.type for each in model.parameters()} - {"cpu", "meta"}
    can_meet = torch.distributed.is_available()
    if kinds:
        timeline = timeline_of(torch, kinds.pop())
        return None if timeline is None or not can_meet else TorchTime(torch, model, GpuTime(torch, timeline))
    if can_meet and torch.distributed.is_initialized():
        return TorchTime(torch, model, OwnTime(torch))
    return ProcessorTime()  # ranks meet somewhere else, or not at all
